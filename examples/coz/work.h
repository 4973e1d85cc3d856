/* What sleeper.c and stages.c share: documents of words, a table that counts words, and the command line.
 *
 * The work is fixed: every run makes the same documents from their numbers, and compares its result with one that is
 * computed in another, quicker way. So no variant of a program can win time by doing less.
 *
 * A line that ends in "section: L" is where the critical section of lock L spends most of its time, "in section: L" marks its
 * other lines, and "work: W" is where computation outside any lock spends its time. `scripts/measure/coz-compare` looks for these
 * marks, since Coz speaks of lines and Baton of locks. */
#ifndef COZ_EXAMPLE_WORK_H
#define COZ_EXAMPLE_WORK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef USE_COZ
#include <coz.h>
#define PROGRESS() COZ_PROGRESS_NAMED("document")
#else
#define PROGRESS() ((void)0)
#endif

enum { WORDS = 512, VOCABULARY = 16384, MAX_THREADS = 64 };

/* A document: its words are numbers below VOCABULARY. */
struct document {
    uint32_t words[WORDS];
};

/* Makes document `number`, which takes little time beside the rest of the work. */
void document_make(struct document *document, uint32_t number);
/* CRC-32 of a document's first `bytes` bytes, bit by bit: the computation outside the locks. */
uint32_t document_crc(const struct document *document, unsigned bytes);
/* The same CRC by a table of 256 entries, to check the slow one. */
uint32_t document_crc_quick(const struct document *document, unsigned bytes);

/* Counts words. Finding a word means comparing it with the words of its bucket one by one: twice the buckets, half the time. */
struct table {
    unsigned buckets;
    uint32_t *keys;   /* VOCABULARY words, bucket after bucket */
    uint32_t *counts; /* for each key, the count of the word there */
};

/* Returns a table of all words, with counts of 0. Ends the program if there is no memory. */
struct table *table_new(unsigned buckets);
/* Counts the words of a document. */
void table_count(struct table *table, const struct document *document);
/* Returns how often a word was counted. */
uint32_t table_of(const struct table *table, uint32_t word);

/* The numbers of buckets of the table, as it is and with --cheaper table. */
enum { FEW_BUCKETS = 32, MORE_BUCKETS = 64 };

/* What the command line asks for. `locks` are the program's locks by name. */
struct options {
    unsigned threads;
    uint32_t documents;
    int cheaper; /* the lock whose critical section is made cheaper, -1 for none */
    int split;   /* the lock of which every thread gets its own, -1 for none */
    bool costs;  /* only print what each lock's critical section costs, as it is and made cheaper */
};

/* Reads the command line. On a mistake, prints what is expected and ends the program with status 2. */
struct options options_read(int argc, char **argv, const char *const *locks, struct options defaults);

/* Returns the time of a clock that only goes forward, in nanoseconds. */
uint64_t now_ns(void);
/* Calls `run(argument)` several times. Returns the time of the shortest call in nanoseconds. */
uint64_t shortest_ns(void (*run)(void *), void *argument);

/* Runs `body(&number)` on each of the threads and returns how long that took in nanoseconds. */
uint64_t run_threads(unsigned threads, void *(*body)(void *));

#endif
