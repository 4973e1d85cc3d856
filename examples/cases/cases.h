/* What the programs of this folder share. Each program shows one cause of waiting, and is built a second time with -DCURE, without that
   cause. With the argument 1, an idle thread runs beside the program's own, which must not change the answer. */
#ifndef BATON_CASES_H
#define BATON_CASES_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Steps of a generator (Marsaglia's xorshift64). The compiler cannot leave them out, even if the state is not used. */
static inline uint64_t work(uint64_t state, unsigned steps)
{
    state |= 1;
    for (unsigned i = 0; i < steps; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        __asm__ volatile("" : "+r"(state));
    }
    return state;
}

static pthread_mutex_t monitor_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int monitor_ends;

/* Takes and releases its lock every 10 ms until it is told to end, as a statistics thread of a server does. */
static void *idle_monitor(void *nothing)
{
    while (!monitor_ends) {
        pthread_mutex_lock(&monitor_lock);
        pthread_mutex_unlock(&monitor_lock);
        usleep(10000);
    }
    return nothing;
}

static inline pthread_t started(void *(*body)(void *), uintptr_t number)
{
    pthread_t id;
    if (pthread_create(&id, NULL, body, (void *)number) != 0) {
        fprintf(stderr, "a thread cannot be created\n");
        exit(1);
    }
    return id;
}

enum { MOST_THREADS = 64 };

/* Runs `body` in `threads` threads, each with its number, and waits for all. If the program's argument is 1, idle_monitor runs beside them. */
static inline void in_threads(unsigned threads, void *(*body)(void *), int argc, char **argv)
{
    pthread_t ids[MOST_THREADS], monitor;
    int monitored = argc > 1 && atoi(argv[1]) == 1;
    if (monitored)
        monitor = started(idle_monitor, 0);
    for (uintptr_t i = 0; i < threads; i++)
        ids[i] = started(body, i);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    monitor_ends = 1;
    if (monitored)
        pthread_join(monitor, NULL);
}

#endif
