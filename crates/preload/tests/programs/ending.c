// Locks in destructors of thread-local keys, in every round that glibc makes, and in threads that end in each way there is.
#include "check.h"
#include <limits.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static int destroyed;

static void destroy(void *value) {
    long round = (long)value;
    IS(pthread_mutex_lock(&mutex), 0);
    destroyed++;
    IS(pthread_mutex_unlock(&mutex), 0);
    if (round < PTHREAD_DESTRUCTOR_ITERATIONS) pthread_setspecific(key, (void *)(round + 1));
}

static void *work(void *arg) {
    pthread_setspecific(key, (void *)1);
    IS(pthread_mutex_lock(&mutex), 0);
    IS(pthread_mutex_unlock(&mutex), 0);
    if ((long)arg == 1) pthread_exit(NULL);
    if ((long)arg == 2) {
        pthread_cancel(pthread_self());
        pthread_testcancel();
    }
    return NULL;
}

// Dies with a lock; others find it taken for ever, and nothing else happens.
static pthread_mutex_t orphan = PTHREAD_MUTEX_INITIALIZER;
static void *abandon(void *arg) {
    (void)arg;
    IS(pthread_mutex_lock(&orphan), 0);
    return NULL;
}

int main(void) {
    pthread_t t;
    IS(pthread_key_create(&key, destroy), 0);
    for (long i = 0; i < 300; i++) {
        IS(pthread_create(&t, NULL, work, (void *)(i % 3)), 0);
        IS(pthread_join(t, NULL), 0);
    }
    CHECK(destroyed == 300 * PTHREAD_DESTRUCTOR_ITERATIONS);
    IS(pthread_create(&t, NULL, abandon, NULL), 0);
    IS(pthread_join(t, NULL), 0);
    for (int i = 0; i < 100; i++) {
        IS(pthread_create(&t, NULL, work, NULL), 0);
        IS(pthread_join(t, NULL), 0);
    }
    IS(pthread_mutex_trylock(&orphan), EBUSY);
    puts("ok");
    return 0;
}
