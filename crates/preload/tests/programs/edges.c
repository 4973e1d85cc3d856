// What POSIX defines at the edges: waits in clean-up handlers, mutexes that cannot be recovered, invalid times.
#define _GNU_SOURCE
#include "check.h"
#include <semaphore.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static int waits, entered;

// A wait of 20 ms in a thread that has been cancelled: it may end early once, but not again and again.
static void waits_its_time(void) {
    struct timespec at = after(CLOCK_REALTIME, 20);
    int early = -1, error;
    do {
        error = pthread_cond_timedwait(&cond, &mutex, &at);
        early++;
    } while (error == 0 && early < 100);
    IS(error, ETIMEDOUT);
    CHECK(early <= 1);
    waits++;
}

static void handler(void *arg) {
    (void)arg;
    waits_its_time();
    waits_its_time();
    IS(pthread_mutex_unlock(&mutex), 0);
}

static void destructor(void *arg) {
    (void)arg;
    IS(pthread_mutex_lock(&mutex), 0);
    waits_its_time();
    IS(pthread_mutex_unlock(&mutex), 0);
}

static void *cancelled(void *arg) {
    pthread_setspecific(key, arg);
    IS(pthread_mutex_lock(&mutex), 0);
    pthread_cleanup_push(handler, NULL);
    entered = 1;
    for (;;) pthread_cond_wait(&cond, &mutex);
    pthread_cleanup_pop(0);
    return NULL;
}

static void cancellation(void) {
    pthread_t t;
    void *end;
    IS(pthread_key_create(&key, destructor), 0);
    IS(pthread_create(&t, NULL, cancelled, &key), 0);
    for (int now = 0; !now; usleep(1000)) {
        IS(pthread_mutex_lock(&mutex), 0);
        now = entered;
        IS(pthread_mutex_unlock(&mutex), 0);
    }
    IS(pthread_cancel(t), 0);
    IS(pthread_join(t, &end), 0);
    CHECK(end == PTHREAD_CANCELED && waits == 3);
}

static void *dies_with(void *arg) {
    IS(pthread_mutex_lock(arg), 0);
    return NULL;
}

static void unrecoverable(int kind) {
    pthread_mutexattr_t a;
    pthread_mutex_t m;
    pthread_t t;
    IS(pthread_mutexattr_init(&a), 0);
    IS(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST), 0);
    IS(pthread_mutexattr_settype(&a, kind), 0);
    IS(pthread_mutex_init(&m, &a), 0);
    // The owner of a recursive mutex locks it again; an error-checking mutex refuses.
    IS(pthread_mutex_lock(&m), 0);
    if (kind == PTHREAD_MUTEX_RECURSIVE) {
        IS(pthread_mutex_lock(&m), 0);
        IS(pthread_mutex_unlock(&m), 0);
    } else if (kind == PTHREAD_MUTEX_ERRORCHECK) {
        IS(pthread_mutex_lock(&m), EDEADLK);
    }
    IS(pthread_mutex_unlock(&m), 0);
    IS(pthread_create(&t, NULL, dies_with, &m), 0);
    IS(pthread_join(t, NULL), 0);
    IS(pthread_mutex_lock(&m), EOWNERDEAD);
    // Unlocking the mutex without making it consistent makes it unrecoverable.
    IS(pthread_mutex_unlock(&m), 0);
    for (int i = 0; i < 3; i++) IS(pthread_mutex_lock(&m), ENOTRECOVERABLE);
    struct timespec soon = after(CLOCK_REALTIME, 20);
    IS(pthread_mutex_timedlock(&m, &soon), ENOTRECOVERABLE);
    IS(pthread_mutex_destroy(&m), 0);
}

static void invalid_times(void) {
    struct timespec bad = {0, 1000000000}, negative = {0, -1}, soon = after(CLOCK_REALTIME, 20);
    sem_t s;
    CHECK(sem_init(&s, 0, 2) == 0);
    CHECK(sem_timedwait(&s, &bad) == -1 && errno == EINVAL);
    CHECK(sem_timedwait(&s, &negative) == -1 && errno == EINVAL);
    CHECK(sem_clockwait(&s, CLOCK_MONOTONIC, &bad) == -1 && errno == EINVAL);
    CHECK(sem_clockwait(&s, CLOCK_PROCESS_CPUTIME_ID, &soon) == -1 && errno == EINVAL);
    CHECK(sem_timedwait(&s, &soon) == 0 && sem_clockwait(&s, CLOCK_REALTIME, &soon) == 0);
    CHECK(sem_destroy(&s) == 0);
    pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
    IS(pthread_rwlock_timedrdlock(&l, &bad), EINVAL);
    IS(pthread_rwlock_timedwrlock(&l, &negative), EINVAL);
    IS(pthread_rwlock_clockrdlock(&l, CLOCK_PROCESS_CPUTIME_ID, &soon), EINVAL);
    IS(pthread_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &bad), EINVAL);
    IS(pthread_rwlock_timedwrlock(&l, &soon), 0);
    IS(pthread_rwlock_unlock(&l), 0);
    IS(pthread_rwlock_clockrdlock(&l, CLOCK_REALTIME, &soon), 0);
    IS(pthread_rwlock_unlock(&l), 0);
    IS(pthread_rwlock_destroy(&l), 0);
}

int main(void) {
    cancellation();
    unrecoverable(PTHREAD_MUTEX_NORMAL);
    unrecoverable(PTHREAD_MUTEX_RECURSIVE);
    unrecoverable(PTHREAD_MUTEX_ERRORCHECK);
    invalid_times();
    puts("ok");
    return 0;
}
