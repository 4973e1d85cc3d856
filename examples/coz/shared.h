/* What the two programs share: time to burn, and a progress point that Coz counts where its header is there. */
#ifndef SHARED_H
#define SHARED_H
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef WITH_COZ
#include <coz.h>
#else
#define COZ_PROGRESS_NAMED(name)
#endif

enum { THREADS = 4 };

/* Steps of computing; some nanoseconds each. A macro, as Coz counts by source line: each use is a line of its own. */
#define BURN(steps)                                                                                                              \
    for (volatile long step_ = 0; step_ < (steps); step_++) {                                                                   \
    }

/* Half of it if this part was asked to be made cheaper (first argument), else all. */
static long part(int argc, char **argv, const char *name, long full) {
    return argc > 2 && strcmp(argv[2], name) == 0 ? full / 2 : full;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

/* Runs `worker` in THREADS threads and prints rounds a second. */
static void run(void *(*worker)(void *), long rounds) {
    pthread_t threads[THREADS];
    double start = seconds();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%.0f rounds/s\n", rounds * THREADS / (seconds() - start));
}
#endif
