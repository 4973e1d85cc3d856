// THREADS threads take one mutex ROUNDS times each; a mutex that lives in memory freed at once; a queue with conditions.
#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, drained = PTHREAD_COND_INITIALIZER;
static long total, queue, taken;
static long rounds;

static void *adder(void *arg) {
    (void)arg;
    for (long i = 0; i < rounds; i++) {
        pthread_mutex_lock(&mutex);
        total++;
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

// The last of two threads to leave frees the memory of the mutex right after it has unlocked it.
struct passing { pthread_mutex_t mutex; int users; };

static void leave(struct passing *p) {
    IS(pthread_mutex_lock(&p->mutex), 0);
    int last = --p->users == 0;
    IS(pthread_mutex_unlock(&p->mutex), 0);
    if (last) {
        memset(p, 0xff, sizeof *p);
        free(p);
    }
}

static struct passing *handed[1000];
static pthread_barrier_t both;

static void *leaver(void *arg) {
    (void)arg;
    for (int i = 0; i < 1000; i++) {
        if (i % 100 == 0) pthread_barrier_wait(&both);
        leave(handed[i]);
    }
    return NULL;
}

static void *taker(void *arg) {
    (void)arg;
    for (int i = 0; i < 500; i++) {
        pthread_mutex_lock(&mutex);
        while (queue == 0) pthread_cond_wait(&filled, &mutex);
        queue--, taken++;
        pthread_cond_signal(&drained);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void *giver(void *arg) {
    (void)arg;
    for (int i = 0; i < 500; i++) {
        pthread_mutex_lock(&mutex);
        while (queue == 4) pthread_cond_wait(&drained, &mutex);
        queue++;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    rounds = argc > 2 ? atol(argv[2]) : 1000;
    pthread_t t[256];
    for (int i = 0; i < threads; i++) IS(pthread_create(&t[i], NULL, adder, NULL), 0);
    for (int i = 0; i < threads; i++) IS(pthread_join(t[i], NULL), 0);
    CHECK(total == threads * rounds);
    for (int i = 0; i < 1000; i++) {
        handed[i] = calloc(1, sizeof **handed);
        handed[i]->users = 2;
    }
    pthread_barrier_init(&both, NULL, 2);
    for (int i = 0; i < 2; i++) IS(pthread_create(&t[i], NULL, leaver, NULL), 0);
    for (int i = 0; i < 2; i++) IS(pthread_join(t[i], NULL), 0);
    for (int i = 0; i < 2; i++) IS(pthread_create(&t[i], NULL, i ? taker : giver, NULL), 0);
    for (int i = 0; i < 2; i++) IS(pthread_join(t[i], NULL), 0);
    CHECK(taken == 500 && queue == 0);
    puts("ok");
    return 0;
}
