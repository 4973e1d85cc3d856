/* What sleeper.c and stages.c share; work.h describes it. */
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (!memory) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return memory;
}

void document_make(struct document *document, uint32_t number) {
    /* A linear congruential generator (Numerical Recipes' constants), started by the document's number. */
    uint32_t state = number * 2654435761u + 12345u;
    for (unsigned i = 0; i < WORDS; i++) {
        state = state * 1664525u + 1013904223u;
        document->words[i] = (state >> 16) % VOCABULARY;
    }
}

uint32_t document_crc(const struct document *document, unsigned bytes) {
    const unsigned char *byte = (const unsigned char *)document->words;
    uint32_t crc = 0xffffffffu;
    for (unsigned bit = 0; bit < 8 * bytes; bit++)
        crc = (crc >> 1) ^ (0xedb88320u & -((crc ^ (byte[bit / 8] >> (bit % 8))) & 1u)); /* work: crc */
    return ~crc;
}

uint32_t document_crc_quick(const struct document *document, unsigned bytes) {
    static uint32_t entries[256];
    if (!entries[1]) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t entry = i;
            for (int bit = 0; bit < 8; bit++)
                entry = (entry >> 1) ^ (0xedb88320u & -(entry & 1u));
            entries[i] = entry;
        }
    }
    const unsigned char *byte = (const unsigned char *)document->words;
    uint32_t crc = 0xffffffffu;
    for (unsigned i = 0; i < bytes; i++)
        crc = (crc >> 8) ^ entries[(crc ^ byte[i]) & 0xffu];
    return ~crc;
}

struct table *table_new(unsigned buckets) {
    struct table *table = allocate(1, sizeof *table);
    table->buckets = buckets;
    table->keys = allocate(VOCABULARY, sizeof *table->keys);
    table->counts = allocate(VOCABULARY, sizeof *table->counts);
    /* Word w belongs to bucket w % buckets, and all buckets are of one size. */
    unsigned size = VOCABULARY / buckets;
    for (uint32_t word = 0; word < VOCABULARY; word++)
        table->keys[word % buckets * size + word / buckets] = word;
    return table;
}

static inline unsigned place(const struct table *table, uint32_t word) {
    unsigned i = word % table->buckets * (VOCABULARY / table->buckets); /* in section: table */
    while (table->keys[i] != word) i++; /* section: table */
    return i;
}

void table_count(struct table *table, const struct document *document) {
    for (unsigned i = 0; i < WORDS; i++)                  /* in section: table */
        table->counts[place(table, document->words[i])]++; /* in section: table */
}

uint32_t table_of(const struct table *table, uint32_t word) {
    return table->counts[word % table->buckets * (VOCABULARY / table->buckets) + word / table->buckets];
}

static void usage(const char *program, const char *const *locks) {
    fprintf(stderr, "usage: %s [--threads N] [--documents N] [--cheaper LOCK] [--split LOCK] [--costs]\nlocks:", program);
    for (; *locks; locks++)
        fprintf(stderr, " %s", *locks);
    fprintf(stderr, "\n");
    exit(2);
}

static int lock_named(const char *name, const char *program, const char *const *locks) {
    for (int i = 0; locks[i]; i++)
        if (strcmp(locks[i], name) == 0)
            return i;
    fprintf(stderr, "%s: no lock is called %s\n", program, name);
    usage(program, locks);
    return -1;
}

static uint32_t number(const char *text, uint32_t most, const char *program, const char *const *locks) {
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*end || end == text || value < 1 || value > most) {
        fprintf(stderr, "%s: a number from 1 to %u was expected, not %s\n", program, most, text);
        usage(program, locks);
    }
    return (uint32_t)value;
}

struct options options_read(int argc, char **argv, const char *const *locks, struct options options) {
    for (int i = 1; i < argc; i++) {
        const char *flag = argv[i];
        if (strcmp(flag, "--costs") == 0) {
            options.costs = true;
            continue;
        }
        const char *value = argv[++i];
        if (!value)
            usage(argv[0], locks);
        if (strcmp(flag, "--threads") == 0)
            options.threads = number(value, MAX_THREADS, argv[0], locks);
        else if (strcmp(flag, "--documents") == 0)
            options.documents = number(value, 100000000, argv[0], locks);
        else if (strcmp(flag, "--cheaper") == 0)
            options.cheaper = lock_named(value, argv[0], locks);
        else if (strcmp(flag, "--split") == 0)
            options.split = lock_named(value, argv[0], locks);
        else
            usage(argv[0], locks);
    }
    return options;
}

uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t shortest_ns(void (*run)(void *), void *argument) {
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < 200; i++) {
        uint64_t begin = now_ns();
        run(argument);
        uint64_t length = now_ns() - begin;
        if (length < shortest)
            shortest = length;
    }
    return shortest;
}

uint64_t run_threads(unsigned threads, void *(*body)(void *)) {
    static unsigned numbers[MAX_THREADS];
    pthread_t ids[MAX_THREADS];
    uint64_t begin = now_ns();
    for (unsigned i = 0; i < threads; i++) {
        numbers[i] = i;
        if (pthread_create(&ids[i], NULL, body, &numbers[i]) != 0) {
            fprintf(stderr, "thread %u could not be created\n", i);
            exit(1);
        }
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return now_ns() - begin;
}
