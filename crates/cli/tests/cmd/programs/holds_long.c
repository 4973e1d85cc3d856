// Threads that hold a mutex for 30 ms each and wait for it, and that meet at a barrier; with -fopenmp, in a parallel region.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + at.tv_nsec * 1e-9;
}

static void compute(double seconds) {
    double end = now() + seconds;
    while (now() < end) {}
}

#ifdef _OPENMP
int main(void) {
    #pragma omp parallel num_threads(3)
    for (int i = 0; i < 6; i++) {
        #pragma omp critical
        compute(0.03);
        #pragma omp barrier
    }
    puts("done");
}
#else
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static void *work(void *number) {
    for (int i = 0; i < 6; i++) {
        pthread_mutex_lock(&mutex);
        compute(0.03);
        pthread_mutex_unlock(&mutex);
        // The last one lets the others wait.
        if (number && i % 2) compute(0.03);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    pthread_barrier_init(&barrier, NULL, 3);
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, work, i == 2 ? &barrier : NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    puts("done");
}
#endif
