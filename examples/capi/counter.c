/* Shows two things of baton.h: a lock chosen by name at run time, and a barrier. Four threads meet at the barrier and count
 * under the lock; the total must be right. Markers show on the profiler's timeline when they count.
 *
 *   cc counter.c $(pkg-config --cflags --libs baton) -lpthread -o counter && ./counter mcs
 */
#include <baton.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 10000 };

static baton_lock *lock;
static baton_barrier *start;
static long total;

static void *count(void *argument) {
    baton_barrier_wait(start, (uint32_t)(size_t)argument);
    for (int i = 0; i < ROUNDS; i++) {
        baton_lock_lock(lock);
        total++;
        baton_lock_unlock(lock);
    }
    return NULL;
}

int main(int argc, char **argv) {
    lock = baton_lock_new_named(argc > 1 ? argv[1] : "spin-park", argc > 2 ? argv[2] : NULL);
    start = baton_barrier_new("central", THREADS, "futex");
    if (lock == NULL || start == NULL) {
        fprintf(stderr, "counter: %s\n", baton_last_error());
        return 2;
    }
    baton_roi_begin("counting");
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, count, (void *)i) != 0) return 1;
    }
    for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    baton_roi_end("counting");
    baton_marker("total", (uint64_t)total);
    printf("%s: %ld of %d\n", baton_lock_name(lock), total, THREADS * ROUNDS);
    baton_barrier_free(start);
    baton_lock_free(lock);
    return total == THREADS * ROUNDS ? 0 : 1;
}
