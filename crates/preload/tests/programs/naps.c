// Two threads sleep a thousand times: one without a lock, one with a lock held. That is more than the kernel keeps
// context switches.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void nap(void) {
    for (int i = 0; i < 1000; i++) usleep(100);
}

static void *holds(void *x) {
    pthread_mutex_lock(&lock);
    nap();
    pthread_mutex_unlock(&lock);
    return x;
}

int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, holds, NULL)) return 1;
    nap();
    if (pthread_join(thread, NULL)) return 1;
    puts("ok");
    return 0;
}
