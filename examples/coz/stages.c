/* This program only computes: each thread takes documents in turn, computes a document's CRC without a lock, counts its words
 * under `table` (the bottleneck: the table has too few buckets), and appends to a log under `log` (the decoy: taken eight times
 * as often, but held only for a moment).
 *
 * --cheaper table   twice the buckets: the same counts in half the time
 * --cheaper log     one acquisition a document instead of eight
 * --split LOCK      each thread has its own table, or log; they are added up at the end */
#include "work.h"

#include <stdio.h>
#include <stdlib.h>

enum { TABLE, LOG, LOCKS, ENTRIES = 8, CRC_BYTES = WORDS };
static const char *const lock_names[LOCKS + 1] = {"table", "log", NULL};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t own_locks[MAX_THREADS]; /* each thread's own, in place of a lock that is split */
static struct table *tables[MAX_THREADS];
static struct log {
    uint64_t entries, sum;
} logs[MAX_THREADS];
static struct options options;

static void append(unsigned log, pthread_mutex_t *lock, uint32_t crc, unsigned entries) {
    pthread_mutex_lock(lock);
    for (unsigned i = 0; i < entries; i++, logs[log].entries++) logs[log].sum += crc; /* section: log */
    pthread_mutex_unlock(lock);
}

static void *work(void *argument) {
    unsigned self = *(unsigned *)argument;
    unsigned table = options.split == TABLE ? self : 0, log = options.split == LOG ? self : 0;
    pthread_mutex_t *for_table = options.split == TABLE ? &own_locks[self] : &table_lock;
    pthread_mutex_t *for_log = options.split == LOG ? &own_locks[self] : &log_lock;
    unsigned together = options.cheaper == LOG ? ENTRIES : 1;
    for (uint32_t number = self; number < options.documents; number += options.threads) {
        struct document document;
        document_make(&document, number);
        uint32_t crc = document_crc(&document, CRC_BYTES);
        pthread_mutex_lock(for_table);
        table_count(tables[table], &document);
        pthread_mutex_unlock(for_table);
        for (unsigned i = 0; i < ENTRIES; i += together)
            append(log, for_log, crc, together);
        PROGRESS();
    }
    return NULL;
}

/* Whether every word was counted as often as it occurs, and every CRC was logged. */
static bool check(void) {
    uint64_t sum = 0, entries = 0, logged = 0;
    uint32_t *expected = calloc(VOCABULARY, sizeof *expected);
    if (!expected)
        return false;
    for (uint32_t number = 0; number < options.documents; number++) {
        struct document document;
        document_make(&document, number);
        sum += (uint64_t)ENTRIES * document_crc_quick(&document, CRC_BYTES);
        for (unsigned i = 0; i < WORDS; i++)
            expected[document.words[i]]++;
    }
    bool right = true;
    for (uint32_t word = 0; word < VOCABULARY; word++) {
        uint32_t counted = 0;
        for (unsigned i = 0; i < options.threads; i++)
            counted += tables[i] ? table_of(tables[i], word) : 0;
        right &= counted == expected[word];
    }
    for (unsigned i = 0; i < options.threads; i++) {
        entries += logs[i].entries;
        logged += logs[i].sum;
    }
    free(expected);
    return right && logged == sum && entries == (uint64_t)ENTRIES * options.documents;
}

static struct document sample;
static void cost_table(void *table) { table_count(table, &sample); }
static void cost_log(void *together) {
    for (unsigned i = 0; i < ENTRIES; i += *(unsigned *)together)
        append(0, &log_lock, i, *(unsigned *)together);
}

static void print_costs(void) {
    unsigned one = 1, all = ENTRIES;
    document_make(&sample, 1);
    printf("table %lu %lu\n", shortest_ns(cost_table, table_new(FEW_BUCKETS)), shortest_ns(cost_table, table_new(MORE_BUCKETS)));
    printf("log %lu %lu\n", shortest_ns(cost_log, &one), shortest_ns(cost_log, &all));
}

int main(int argc, char **argv) {
    struct options defaults = {.threads = 2, .documents = 8000, .cheaper = -1, .split = -1};
    options = options_read(argc, argv, lock_names, defaults);
    if (options.costs) {
        print_costs();
        return 0;
    }
    for (unsigned i = 0; i < (options.split == TABLE ? options.threads : 1); i++)
        tables[i] = table_new(options.cheaper == TABLE ? MORE_BUCKETS : FEW_BUCKETS);
    for (unsigned i = 0; options.split >= 0 && i < options.threads; i++)
        pthread_mutex_init(&own_locks[i], NULL);
    uint64_t elapsed = run_threads(options.threads, work);
    bool right = check();
    printf("documents %u elapsed_ns %lu check %s\n", options.documents, elapsed, right ? "ok" : "WRONG");
    return right ? 0 : 1;
}
