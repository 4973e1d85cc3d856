/* The queues of baton.h without a mutex inside. A thread builds records in the places of a queue, another one looks at them there
 * and passes the sums on by a queue without a bound, and a process gets them by a queue in a file.
 *
 *   cc queues.c $(pkg-config --cflags --libs baton) -lpthread -o queues && ./queues /dev/shm/sums
 */
#include <baton.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RECORDS = 10000 };

struct record {
    uint64_t number;
    char text[40]; /* with the number 48 bytes, and so a stride of 64 */
};

static baton_spsc *records;
static baton_unbounded *sums;

static void *build(void *unused) {
    (void)unused;
    baton_places room;
    uint64_t n = 0;
    while (n < RECORDS && baton_spsc_reserve(records, 5, &room) == 0) {
        size_t built = 0;
        for (; built < baton_places_count(&room) && n < RECORDS; built++, n++) {
            struct record *place = baton_place(&room, built);
            place->number = n;
            snprintf(place->text, sizeof place->text, "record %d", (int)n);
        }
        if (baton_spsc_commit(records, built) != 0) return "commit";
    }
    baton_spsc_close(records);
    return n == RECORDS ? NULL : "reserve";
}

static void *look(void *unused) {
    (void)unused;
    baton_places items;
    uint64_t next = 0;
    while (baton_spsc_peek(records, 4, &items) == 0) {
        uint64_t sum = 0;
        for (size_t i = 0; i < baton_places_count(&items); i++, next++) {
            const struct record *record = baton_place(&items, i);
            char expected[40];
            snprintf(expected, sizeof expected, "record %d", (int)next);
            if (record->number != next || strcmp(record->text, expected) != 0) return "a record";
            sum += record->number;
        }
        if (baton_unbounded_put(sums, &sum) != 0) return "put";
        if (baton_spsc_release(records, baton_places_count(&items)) != 0) return "release";
    }
    baton_unbounded_close(sums);
    return next == RECORDS ? NULL : "a lost record";
}

/* Calls that must be refused. Returns what was not. */
static const char *refused(const char *path) {
    struct timespec past = { 0, 0 };
    uint64_t number = 7;
    baton_places places;
    if (baton_spsc_new(0, 4) != NULL || strstr(baton_last_error(), "0 bytes") == NULL) return "items without bytes";
    if (baton_spsc_new(8, (size_t)1 << 31) != NULL || baton_unbounded_new(0) != NULL) return "a capacity";
    baton_spsc *queue = baton_spsc_new(sizeof number, 3);
    for (int i = 0; i < 3; i++)
        if (baton_spsc_tryput(queue, &number) != 0) return "room for three";
    if (baton_spsc_tryput(queue, &number) != EAGAIN || baton_spsc_tryreserve(queue, 1, &places) != EAGAIN) return "a full queue";
    if (baton_spsc_timedreserve(queue, 1, &places, CLOCK_MONOTONIC, &past) != ETIMEDOUT) return "a deadline";
    if (baton_spsc_timedput(queue, &number, 99, &past) != EINVAL) return "a clock";
    if (baton_spsc_peek(queue, 9, &places) != 0 || baton_places_count(&places) != 3) return "three items";
    if (baton_spsc_release(queue, 4) != EINVAL || baton_spsc_commit(queue, 1) != EINVAL) return "more than is lent";
    if (baton_spsc_length(queue) != 3 || baton_spsc_close(queue) != 0) return "the length";
    if (baton_spsc_put(queue, &number) != EPIPE || baton_spsc_get(queue, &number) != 0) return "a closed queue";
    baton_spsc_free(queue);
    if (baton_process_queue_create(path, 5, 4, 8) != EINVAL || baton_process_sender_open("/nowhere/queue") != NULL) return "a file";
    return NULL;
}

/* Receives sums of 16 bytes each, and writes their total to `to`. */
static int receive(const char *path, int to) {
    baton_process_receiver *end = baton_process_receiver_open(path);
    uint64_t item[2], total = 0;
    if (end == NULL || baton_process_receive(end, item, 8) != EINVAL) return 1;
    while (baton_process_receive(end, item, sizeof item) == 0) total += item[0] + item[1];
    baton_process_receiver_free(end);
    return write(to, &total, sizeof total) != sizeof total;
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    const char *path = arguments[1], *failed = refused(path);
    if (failed != NULL) return printf("not refused: %s\n", failed), 1;
    if (baton_process_queue_create(path, BATON_ONE_TO_ONE, 10, 16) != 0) return puts(baton_last_error()), 1;
    if (baton_process_queue_create(path, BATON_ONE_TO_ONE, 10, 16) != EEXIST) return puts("made twice"), 1;
    int answer[2];
    if (pipe(answer) != 0) return 1;
    pid_t child = fork();
    if (child == 0) _exit(receive(path, answer[1]));

    records = baton_spsc_new(sizeof(struct record), 7);
    sums = baton_unbounded_new(sizeof(uint64_t));
    baton_process_sender *sender = baton_process_sender_open(path);
    if (records == NULL || sums == NULL || sender == NULL) return puts(baton_last_error()), 1;
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, build, NULL);
    pthread_create(&threads[1], NULL, look, NULL);
    uint64_t item[2] = { 0, 0 };
    while (baton_unbounded_get(sums, &item[0]) == 0)
        if (baton_process_send(sender, item, sizeof item) != 0) return 1;
    baton_process_sender_close(sender);
    for (int i = 0; i < 2; i++) {
        void *what;
        pthread_join(threads[i], &what);
        if (what != NULL) return printf("failed: %s\n", (char *)what), 1;
    }
    uint64_t total = 0;
    int status = 1;
    if (read(answer[0], &total, sizeof total) != sizeof total || waitpid(child, &status, 0) != child) return 1;
    baton_process_sender_free(sender);
    baton_unbounded_free(sums);
    baton_spsc_free(records);
    unlink(path);
    printf("sum %d of %d\n", (int)total, RECORDS * (RECORDS - 1) / 2);
    return status != 0 || total != (uint64_t)RECORDS * (RECORDS - 1) / 2;
}
