// Measures how often a short critical section takes long. Run it alone and under `baton profile`, and compare: the machine's own stalls
// are in both. A hold lasts from the call of lock to the call of unlock, so the time that a recorder takes after an acquisition counts.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static volatile long guarded;
    long holds = argc > 1 ? atol(argv[1]) : 4000000;
    if (holds <= 0) {
        fprintf(stderr, "usage: holds [NUMBER]\n");
        return 2;
    }
    long over[3] = {0, 0, 0};
    const long long bounds[3] = {1000, 5000, 20000};
    for (long i = 0; i < holds; i++) {
        long long begin = now();
        pthread_mutex_lock(&mutex);
        guarded++;
        long long took = now() - begin;
        pthread_mutex_unlock(&mutex);
        for (int b = 0; b < 3; b++)
            over[b] += took > bounds[b];
    }
    printf("%ld holds: %ld over 1 us, %ld over 5 us, %ld over 20 us\n", holds, over[0], over[1], over[2]);
    return 0;
}
