// A hundred threads that end at once, one after the other, and then one that works for a while and takes a lock of its
// own now and then.
#include "check.h"

static void *ends(void *x) {
    return x;
}

static void *works(void *x) {
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < 200; i++) {
        for (volatile int turn = 0; turn < 1000000; turn++) continue;
        pthread_mutex_lock(&own);
        pthread_mutex_unlock(&own);
        if (i % 10 == 0) usleep(10);
    }
    return x;
}

int main(void) {
    pthread_t thread;
    for (int i = 0; i < 100; i++) {
        IS(pthread_create(&thread, NULL, ends, NULL), 0);
        IS(pthread_join(thread, NULL), 0);
    }
    IS(pthread_create(&thread, NULL, works, NULL), 0);
    IS(pthread_join(thread, NULL), 0);
    puts("ok");
    return 0;
}
