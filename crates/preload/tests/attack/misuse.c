// What POSIX leaves undefined or makes an error, where glibc has a definite answer.
#include "../programs/check.h"

static void *tries(void *mutex) {
    return (void *)(long)pthread_mutex_trylock(mutex);
}

static long other_tries(pthread_mutex_t *mutex) {
    pthread_t t;
    void *answer;
    IS(pthread_create(&t, NULL, tries, mutex), 0);
    IS(pthread_join(t, &answer), 0);
    return (long)answer;
}

int main(void) {
    pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, checked;
    pthread_mutexattr_t a;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    struct timespec bad = {0, -1}, past = {0, 0};
    IS(pthread_mutexattr_init(&a), 0);
    IS(pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK), 0);
    IS(pthread_mutex_init(&checked, &a), 0);
    printf("unlock of another's %d\n", pthread_mutex_unlock(&checked));
    IS(pthread_mutex_lock(&checked), 0);
    printf("again %d, timed %d\n", pthread_mutex_lock(&checked), pthread_mutex_timedlock(&checked, &past));
    printf("destroyed while held %d\n", pthread_mutex_destroy(&checked));
    printf("wait until a bad time %d, a past one %d\n", pthread_cond_timedwait(&c, &checked, &bad),
           pthread_cond_timedwait(&c, &checked, &past));
    IS(pthread_mutex_unlock(&checked), 0);
    IS(pthread_mutex_lock(&plain), 0);
    printf("timed out %d, bad time %d\n", pthread_mutex_timedlock(&plain, &past), pthread_mutex_timedlock(&plain, &bad));
    printf("other %ld\n", other_tries(&plain));
    // A copy of a free mutex is a free mutex of its own.
    IS(pthread_mutex_unlock(&plain), 0);
    pthread_mutex_t copy = plain;
    IS(pthread_mutex_lock(&copy), 0);
    printf("copy %ld, original %ld\n", other_tries(&copy), other_tries(&plain));
    IS(pthread_mutex_unlock(&copy), 0);
    IS(pthread_mutex_destroy(&copy), 0);
    printf("destroyed %d\n", pthread_mutex_lock(&copy));
    return 0;
}
