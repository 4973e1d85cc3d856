// Threads that yield their CPU: two until a flag is set, by one call each, and one now and then beside its work.
// Prints how often the first two yielded.
#include "check.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <threads.h>
#include <unistd.h>

static atomic_int flag;

static void *posix(void *count) {
    while (!flag) { sched_yield(); ++*(long *)count; }
    return NULL;
}

static void *c11(void *count) {
    while (!flag) { thrd_yield(); ++*(long *)count; }
    return NULL;
}

static void *polite(void *none) {
    for (int i = 0; i < 20; i++) { sched_yield(); sched_yield(); usleep(1000); }
    return none;
}

int main(void) {
    pthread_t threads[3];
    long counts[2] = {0, 0};
    CHECK(pthread_create(&threads[0], NULL, posix, &counts[0]) == 0);
    CHECK(pthread_create(&threads[1], NULL, c11, &counts[1]) == 0);
    CHECK(pthread_create(&threads[2], NULL, polite, NULL) == 0);
    usleep(40000);
    flag = 1;
    for (int i = 0; i < 3; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    printf("%ld %ld\n", counts[0], counts[1]);
    return 0;
}
