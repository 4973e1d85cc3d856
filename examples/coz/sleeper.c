/* In this program the bottleneck sleeps: each thread takes documents in turn, computes a CRC without a lock, counts the words
 * under `table` (computation), and writes a record under `journal`, where it waits 300 us for a device to acknowledge it.
 * nanosleep stands for the device; the record goes to a real file.
 *
 * --cheaper table     twice the buckets: the same counts in half the time
 * --cheaper journal   a device that takes half the time
 * --split LOCK        each thread has its own table, or journal (and device) */
#define _GNU_SOURCE
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { TABLE, JOURNAL, LOCKS, CRC_BYTES = WORDS * 2, DEVICE_NS = 300000 };
static const char *const lock_names[LOCKS + 1] = {"table", "journal", NULL};

/* What the journal gets of each document. */
struct record {
    uint32_t number, crc;
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t own_locks[MAX_THREADS]; /* each thread's own, in place of a lock that is split */
static struct table *tables[MAX_THREADS];
static FILE *journals[MAX_THREADS];
static struct options options;
static long device_ns = DEVICE_NS;

static void acknowledge(void *unused) {
    (void)unused;
    struct timespec device = {.tv_nsec = device_ns};
    while (nanosleep(&device, &device) != 0) continue; /* section: journal */
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void write_record(FILE *journal, struct record record) {
    if (write(fileno(journal), &record, sizeof record) != sizeof record)
        fail("the journal cannot be written");
    acknowledge(NULL);
}

static void *work(void *argument) {
    unsigned self = *(unsigned *)argument;
    unsigned table = options.split == TABLE ? self : 0, journal = options.split == JOURNAL ? self : 0;
    pthread_mutex_t *for_table = options.split == TABLE ? &own_locks[self] : &table_lock;
    pthread_mutex_t *for_journal = options.split == JOURNAL ? &own_locks[self] : &journal_lock;
    prctl(PR_SET_TIMERSLACK, 1000); /* ns; the default of 50 us would lengthen the device's time */
    for (uint32_t number = self; number < options.documents; number += options.threads) {
        struct document document;
        document_make(&document, number);
        uint32_t crc = document_crc(&document, CRC_BYTES);
        pthread_mutex_lock(for_table);
        table_count(tables[table], &document);
        pthread_mutex_unlock(for_table);
        pthread_mutex_lock(for_journal);
        write_record(journals[journal], (struct record){number, crc});
        pthread_mutex_unlock(for_journal);
        PROGRESS();
    }
    return NULL;
}

/* Whether every word was counted as often as it occurs, and every document is in a journal once, with its CRC. */
static bool check(void) {
    uint32_t *expected = calloc(VOCABULARY, sizeof *expected), written = 0;
    bool *seen = calloc(options.documents, sizeof *seen), right = true;
    if (!expected || !seen)
        return false;
    for (unsigned i = 0; i < options.threads; i++) {
        struct record record;
        if (!journals[i])
            continue;
        rewind(journals[i]);
        for (; fread(&record, sizeof record, 1, journals[i]) == 1; written++) {
            struct document document;
            if (record.number >= options.documents || seen[record.number])
                return false;
            seen[record.number] = true;
            document_make(&document, record.number);
            right &= record.crc == document_crc_quick(&document, CRC_BYTES);
            for (unsigned w = 0; w < WORDS; w++)
                expected[document.words[w]]++;
        }
    }
    for (uint32_t word = 0; word < VOCABULARY; word++) {
        uint32_t counted = 0;
        for (unsigned i = 0; i < options.threads; i++)
            counted += tables[i] ? table_of(tables[i], word) : 0;
        right &= counted == expected[word];
    }
    free(expected);
    free(seen);
    return right && written == options.documents;
}

static struct document sample;
static void cost_table(void *table) { table_count(table, &sample); }

static void print_costs(void) {
    prctl(PR_SET_TIMERSLACK, 1000);
    document_make(&sample, 1);
    printf("table %lu %lu\n", shortest_ns(cost_table, table_new(FEW_BUCKETS)), shortest_ns(cost_table, table_new(MORE_BUCKETS)));
    uint64_t slow = shortest_ns(acknowledge, NULL);
    device_ns = DEVICE_NS / 2;
    printf("journal %lu %lu\n", slow, shortest_ns(acknowledge, NULL));
}

int main(int argc, char **argv) {
    struct options defaults = {.threads = 3, .documents = 2500, .cheaper = -1, .split = -1};
    options = options_read(argc, argv, lock_names, defaults);
    if (options.costs) {
        print_costs();
        return 0;
    }
    for (unsigned i = 0; i < (options.split == TABLE ? options.threads : 1); i++)
        tables[i] = table_new(options.cheaper == TABLE ? MORE_BUCKETS : FEW_BUCKETS);
    for (unsigned i = 0; i < (options.split == JOURNAL ? options.threads : 1); i++)
        if (!(journals[i] = tmpfile()))
            fail("a journal cannot be created");
    for (unsigned i = 0; options.split >= 0 && i < options.threads; i++)
        pthread_mutex_init(&own_locks[i], NULL);
    if (options.cheaper == JOURNAL)
        device_ns = DEVICE_NS / 2;
    uint64_t elapsed = run_threads(options.threads, work);
    bool right = check();
    printf("documents %u elapsed_ns %lu check %s\n", options.documents, elapsed, right ? "ok" : "WRONG");
    return right ? 0 : 1;
}
