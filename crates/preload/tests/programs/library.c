// Uses each object of Baton's C library, from three threads, a number of times that the test knows.
#include "check.h"
#include <baton.h>

enum { THREADS = 3, TURNS = 1000, EPISODES = 10, ITEMS = 200, BULK = 50 };

static baton_mutex mutex = BATON_MUTEX_INIT, guard = BATON_MUTEX_INIT;
static baton_rwlock rwlock = BATON_RWLOCK_INIT;
static baton_cond cond = BATON_COND_INIT;
static baton_once once = BATON_ONCE_INIT;
static baton_semaphore semaphore = BATON_SEMAPHORE_INIT(0);
static baton_meeting meeting = BATON_MEETING_INIT(THREADS);
static int storage[4];
static baton_queue queue = BATON_QUEUE_INIT(storage);
static baton_spsc *spsc;
static baton_unbounded *unbounded;
static baton_lock *lock;
static baton_barrier *barrier;
// Each lock guards a count of its own.
static long by_mutex, by_name, inits, ready;

static void init(void *argument) {
    usleep(2000);
    ++*(long *)argument;
}

static void *locks(void *number) {
    baton_once_call(&once, init, &inits);
    CHECK(inits == 1 && baton_once_done(&once));
    for (int i = 0; i < TURNS; i++) {
        baton_mutex_lock(&mutex);
        by_mutex++;
        baton_mutex_unlock(&mutex);
        baton_lock_lock(lock);
        by_name++;
        baton_lock_unlock(lock);
        if (i % 10 == 0) {
            baton_rwlock_rdlock(&rwlock);
            baton_rwlock_rdunlock(&rwlock);
            baton_rwlock_wrlock(&rwlock);
            baton_rwlock_downgrade_up(&rwlock);
            baton_rwlock_upgrade(&rwlock);
            baton_rwlock_downgrade(&rwlock);
            baton_rwlock_rdunlock(&rwlock);
        }
    }
    for (int i = 0; i < EPISODES; i++) {
        baton_meeting_wait(&meeting);
        baton_barrier_wait(barrier, (uint32_t)(long)number);
    }
    return 0;
}

static void *produces(void *x) {
    int many[BULK] = { 0 };
    size_t done;
    for (int i = 0; i < ITEMS; i++) {
        CHECK(baton_queue_put(&queue, &i) == 0);
        CHECK(baton_spsc_put(spsc, &i) == 0);
        CHECK(baton_unbounded_put(unbounded, &i) == 0);
        CHECK(baton_semaphore_post(&semaphore) == 0);
    }
    CHECK(baton_queue_put_all(&queue, many, BULK, &done) == 0 && done == BULK);
    baton_places places;
    CHECK(baton_spsc_reserve(spsc, 1, &places) == 0 && baton_places_count(&places) == 1);
    *(int *)places.first = 77;
    CHECK(baton_spsc_commit(spsc, 1) == 0);
    baton_mutex_lock(&guard);
    ready = 1;
    baton_cond_signal(&cond);
    baton_mutex_unlock(&guard);
    usleep(20000);
    CHECK(baton_queue_close(&queue) == 0 && baton_spsc_close(spsc) == 0 && baton_unbounded_close(unbounded) == 0);
    return x;
}

static void *consumes(void *x) {
    int item, many[BULK];
    size_t done, got = 0;
    // The producer comes to full queues.
    usleep(20000);
    for (int i = 0; i < ITEMS; i++) {
        CHECK(baton_queue_get(&queue, &item) == 0 && item == i);
        CHECK(baton_spsc_get(spsc, &item) == 0 && item == i);
        CHECK(baton_unbounded_get(unbounded, &item) == 0 && item == i);
        baton_semaphore_take(&semaphore);
    }
    while (got < BULK) {
        CHECK(baton_queue_get_some(&queue, many, BULK, &done) == 0 && done > 0);
        got += done;
    }
    baton_places places;
    CHECK(baton_spsc_peek(spsc, 4, &places) == 0 && *(int *)places.first == 77 && baton_spsc_release(spsc, 1) == 0);
    baton_mutex_lock(&guard);
    while (!ready) baton_cond_wait(&cond, &guard);
    baton_mutex_unlock(&guard);
    // This wait ends as the queue is closed.
    CHECK(baton_queue_get(&queue, &item) == EPIPE && baton_spsc_get(spsc, &item) == EPIPE);
    CHECK(baton_unbounded_get(unbounded, &item) == EPIPE);
    return x;
}

// Errors and deadlines are the library's own.
static void alone(void) {
    int item = 0;
    struct timespec soon = after(CLOCK_MONOTONIC, 5), wrong = { 0, -1 };
    CHECK(baton_mutex_timedlock(&mutex, CLOCK_MONOTONIC, &wrong) == EINVAL);
    CHECK(baton_mutex_timedlock(&mutex, 12345, &soon) == EINVAL);
    CHECK(baton_mutex_trylock(&mutex) == 0 && baton_mutex_trylock(&mutex) == EBUSY);
    CHECK(baton_mutex_timedlock(&mutex, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
    baton_mutex_unlock(&mutex);
    CHECK(baton_semaphore_trytake(&semaphore) == EAGAIN);
    CHECK(baton_semaphore_timedtake(&semaphore, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
    CHECK(baton_queue_tryget(&queue, &item) == EAGAIN && baton_queue_timedget(&queue, &item, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
    baton_mutex_lock(&guard);
    CHECK(baton_cond_timedwait(&cond, &guard, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
    CHECK(baton_cond_timedwait(&cond, &guard, CLOCK_MONOTONIC, &wrong) == EINVAL);
    baton_mutex_unlock(&guard);
    CHECK(baton_rwlock_trywrlock(&rwlock) == 0 && baton_rwlock_tryrdlock(&rwlock) == EBUSY);
    baton_rwlock_downgrade_up(&rwlock);
    CHECK(baton_rwlock_tryupgrade(&rwlock) == 0);
    baton_rwlock_wrunlock(&rwlock);
}

int main(void) {
    pthread_t threads[THREADS];
    spsc = baton_spsc_new(sizeof(int), 8);
    unbounded = baton_unbounded_new(sizeof(int));
    lock = baton_lock_new_named("mcs", "spin-park");
    barrier = baton_barrier_new("central", THREADS, "futex");
    CHECK(spsc && unbounded && lock && barrier && !baton_spsc_new(0, 0));
    alone();
    for (long i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], 0, locks, (void *)i) == 0);
    for (long i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], 0) == 0);
    CHECK(by_mutex == THREADS * TURNS && by_name == THREADS * TURNS);
    CHECK(pthread_create(&threads[0], 0, produces, 0) == 0 && pthread_create(&threads[1], 0, consumes, 0) == 0);
    CHECK(pthread_join(threads[0], 0) == 0 && pthread_join(threads[1], 0) == 0);
    baton_spsc_free(spsc);
    baton_unbounded_free(unbounded);
    baton_lock_free(lock);
    baton_barrier_free(barrier);
    puts("ok");
    return 0;
}
