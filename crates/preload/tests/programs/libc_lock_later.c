// Two threads hand a token to each other many times, so that both leave their CPU often; then they meet at a lock
// inside of glibc: that of `rand`. Between draws each takes a lock of its own. The arguments say how often the token
// is handed over and how many numbers each thread draws.
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t handed = PTHREAD_COND_INITIALIZER;
static int turn, hand_overs, draws;

static void hand_over(int me) {
    for (int i = 0; i < hand_overs; i++) {
        pthread_mutex_lock(&lock);
        while (turn != me) pthread_cond_wait(&handed, &lock);
        turn = !me;
        pthread_cond_signal(&handed);
        pthread_mutex_unlock(&lock);
    }
}

__attribute__((noinline)) static unsigned roll(void) {
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    unsigned sum = 0;
    for (int i = 0; i < draws; i++) {
        sum += (unsigned)rand();
        if (i % 256 == 0) {
            pthread_mutex_lock(&own);
            pthread_mutex_unlock(&own);
        }
    }
    return sum;
}

static void *roller(void *me) {
    hand_over(*(int *)me);
    *(unsigned *)me = roll();
    return NULL;
}

int main(int argc, char **argv) {
    hand_overs = argc > 1 ? atoi(argv[1]) : 1000;
    draws = argc > 2 ? atoi(argv[2]) : 100000;
    pthread_t t[2];
    int me[2] = {0, 1};
    for (int i = 0; i < 2; i++) IS(pthread_create(&t[i], NULL, roller, &me[i]), 0);
    for (int i = 0; i < 2; i++) IS(pthread_join(t[i], NULL), 0);
    puts("ok");
    return 0;
}
