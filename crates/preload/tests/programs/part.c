// A library with a mutex of its own, compiled under several names: LOCK, WORK, and LATE, which locks as the library goes.
#include <pthread.h>

pthread_mutex_t LOCK = PTHREAD_MUTEX_INITIALIZER;

void WORK(void) {
    pthread_mutex_lock(&LOCK);
    pthread_mutex_unlock(&LOCK);
}

__attribute__((destructor)) void LATE(void) {
    pthread_mutex_lock(&LOCK);
    pthread_mutex_unlock(&LOCK);
}
