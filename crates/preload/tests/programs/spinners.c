// Four threads on one CPU take a lock by turns: where waiters only spin, each hand-off takes a time slice, and the program takes
// minutes.
#define _GNU_SOURCE
#include "check.h"
#include <sched.h>

enum { THREADS = 4 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long count, each;
static _Atomic int here;

static void *spinner(void *arg) {
    (void)arg;
    here++;
    for (long i = 0; i < each; i++) {
        IS(pthread_mutex_lock(&mutex), 0);
        count++;
        IS(pthread_mutex_unlock(&mutex), 0);
    }
    return NULL;
}

int main(int argc, char **argv) {
    each = argc > 1 ? atol(argv[1]) : 60000;
    cpu_set_t all, one;
    IS(sched_getaffinity(0, sizeof all, &all), 0);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &all)) cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    IS(sched_setaffinity(0, sizeof one, &one), 0);
    pthread_t t[THREADS];
    // They queue up before the first of them goes on.
    IS(pthread_mutex_lock(&mutex), 0);
    for (int i = 0; i < THREADS; i++) IS(pthread_create(&t[i], NULL, spinner, NULL), 0);
    while (here < THREADS) usleep(1000);
    usleep(100000);
    IS(pthread_mutex_unlock(&mutex), 0);
    for (int i = 0; i < THREADS; i++) IS(pthread_join(t[i], NULL), 0);
    CHECK(count == THREADS * each);
    puts("ok");
    return 0;
}
