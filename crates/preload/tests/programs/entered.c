// A thread that waits for a mutex for 20 ms, ten times: it enters after sleeping, or while spinning, as the lock's wait policy has it.
#include "check.h"
#include <sched.h>
#include <stdatomic.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int held, wanted, done;

static void await(atomic_int *count, int n) {
    while (atomic_load(count) < n) sched_yield();
}

static void *waiter(void *arg) {
    for (int i = 1; i <= 10; i++) {
        await(&held, i);
        atomic_store(&wanted, i);
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        atomic_store(&done, i);
    }
    return arg;
}

int main(void) {
    pthread_t t;
    IS(pthread_create(&t, NULL, waiter, NULL), 0);
    for (int i = 1; i <= 10; i++) {
        pthread_mutex_lock(&mutex);
        atomic_store(&held, i);
        await(&wanted, i);
        usleep(20000);
        pthread_mutex_unlock(&mutex);
        await(&done, i);
    }
    IS(pthread_join(t, NULL), 0);
    puts("ok");
    return 0;
}
