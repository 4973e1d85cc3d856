// Condition variables: signal, broadcast, time-outs on both clocks, destruction right after a broadcast, other mutex kinds.
#define _GNU_SOURCE
#include "check.h"
#include <sys/mman.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waiting, generation;

static void *wait_once(void *arg) {
    pthread_cond_t *c = arg;
    IS(pthread_mutex_lock(&mutex), 0);
    int mine = generation;
    waiting++;
    while (generation == mine) IS(pthread_cond_wait(c, &mutex), 0);
    waiting--;
    IS(pthread_mutex_unlock(&mutex), 0);
    return NULL;
}

static void until_waiting(int n) {
    for (;;) {
        IS(pthread_mutex_lock(&mutex), 0);
        int now = waiting;
        IS(pthread_mutex_unlock(&mutex), 0);
        if (now == n) return;
        usleep(200);
    }
}

static void broadcasts(void) {
    for (int round = 0; round < 20; round++) {
        pthread_cond_t *c = malloc(sizeof *c);
        IS(pthread_cond_init(c, NULL), 0);
        pthread_t t[8];
        for (int i = 0; i < 8; i++) IS(pthread_create(&t[i], NULL, wait_once, c), 0);
        until_waiting(8);
        IS(pthread_cond_destroy(c), EBUSY);
        IS(pthread_mutex_lock(&mutex), 0);
        generation++;
        IS(pthread_cond_broadcast(c), 0);
        IS(pthread_mutex_unlock(&mutex), 0);
        // All have been woken, though they may not have returned: the variable may go.
        IS(pthread_cond_destroy(c), 0);
        memset(c, 0xff, sizeof *c);
        free(c);
        for (int i = 0; i < 8; i++) IS(pthread_join(t[i], NULL), 0);
        CHECK(waiting == 0);
    }
}

static void timeouts(void) {
    pthread_condattr_t a;
    pthread_cond_t monotonic;
    IS(pthread_condattr_init(&a), 0);
    IS(pthread_condattr_setclock(&a, CLOCK_MONOTONIC), 0);
    IS(pthread_cond_init(&monotonic, &a), 0);
    IS(pthread_mutex_lock(&mutex), 0);
    double begin = seconds();
    struct timespec t = after(CLOCK_REALTIME, 30), bad = {0, -1}, past = {0, 0};
    IS(pthread_cond_timedwait(&cond, &mutex, &t), ETIMEDOUT);
    t = after(CLOCK_MONOTONIC, 30);
    IS(pthread_cond_timedwait(&monotonic, &mutex, &t), ETIMEDOUT);
    t = after(CLOCK_MONOTONIC, 30);
    IS(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &t), ETIMEDOUT);
    t = after(CLOCK_REALTIME, 30);
    IS(pthread_cond_clockwait(&monotonic, &mutex, CLOCK_REALTIME, &t), ETIMEDOUT);
    double took = seconds() - begin;
    CHECK(took > 0.115 && took < 5);
    IS(pthread_cond_timedwait(&cond, &mutex, &bad), EINVAL);
    IS(pthread_cond_timedwait(&cond, &mutex, &past), ETIMEDOUT);
    IS(pthread_cond_clockwait(&cond, &mutex, CLOCK_THREAD_CPUTIME_ID, &past), EINVAL);
    // The mutex is held after each of them.
    IS(pthread_mutex_trylock(&mutex), EBUSY);
    IS(pthread_mutex_unlock(&mutex), 0);
    IS(pthread_cond_destroy(&monotonic), 0);
}

// Waiters that time out while others are signalled: each of 300 tokens is taken once, or is left at the end.
static int tokens, got;
static void *impatient(void *arg) {
    (void)arg;
    for (int i = 0; i < 200; i++) {
        IS(pthread_mutex_lock(&mutex), 0);
        struct timespec t = after(CLOCK_REALTIME, 1);
        while (tokens == 0 && pthread_cond_timedwait(&cond, &mutex, &t) == 0) {}
        if (tokens > 0) tokens--, got++;
        IS(pthread_mutex_unlock(&mutex), 0);
    }
    return NULL;
}

static void races(void) {
    pthread_t t[4];
    for (int i = 0; i < 4; i++) IS(pthread_create(&t[i], NULL, impatient, NULL), 0);
    for (int i = 0; i < 300; i++) {
        IS(pthread_mutex_lock(&mutex), 0);
        tokens++;
        IS(pthread_mutex_unlock(&mutex), 0);
        IS(pthread_cond_signal(&cond), 0);
        if (i % 3 == 0) usleep(300);
    }
    for (int i = 0; i < 4; i++) IS(pthread_join(t[i], NULL), 0);
    CHECK(tokens + got == 300);
}

// No signal may get lost: each round needs the one before.
static int turn;
static void *player(void *arg) {
    int me = (int)(long)arg;
    for (int i = 0; i < 2000; i++) {
        IS(pthread_mutex_lock(&mutex), 0);
        while (turn != me) IS(pthread_cond_wait(&cond, &mutex), 0);
        turn = !me;
        IS(pthread_cond_signal(&cond), 0);
        IS(pthread_mutex_unlock(&mutex), 0);
    }
    return NULL;
}

static void ping_pong(void) {
    pthread_t t[2];
    for (long i = 0; i < 2; i++) IS(pthread_create(&t[i], NULL, player, (void *)i), 0);
    for (int i = 0; i < 2; i++) IS(pthread_join(t[i], NULL), 0);
}

static void other_mutexes(void) {
    pthread_mutexattr_t a;
    pthread_mutex_t m;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    struct timespec past = {0, 0};
    IS(pthread_mutexattr_init(&a), 0);
    IS(pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK), 0);
    IS(pthread_mutex_init(&m, &a), 0);
    IS(pthread_cond_timedwait(&c, &m, &past), EPERM);
    IS(pthread_mutex_lock(&m), 0);
    IS(pthread_cond_timedwait(&c, &m, &past), ETIMEDOUT);
    IS(pthread_mutex_unlock(&m), 0);
    // A private variable with a process-shared mutex, which glibc serves.
    IS(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED), 0);
    IS(pthread_mutex_init(&m, &a), 0);
    IS(pthread_mutex_lock(&m), 0);
    IS(pthread_cond_timedwait(&c, &m, &past), ETIMEDOUT);
    // A process-shared variable with the process-shared mutex.
    pthread_condattr_t ca;
    pthread_cond_t shared;
    IS(pthread_condattr_init(&ca), 0);
    IS(pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED), 0);
    IS(pthread_cond_init(&shared, &ca), 0);
    IS(pthread_cond_timedwait(&shared, &m, &past), ETIMEDOUT);
    IS(pthread_mutex_unlock(&m), 0);
    // A process-shared variable with a private mutex: with glibc a time-out, with a replaced mutex an error that is reported.
    IS(pthread_mutex_lock(&mutex), 0);
    int answer = pthread_cond_timedwait(&shared, &mutex, &past);
    CHECK(answer == (getenv("BATON_LOCK") && *getenv("BATON_LOCK") ? EINVAL : ETIMEDOUT));
    IS(pthread_mutex_unlock(&mutex), 0);
    IS(pthread_cond_signal(&shared), 0);
    IS(pthread_cond_destroy(&shared), 0);
}

int main(void) {
    errno = 77;
    if (getenv("BATON_LOCK") && *getenv("BATON_LOCK")) broadcasts();
    timeouts();
    races();
    ping_pong();
    other_mutexes();
    CHECK(errno == 77);
    puts("ok");
    return 0;
}
