// Waiters whose deadlines pass: some among waiters without a deadline, then all at once behind one holder. At the end the mutex is
// free.
#define _GNU_SOURCE
#include "check.h"

enum { THREADS = 6, ROUNDS = 400, PATIENCE = 4 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t meeting;
static long count, entered, expired;

static struct timespec soon(clockid_t clock, long ns) {
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += ns;
    if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
    return t;
}

// Nanoseconds that a thread waits at most in a round; the last has no deadline.
static const long patience[PATIENCE] = {1, 20000, 300000, 0};

static void *counts(void *arg) {
    long me = (long)arg;
    for (long i = 0; i < ROUNDS; i++) {
        long most = patience[(i + me) % PATIENCE];
        if (most) {
            struct timespec t = soon(CLOCK_MONOTONIC, most);
            int error = pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &t);
            if (error) {
                IS(error, ETIMEDOUT);
                __atomic_add_fetch(&expired, 1, __ATOMIC_RELAXED);
                continue;
            }
        } else {
            IS(pthread_mutex_lock(&mutex), 0);
        }
        long now = count;
        if (i % 16 == 0) usleep(50);
        count = now + 1;
        entered++;
        IS(pthread_mutex_unlock(&mutex), 0);
    }
    return NULL;
}

// All give up behind one holder, at about the same time.
static void *gives_up(void *arg) {
    (void)arg;
    for (int i = 0; i < 20; i++) {
        pthread_barrier_wait(&meeting);
        struct timespec t = soon(CLOCK_REALTIME, 200000);
        IS(pthread_mutex_timedlock(&mutex, &t), ETIMEDOUT);
        pthread_barrier_wait(&meeting);
    }
    return NULL;
}

int main(void) {
    pthread_t t[THREADS];
    for (long i = 0; i < THREADS; i++) IS(pthread_create(&t[i], NULL, counts, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) IS(pthread_join(t[i], NULL), 0);
    CHECK(count == entered && count >= THREADS * ROUNDS / PATIENCE && entered + expired == THREADS * ROUNDS);
    IS(pthread_barrier_init(&meeting, NULL, THREADS + 1), 0);
    for (long i = 0; i < THREADS; i++) IS(pthread_create(&t[i], NULL, gives_up, NULL), 0);
    for (int i = 0; i < 20; i++) {
        IS(pthread_mutex_trylock(&mutex), 0);
        pthread_barrier_wait(&meeting);
        pthread_barrier_wait(&meeting);
        IS(pthread_mutex_unlock(&mutex), 0);
    }
    for (int i = 0; i < THREADS; i++) IS(pthread_join(t[i], NULL), 0);
    IS(pthread_mutex_trylock(&mutex), 0);
    puts("ok");
    return 0;
}
