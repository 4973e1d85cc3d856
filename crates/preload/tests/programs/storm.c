// Broadcasts to many waiters (argv[1] of them, argv[2] times), with the mutex held and without. Each waiter is woken in each round.
#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t go = PTHREAD_COND_INITIALIZER, all_wait = PTHREAD_COND_INITIALIZER;
static int waiters, rounds, waiting, round_now;

static void *waiter(void *arg) {
    IS(pthread_mutex_lock(&mutex), 0);
    for (int mine = 0; mine < rounds; mine++) {
        if (++waiting == waiters) IS(pthread_cond_signal(&all_wait), 0);
        while (round_now == mine) IS(pthread_cond_wait(&go, &mutex), 0);
        CHECK(round_now == mine + 1);
    }
    IS(pthread_mutex_unlock(&mutex), 0);
    return arg;
}

int main(int argc, char **argv) {
    waiters = argc > 1 ? atoi(argv[1]) : 16, rounds = argc > 2 ? atoi(argv[2]) : 50;
    pthread_t t[256];
    CHECK(waiters > 0 && waiters <= 256);
    for (int i = 0; i < waiters; i++) IS(pthread_create(&t[i], NULL, waiter, NULL), 0);
    for (int round = 0; round < rounds; round++) {
        IS(pthread_mutex_lock(&mutex), 0);
        while (waiting < waiters) IS(pthread_cond_wait(&all_wait, &mutex), 0);
        waiting = 0;
        round_now++;
        if (round % 2) {
            IS(pthread_cond_broadcast(&go), 0);
            IS(pthread_mutex_unlock(&mutex), 0);
        } else {
            IS(pthread_mutex_unlock(&mutex), 0);
            IS(pthread_cond_broadcast(&go), 0);
        }
    }
    for (int i = 0; i < waiters; i++) IS(pthread_join(t[i], NULL), 0);
    puts("ok");
    return 0;
}
