// Waiters that leave a mutex's queue without a step of their own: by asynchronous cancellation, or by a jump out of a signal
// handler. Those before and behind them get the mutex.
#include "check.h"
#include <setjmp.h>
#include <signal.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int count, about;
static __thread sigjmp_buf out;

static void *waits(void *arg) {
    (void)arg;
    __atomic_add_fetch(&about, 1, __ATOMIC_SEQ_CST);
    IS(pthread_mutex_lock(&mutex), 0);
    count++;
    IS(pthread_mutex_unlock(&mutex), 0);
    return NULL;
}

static void *is_cancelled(void *arg) {
    IS(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL), 0);
    return waits(arg);
}

static void jump(int signal) {
    (void)signal;
    siglongjmp(out, 1);
}

static void *jumps(void *arg) {
    if (sigsetjmp(out, 1)) return PTHREAD_CANCELED;
    return waits(arg);
}

// Gives a thread that is about to wait the time to do so. If it has not come so far, the test is only less strict.
static void until_about(int n) {
    while (__atomic_load_n(&about, __ATOMIC_SEQ_CST) < n) usleep(100);
    usleep(5000);
}

static void leaves(void *(*leaver)(void *), int by_signal) {
    pthread_t before, leaving, behind;
    void *end;
    about = count = 0;
    IS(pthread_mutex_lock(&mutex), 0);
    IS(pthread_create(&before, NULL, waits, NULL), 0);
    until_about(1);
    IS(pthread_create(&leaving, NULL, leaver, NULL), 0);
    until_about(2);
    IS(pthread_create(&behind, NULL, waits, NULL), 0);
    until_about(3);
    if (by_signal) {
        IS(pthread_kill(leaving, SIGUSR1), 0);
    } else {
        IS(pthread_cancel(leaving), 0);
    }
    IS(pthread_join(leaving, &end), 0);
    CHECK(end == PTHREAD_CANCELED);
    IS(pthread_mutex_unlock(&mutex), 0);
    IS(pthread_join(before, NULL), 0);
    IS(pthread_join(behind, NULL), 0);
    CHECK(count == 2);
    IS(pthread_mutex_trylock(&mutex), 0);
    IS(pthread_mutex_unlock(&mutex), 0);
}

// Those who may leave and those who may not, many times, without leaving.
static void *counts(void *arg) {
    if (arg) IS(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL), 0);
    for (int i = 0; i < 300; i++) {
        int how = i % 3;
        struct timespec soon = after(CLOCK_REALTIME, 1);
        if (how == 1 && pthread_mutex_trylock(&mutex) != 0) continue;
        if (how == 2 && pthread_mutex_timedlock(&mutex, &soon) != 0) continue;
        if (how == 0) IS(pthread_mutex_lock(&mutex), 0);
        int now = count;
        if (i % 50 == 0) usleep(100);
        count = now + 1;
        __atomic_add_fetch(&about, 1, __ATOMIC_RELAXED);
        IS(pthread_mutex_unlock(&mutex), 0);
    }
    return NULL;
}

int main(void) {
    signal(SIGUSR1, jump);
    for (int i = 0; i < 3; i++) {
        leaves(is_cancelled, 0);
        leaves(jumps, 1);
    }
    pthread_t t[4];
    about = count = 0;
    for (long i = 0; i < 4; i++) IS(pthread_create(&t[i], NULL, counts, (void *)(i % 2)), 0);
    for (int i = 0; i < 4; i++) IS(pthread_join(t[i], NULL), 0);
    CHECK(count == about && count >= 400);
    puts("ok");
    return 0;
}
