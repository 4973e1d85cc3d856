// Cancellation of condition waits: the mutex is held in clean-up handlers, no signal is swallowed.
#include "check.h"

static pthread_mutex_t mutex;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waiting, cleaned, woken, ready;

static void cleanup(void *arg) {
    (void)arg;
    // An error-checking mutex says whether it is ours.
    cleaned++;
    waiting--;
    IS(pthread_mutex_unlock(&mutex), 0);
}

static void *waiter(void *arg) {
    (void)arg;
    IS(pthread_mutex_lock(&mutex), 0);
    pthread_cleanup_push(cleanup, NULL);
    waiting++;
    while (!ready) IS(pthread_cond_wait(&cond, &mutex), 0);
    ready--;
    woken++;
    pthread_cleanup_pop(0);
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
        usleep(100);
    }
}

static void *disabled(void *arg) {
    (void)arg;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    IS(pthread_mutex_lock(&mutex), 0);
    waiting++;
    while (!ready) IS(pthread_cond_wait(&cond, &mutex), 0);
    ready--;
    waiting--;
    IS(pthread_mutex_unlock(&mutex), 0);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    pthread_testcancel();
    return NULL;
}

static void *pending(void *arg) {
    (void)arg;
    while (!__atomic_load_n((int *)arg, __ATOMIC_ACQUIRE)) usleep(100);
    return waiter(NULL);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&mutex, &a);
    void *end;
    pthread_t t[2];
    // A waiter alone.
    IS(pthread_create(&t[0], NULL, waiter, NULL), 0);
    until_waiting(1);
    IS(pthread_cancel(t[0]), 0);
    IS(pthread_join(t[0], &end), 0);
    CHECK(end == PTHREAD_CANCELED && cleaned == 1);
    // A cancellation that is pending before the wait.
    int go = 0;
    cleaned = 0;
    IS(pthread_create(&t[0], NULL, pending, &go), 0);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    IS(pthread_cancel(t[0]), 0);
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    IS(pthread_join(t[0], &end), 0);
    CHECK(end == PTHREAD_CANCELED);
    // A thread that has disabled cancellation goes on waiting when it is cancelled.
    waiting = 0;
    IS(pthread_create(&t[0], NULL, disabled, NULL), 0);
    until_waiting(1);
    IS(pthread_cancel(t[0]), 0);
    usleep(2000);
    IS(pthread_mutex_lock(&mutex), 0);
    CHECK(waiting == 1);
    ready = 1;
    IS(pthread_cond_signal(&cond), 0);
    IS(pthread_mutex_unlock(&mutex), 0);
    IS(pthread_join(t[0], &end), 0);
    CHECK(end == PTHREAD_CANCELED && waiting == 0 && ready == 0);
    // A signal and a cancellation at the same time: whoever of the two waiters is left must get the signal.
    for (int i = 0; i < rounds; i++) {
        woken = 0, ready = 0, waiting = 0;
        IS(pthread_create(&t[0], NULL, waiter, NULL), 0);
        until_waiting(1);
        IS(pthread_create(&t[1], NULL, waiter, NULL), 0);
        until_waiting(2);
        if (i % 2) {
            IS(pthread_cancel(t[0]), 0);
        }
        IS(pthread_mutex_lock(&mutex), 0);
        ready = 1;
        IS(pthread_cond_signal(&cond), 0);
        IS(pthread_mutex_unlock(&mutex), 0);
        if (i % 2 == 0) {
            IS(pthread_cancel(t[0]), 0);
        }
        // The waiter that is left has 10 seconds to take the signal.
        double begin = seconds();
        for (;;) {
            IS(pthread_mutex_lock(&mutex), 0);
            int taken = woken;
            IS(pthread_mutex_unlock(&mutex), 0);
            if (taken) break;
            CHECK(seconds() - begin < 10);
            usleep(100);
        }
        IS(pthread_cancel(t[1]), 0);
        IS(pthread_join(t[0], &end), 0);
        IS(pthread_join(t[1], &end), 0);
    }
    puts("ok");
    return 0;
}
