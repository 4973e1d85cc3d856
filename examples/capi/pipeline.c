/* Objects of baton.h that begin as constants: threads take numbers out of one queue and put their squares into another, with at
 * most two of them at work at a time; a table is filled once; readers and a writer share a sum.
 *
 *   cc pipeline.c $(pkg-config --cflags --libs baton) -lpthread -o pipeline && ./pipeline
 */
#include <baton.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, NUMBERS = 10000 };

static uint32_t numbers_storage[7]; /* exactly seven: no power of two is needed */
static uint64_t squares_storage[100];
static baton_queue numbers = BATON_QUEUE_INIT(numbers_storage);
static baton_queue squares = BATON_QUEUE_INIT(squares_storage);
static baton_semaphore at_work = BATON_SEMAPHORE_INIT(2);
static baton_once begun = BATON_ONCE_INIT;
static baton_meeting start = BATON_MEETING_INIT(THREADS);
static baton_rwlock lock = BATON_RWLOCK_INIT;
static baton_mutex mutex = BATON_MUTEX_INIT;
static baton_cond ended = BATON_COND_INIT;
static int fills, chosen, left = THREADS;
static uint64_t sum;

static void fill(void *count) { ++*(int *)count; }

static void *work(void *unused) {
    (void)unused;
    baton_once_call(&begun, fill, &fills);
    int last = baton_meeting_wait(&start);
    uint32_t n;
    while (baton_queue_get(&numbers, &n) == 0) {
        baton_semaphore_take(&at_work);
        uint64_t square = (uint64_t)n * n;
        baton_semaphore_post(&at_work);
        if (baton_queue_put(&squares, &square) != 0) return NULL;
        /* Reads the sum, with the right to write it: no other thread does in between. */
        baton_rwlock_uplock(&lock);
        uint64_t before = sum;
        baton_rwlock_upgrade(&lock);
        sum = before + square;
        baton_rwlock_downgrade(&lock);
        baton_rwlock_rdunlock(&lock);
    }
    baton_mutex_lock(&mutex);
    chosen += last;
    if (--left == 0) baton_cond_broadcast(&ended);
    baton_mutex_unlock(&mutex);
    return NULL;
}

static void *collect(void *total) {
    uint64_t some[16];
    size_t count;
    while (baton_queue_get_some(&squares, some, 16, &count) == 0)
        while (count != 0) *(uint64_t *)total += some[--count];
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS], collector;
    uint64_t total = 0, expected = 0;
    uint32_t all[NUMBERS];
    for (uint32_t n = 0; n < NUMBERS; n++) all[n] = n, expected += (uint64_t)n * n;
    pthread_create(&collector, NULL, collect, &total);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, NULL);
    size_t done = 0;
    if (baton_queue_put_all(&numbers, all, NUMBERS, &done) != 0 || done != NUMBERS) return 2;
    baton_queue_close(&numbers);
    if (baton_queue_put(&numbers, all) != EPIPE) return 3;
    baton_mutex_lock(&mutex);
    while (left != 0) baton_cond_wait(&ended, &mutex);
    baton_mutex_unlock(&mutex);
    baton_queue_close(&squares);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    pthread_join(collector, NULL);
    if (fills != 1 || chosen != 1 || sum != expected) return 4;
    printf("sum %llu of %llu\n", (unsigned long long)total, (unsigned long long)expected);
    return total == expected ? 0 : 1;
}
