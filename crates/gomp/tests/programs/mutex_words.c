/* Prints the words that libgomp's mutex has in a fixed order of events. omp_lock_t is libgomp's
 * gomp_mutex_t: one int, which `word` reads. GOMP_SPINCOUNT says how often a waiter reads. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static omp_lock_t lock;
static int seen_by_waiter;

static int word(void) { return __atomic_load_n((int *)&lock, __ATOMIC_RELAXED); }

static void *waiter(void *unused) {
    (void)unused;
    omp_set_lock(&lock);
    seen_by_waiter = word();
    omp_unset_lock(&lock);
    return NULL;
}

/* Argument 1: the waiter reads without end, so the word stays 1 while it waits. */
int main(int argc, char **argv) {
    int reads_on = argc > 1 && argv[1][0] == '1';
    pthread_t thread;
    omp_init_lock(&lock);
    printf("free %d\n", word());
    omp_set_lock(&lock);
    printf("held %d\n", word());
    pthread_create(&thread, NULL, waiter, NULL);
    if (reads_on)
        usleep(50000);
    else
        while (word() != -1) usleep(1000);
    printf("awaited %d\n", word());
    omp_unset_lock(&lock);
    pthread_join(thread, NULL);
    printf("held by the waiter %d\n", seen_by_waiter);
    printf("freed by the waiter %d\n", word());
    omp_set_lock(&lock);
    printf("held again %d\n", word());
    omp_unset_lock(&lock);
    return 0;
}
