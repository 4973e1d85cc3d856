// The programs of scripts/measure/dilation: KIND, threads, turns of a loop that stand for work, rounds. Each prints the
// milliseconds from the creation of its threads to the last join.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int threads, turns, rounds, items, waiting, generation;

static void work(void) {
    for (int i = 0; i < turns; i++) __asm__ volatile("" ::: "memory");
}

// Each thread takes two locks in turn, and works as long with the lock as without.
static void *take_locks(void *me) {
    for (long i = 0; i < rounds; i++) {
        pthread_mutex_t *lock = &locks[(i + (long)me) % 2];
        pthread_mutex_lock(lock);
        work();
        pthread_mutex_unlock(lock);
        work();
    }
    return NULL;
}

// Every second thread puts items into a buffer of one place; the others take them out.
static void *pass_items(void *me) {
    int puts = (long)me % 2 == 0;
    for (int i = 0; i < rounds; i++) {
        work();
        pthread_mutex_lock(&locks[0]);
        while (items == puts) pthread_cond_wait(puts ? &emptied : &filled, &locks[0]);
        items = puts;
        pthread_cond_signal(puts ? &filled : &emptied);
        pthread_mutex_unlock(&locks[0]);
    }
    return NULL;
}

// The last thread of each round wakes all others.
static void *wait_for_all(void *me) {
    for (int i = 0; i < rounds; i++) {
        work();
        pthread_mutex_lock(&locks[0]);
        if (++waiting == threads) {
            waiting = 0;
            generation++;
            pthread_cond_broadcast(&filled);
        } else {
            int mine = generation;
            while (mine == generation) pthread_cond_wait(&filled, &locks[0]);
        }
        pthread_mutex_unlock(&locks[0]);
    }
    return me;
}

static void *work_once(void *me) {
    work();
    return me;
}

// Threads that work once and end, `threads` of them at a time.
static void *come_and_go(void *me) {
    pthread_t thread[1024];
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < threads; k++)
            if (pthread_create(&thread[k], NULL, work_once, NULL)) exit(1);
        for (int k = 0; k < threads; k++) pthread_join(thread[k], NULL);
    }
    return me;
}

static void *work_apart(void *me) {
    for (int i = 0; i < 2 * rounds; i++) work();
    return me;
}

int main(int argc, char **argv) {
    if (argc != 5) return fputs("usage: dilation locks|pairs|herd|short-lived|apart THREADS TURNS ROUNDS\n", stderr), 2;
    threads = atoi(argv[2]), turns = atoi(argv[3]), rounds = atoi(argv[4]);
    void *(*run)(void *) = !strcmp(argv[1], "locks") ? take_locks : !strcmp(argv[1], "pairs") ? pass_items
                         : !strcmp(argv[1], "herd") ? wait_for_all : !strcmp(argv[1], "short-lived") ? come_and_go
                         : work_apart;
    pthread_t thread[1024];
    if (threads < 1 || threads > 1024) return fputs("1 to 1024 threads\n", stderr), 2;
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    int started = run == come_and_go ? 1 : threads;
    for (long i = 0; i < started; i++)
        if (pthread_create(&thread[i], NULL, run, (void *)i)) return 1;
    for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &after);
    printf("%.1f\n", (after.tv_sec - before.tv_sec) * 1e3 + (after.tv_nsec - before.tv_nsec) / 1e6);
    return 0;
}
