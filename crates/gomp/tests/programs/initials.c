// Several initial threads, each with teams of its own: threads of regions that follow one another, and barriers of one region. Then a
// forked child with a region, while the other initial threads are there.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INITIALS = 4, ROUNDS = 300 };

static pthread_barrier_t begun, forked;

static long regions(void) {
    long sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
        sum++;
    }
    return sum;
}

static long barriers(void) {
    long sum = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    for (int i = 0; i < ROUNDS; i++) {
        sum++;
#pragma omp barrier
    }
    return sum;
}

static void *initial(void *sum) {
    pthread_barrier_wait(&begun);
    *(long *)sum = regions() + barriers();
    pthread_barrier_wait(&forked);
    pthread_barrier_wait(&forked);
    *(long *)sum += regions();
    return NULL;
}

int main(void) {
    pthread_t threads[INITIALS];
    long sums[INITIALS];
    pthread_barrier_init(&begun, NULL, INITIALS);
    pthread_barrier_init(&forked, NULL, INITIALS + 1);
    for (int i = 0; i < INITIALS; i++) pthread_create(&threads[i], NULL, initial, &sums[i]);
    long own = regions();
    pthread_barrier_wait(&forked);
    pid_t child = fork();
    // A child has no threads but the one that forked: libgomp would wait for those of its pool.
    if (child == 0) _exit(getenv("FORKS") && regions() != 2 * ROUNDS);
    int status;
    waitpid(child, &status, 0);
    pthread_barrier_wait(&forked);
    for (int i = 0; i < INITIALS; i++) pthread_join(threads[i], NULL);
    own += regions();
    printf("main %ld, child %d\n", own, status);
    for (int i = 0; i < INITIALS; i++) printf("%d: %ld\n", i, sums[i]);
}
