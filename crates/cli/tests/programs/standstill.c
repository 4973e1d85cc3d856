// Programs that stand still, and programs that only seem to: the argument says which.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t a_lock = PTHREAD_MUTEX_INITIALIZER, b_lock = PTHREAD_MUTEX_INITIALIZER,
                       c_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t gate;
static sem_t items;

// How many threads have done what others wait for before they go on, and how many must have. On a busy machine a pause alone may be
// too short.
static atomic_int came;
static int expected;

static void pause_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void pause_until_all_came(long ms) {
    do pause_ms(ms); while (atomic_load(&came) < expected);
}

static void both(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    atomic_fetch_add(&came, 1);
    pause_until_all_came(40);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *ab(void *x) { both(&a_lock, &b_lock); return x; }
static void *ba(void *x) { both(&b_lock, &a_lock); return x; }
static void *bc(void *x) { both(&b_lock, &c_lock); return x; }
static void *ca(void *x) { both(&c_lock, &a_lock); return x; }

static void *timed(void *order) {
    pthread_mutex_t *first = order ? &a_lock : &b_lock, *second = order ? &b_lock : &a_lock;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    pthread_mutex_lock(first);
    atomic_fetch_add(&came, 1);
    pause_until_all_came(40);
    pthread_mutex_timedlock(second, &until);
    return NULL;
}

static void *ends_with_lock(void *x) { pthread_mutex_lock(&a_lock); return x; }
static void *takes_a(void *x) { pthread_mutex_lock(&a_lock); return x; }

static void *waiter(void *x) {
    pause_until_all_came(30);
    pthread_mutex_lock(&a_lock);
    pthread_cond_wait(&ready, &a_lock);
    pthread_mutex_unlock(&a_lock);
    return x;
}

// Waits with another lock held; the signalling thread wants that lock while it holds the mutex.
static void *wakes_up_late(void *x) {
    pthread_mutex_lock(&b_lock);
    pthread_mutex_lock(&a_lock);
    atomic_fetch_add(&came, 1);
    pthread_cond_wait(&ready, &a_lock);
    return x;
}

static void *consumer(void *x) { sem_wait(&items); sem_wait(&items); return x; }
static void *arrives(void *x) { pthread_barrier_wait(&gate); return x; }

static void *upgrades(void *x) {
    pthread_rwlock_rdlock(&table_lock);
    pthread_rwlock_wrlock(&table_lock);
    return x;
}

static pthread_t start(void *(*f)(void *), void *x) {
    pthread_t t;
    pthread_create(&t, NULL, f, x);
    return t;
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
#define IS(x) (strcmp(name, x) == 0)
    pthread_t t = pthread_self();
    if (IS("both-orders") || IS("deadline") || IS("part") || IS("exits")) expected = 2;
    if (IS("three")) expected = 3;
    if (IS("lost") || IS("wake-up")) expected = 1;
    if (IS("both-orders")) { t = start(ab, NULL); start(ba, NULL); }
    if (IS("three")) { t = start(ab, NULL); start(bc, NULL); start(ca, NULL); }
    if (IS("deadline")) { t = start(timed, argv); start(timed, NULL); }
    if (IS("itself")) { pthread_mutex_lock(&a_lock); pthread_mutex_lock(&a_lock); }
    if (IS("upgrade")) t = start(upgrades, NULL);
    if (IS("ended")) { pthread_join(start(ends_with_lock, NULL), NULL); pthread_mutex_lock(&a_lock); }
    if (IS("join")) { pthread_mutex_lock(&a_lock); t = start(takes_a, NULL); }
    if (IS("lost")) {
        t = start(waiter, NULL);
        pthread_mutex_lock(&a_lock);
        pthread_cond_signal(&ready);
        pthread_mutex_unlock(&a_lock);
        atomic_fetch_add(&came, 1);
    }
    if (IS("never")) t = start(waiter, NULL);
    if (IS("wake-up")) {
        t = start(wakes_up_late, NULL);
        pause_until_all_came(40);
        pthread_mutex_lock(&a_lock);
        pthread_cond_signal(&ready);
        pthread_mutex_lock(&b_lock);
    }
    if (IS("semaphore")) { sem_init(&items, 0, 0); t = start(consumer, NULL); sem_post(&items); }
    if (IS("barrier")) { pthread_barrier_init(&gate, NULL, 3); t = start(arrives, NULL); pthread_barrier_wait(&gate); }
    // Programs that do not stand still as a whole: in `part` and `exits` two threads are in a
    // deadlock while the main thread goes on.
    if (IS("part")) { start(ab, NULL); start(ba, NULL); for (;;) pause_ms(10); }
    if (IS("idle")) { start(waiter, NULL); start(waiter, NULL); for (;;) pause(); }
    if (IS("holder-sleeps")) { pthread_mutex_lock(&a_lock); start(takes_a, NULL); pause_ms(60000); }
    if (IS("exits")) { start(ab, NULL); start(ba, NULL); pause_until_all_came(300); return 7; }
    if (IS("ends")) { pthread_join(start(ab, NULL), NULL); return 0; }
    pthread_join(t, NULL);
    return 0;
}
