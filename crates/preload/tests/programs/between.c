// A queue between two processes, which both are recorded: one sends a number of items that the test knows, the other receives them.
#include "check.h"
#include <baton.h>
#include <sys/wait.h>

enum { ITEMS = 100 };

static int receives(const char *path) {
    baton_process_receiver *end = baton_process_receiver_open(path);
    CHECK(end);
    // The sender comes to a full queue.
    usleep(20000);
    for (int i = 0, item; i < ITEMS; i++) CHECK(baton_process_receive(end, &item, sizeof item) == 0 && item == i);
    int item;
    CHECK(baton_process_receive(end, &item, sizeof item) == EPIPE);
    baton_process_receiver_free(end);
    return 0;
}

int main(void) {
    char path[64];
    struct timespec soon = after(CLOCK_MONOTONIC, 5);
    snprintf(path, sizeof path, "/dev/shm/baton-between.%d", getpid());
    CHECK(baton_process_queue_create(path, BATON_MANY_TO_MANY, 4, sizeof(int)) == 0);
    pid_t child = fork();
    if (child == 0) return receives(path);
    baton_process_sender *end = baton_process_sender_open(path);
    CHECK(end && baton_process_sender_capacity(end) == 4);
    for (int i = 0; i < ITEMS; i++) CHECK(baton_process_send(end, &i, sizeof i) == 0);
    CHECK(baton_process_send(end, &soon, sizeof soon) == EINVAL);
    usleep(40000);
    baton_process_sender_close(end);
    baton_process_sender_free(end);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    unlink(path);
    puts("ok");
    return 0;
}
