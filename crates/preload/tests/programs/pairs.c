// PAIRS uncontended lock and unlock pairs, with a second thread alive. Prints nanoseconds a pair: CPU time of
// the thread, page faults included, which other processes on the machine do not blur; and wall-clock time.
#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

__attribute__((noreturn)) static void *alive(void *arg) {
    (void)arg;
    pthread_mutex_lock(&other);
    for (;;) pthread_cond_wait(&never, &other);
}

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    long pairs = argc > 1 ? atol(argv[1]) : 10000000;
    pthread_t t;
    IS(pthread_create(&t, NULL, alive, NULL), 0);
    usleep(20000);
    double begin = seconds(), cpu = cpu_seconds();
    for (long i = 0; i < pairs; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    cpu = cpu_seconds() - cpu;
    printf("%.2f %.2f\n", cpu / pairs * 1e9, (seconds() - begin) / pairs * 1e9);
    return 0;
}
