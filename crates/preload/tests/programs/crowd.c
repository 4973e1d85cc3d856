// THREADS threads alive at once, each of which locks, waits for all others by a condition, and ends.
#define _GNU_SOURCE
#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int arrived, threads;

static void *member(void *arg) {
    (void)arg;
    IS(pthread_mutex_lock(&mutex), 0);
    if (++arrived == threads) IS(pthread_cond_broadcast(&cond), 0);
    while (arrived < threads) IS(pthread_cond_wait(&cond, &mutex), 0);
    IS(pthread_mutex_unlock(&mutex), 0);
    return NULL;
}

int main(int argc, char **argv) {
    threads = argc > 1 ? atoi(argv[1]) : 5000;
    pthread_t *t = calloc(threads, sizeof *t);
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, 64 << 10);
    for (int i = 0; i < threads; i++) IS(pthread_create(&t[i], &a, member, NULL), 0);
    for (int i = 0; i < threads; i++) IS(pthread_join(t[i], NULL), 0);
    puts("ok");
    return 0;
}
