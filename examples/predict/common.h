/* What the programs of this folder share: work of a known amount, threads, a checked result. */
#ifndef BATON_PREDICT_COMMON_H
#define BATON_PREDICT_COMMON_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Steps of a generator (Marsaglia's xorshift64); the compiler cannot leave them out, because the state is used. */
static inline uint64_t work(uint64_t state, unsigned steps)
{
    for (unsigned i = 0; i < steps; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    return state;
}

/* Returns the number at a place of the arguments, or a default. */
static inline unsigned argument(int argc, char **argv, int at, unsigned otherwise)
{
    return argc > at ? (unsigned)strtoul(argv[at], NULL, 10) : otherwise;
}

enum { MOST_THREADS = 256 };

/* Runs `body` in several threads, each with its number, and waits for all of them. */
static inline void in_threads(unsigned threads, void *(*body)(void *))
{
    pthread_t ids[MOST_THREADS];
    if (threads == 0 || threads > MOST_THREADS) {
        fprintf(stderr, "threads: expected 1 to %d, got %u\n", MOST_THREADS, threads);
        exit(2);
    }
    for (uintptr_t i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, body, (void *)i) != 0) {
            fprintf(stderr, "a thread cannot be created\n");
            exit(1);
        }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
}

/* Prints whether a result is right, and returns the exit status. */
static inline int expect(const char *what, uint64_t found, uint64_t expected)
{
    if (found != expected) {
        fprintf(stderr, "%s: %llu, expected %llu\n", what, (unsigned long long)found, (unsigned long long)expected);
        return 1;
    }
    printf("%s: %llu\n", what, (unsigned long long)found);
    return 0;
}

#endif
