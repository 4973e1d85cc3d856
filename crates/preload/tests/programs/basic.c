// Threads that add to one counter under a mutex of each kind, a condition variable queue, and trylock.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static long total, items, taken;
static int rounds;

static void *adder(void *arg) {
    (void)arg;
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&mutex);
        total++;
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void *taker(void *arg) {
    (void)arg;
    for (int i = 0; i < rounds / 10; i++) {
        pthread_mutex_lock(&mutex);
        while (items == 0) pthread_cond_wait(&cond, &mutex);
        items--;
        taken++;
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void *giver(void *arg) {
    (void)arg;
    for (int i = 0; i < rounds / 10; i++) {
        pthread_mutex_lock(&mutex);
        items++;
        pthread_cond_signal(&cond);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    rounds = argc > 2 ? atoi(argv[2]) : 10000;
    pthread_t t[64];
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, adder, NULL);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    pthread_create(&t[0], NULL, taker, NULL);
    pthread_create(&t[1], NULL, taker, NULL);
    pthread_create(&t[2], NULL, giver, NULL);
    pthread_create(&t[3], NULL, giver, NULL);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    printf("%ld %ld %ld\n", total, items, taken);
    return !(total == (long)threads * rounds && items == 0 && taken == rounds / 10 * 2);
}
