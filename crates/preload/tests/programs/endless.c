// Threads that lock for ever, to be killed.
#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noreturn)) static void *work(void *arg) {
    (void)arg;
    for (;;) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        usleep(10);
    }
}

int main(void) {
    pthread_t t;
    IS(pthread_create(&t, NULL, work, NULL), 0);
    puts("ok");
    fflush(stdout);
    work(NULL);
}
