// Locks taken one inside of the other: the argument says in which orders. No run of these deadlocks: the threads take
// turns (`await`, `pass`), but the turns are no order that the program's locks keep.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER,
                       gate = PTHREAD_MUTEX_INITIALIZER, again = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t r = PTHREAD_RWLOCK_INITIALIZER, s = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin_a, spin_b;
static pthread_barrier_t meet;
static pthread_mutex_t *heap;
static _Atomic int turn;
static const char *name;

#define IS(x) (strcmp(name, x) == 0)
#define LOCK(m) pthread_mutex_lock(&m)
#define UNLOCK(m) pthread_mutex_unlock(&m)
#define READ(l) pthread_rwlock_rdlock(&l)
#define WRITE(l) pthread_rwlock_wrlock(&l)
#define GIVE(l) pthread_rwlock_unlock(&l)
#define NEST(x, y) (LOCK(x), LOCK(y), UNLOCK(y), UNLOCK(x))

static void await(int n) { while (turn < n) sched_yield(); }
static void pass(void) { turn++; }

static struct timespec soon(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 60;
    return t;
}

// What the first thread does, then the second, then the third.
static void first(void) {
    struct timespec until = soon();
    if (IS("both") || IS("main-thread") || IS("joined-later")) NEST(a, b);
    if (IS("three")) NEST(a, b);
    if (IS("reader-mutex")) { READ(r); LOCK(a); UNLOCK(a); GIVE(r); }
    if (IS("writers")) { WRITE(r); WRITE(s); GIVE(s); GIVE(r); }
    if (IS("spin")) {
        pthread_spin_lock(&spin_a); pthread_spin_lock(&spin_b); pthread_spin_unlock(&spin_b); pthread_spin_unlock(&spin_a);
    }
    if (IS("try-outside")) { pthread_mutex_trylock(&a); LOCK(b); UNLOCK(b); UNLOCK(a); }
    if (IS("timed-outside")) { pthread_mutex_timedlock(&a, &until); LOCK(b); UNLOCK(b); UNLOCK(a); }
    if (IS("shared-gate")) { READ(r); NEST(a, b); GIVE(r); }
    if (IS("wake-up")) { LOCK(b); LOCK(a); pass(); pthread_cond_wait(&cond, &b); UNLOCK(a); UNLOCK(b); return; }
    if (IS("recursive")) { LOCK(again); LOCK(again); LOCK(a); UNLOCK(a); UNLOCK(again); UNLOCK(again); }
    if (IS("heap")) NEST(heap[0], heap[1]);
    if (IS("hand-over-hand")) { LOCK(a); LOCK(b); UNLOCK(a); LOCK(c); UNLOCK(b); UNLOCK(c); }
    if (IS("other-gate")) { LOCK(gate); NEST(a, b); UNLOCK(gate); }

    if (IS("no-same-order")) NEST(a, b);
    if (IS("no-gate")) { LOCK(gate); NEST(a, b); UNLOCK(gate); }
    if (IS("no-write-gate")) { WRITE(r); NEST(a, b); GIVE(r); }
    if (IS("no-try")) { LOCK(a); if (pthread_mutex_trylock(&b) == 0) UNLOCK(b); UNLOCK(a); }
    if (IS("no-timed")) { LOCK(a); if (pthread_mutex_timedlock(&b, &until) == 0) UNLOCK(b); UNLOCK(a); }
    if (IS("no-rwtry")) { LOCK(a); if (pthread_rwlock_trywrlock(&r) == 0) GIVE(r); UNLOCK(a); }
    if (IS("no-joined") || IS("no-created-after")) NEST(a, b);
    if (IS("no-one-thread")) { NEST(a, b); NEST(b, a); }
    if (IS("no-readers")) { READ(r); READ(s); GIVE(s); GIVE(r); }
    if (IS("no-reader-inside")) { LOCK(a); READ(r); GIVE(r); UNLOCK(a); }
    if (IS("no-barrier")) { NEST(a, b); pthread_barrier_wait(&meet); }
    if (IS("no-again")) { LOCK(again); LOCK(a); LOCK(again); UNLOCK(again); UNLOCK(a); UNLOCK(again); }
    if (IS("no-nesting")) { LOCK(a); UNLOCK(a); LOCK(b); UNLOCK(b); }
    if (IS("no-chain")) { LOCK(a); LOCK(b); UNLOCK(a); LOCK(c); UNLOCK(b); UNLOCK(c); }
    if (IS("no-third-thread")) NEST(a, b);
}

static void second(void) {
    if (IS("both") || IS("main-thread") || IS("joined-later")) NEST(b, a);
    if (IS("three")) NEST(b, c);
    if (IS("reader-mutex")) { LOCK(a); WRITE(r); GIVE(r); UNLOCK(a); }
    if (IS("writers")) { WRITE(s); WRITE(r); GIVE(r); GIVE(s); }
    if (IS("spin")) {
        pthread_spin_lock(&spin_b); pthread_spin_lock(&spin_a); pthread_spin_unlock(&spin_a); pthread_spin_unlock(&spin_b);
    }
    if (IS("try-outside") || IS("timed-outside")) NEST(b, a);
    if (IS("shared-gate")) { READ(r); NEST(b, a); GIVE(r); }
    if (IS("wake-up")) { LOCK(b); pthread_cond_signal(&cond); UNLOCK(b); await(2); NEST(b, a); }
    if (IS("recursive")) NEST(a, again);
    if (IS("heap")) NEST(heap[1], heap[0]);
    if (IS("hand-over-hand")) NEST(c, b);
    if (IS("other-gate")) { LOCK(c); NEST(b, a); UNLOCK(c); }

    if (IS("no-same-order")) NEST(a, b);
    if (IS("no-gate")) { LOCK(gate); NEST(b, a); UNLOCK(gate); }
    if (IS("no-write-gate")) { READ(r); NEST(b, a); GIVE(r); }
    if (IS("no-try") || IS("no-timed")) NEST(b, a);
    if (IS("no-rwtry")) { WRITE(r); LOCK(a); UNLOCK(a); GIVE(r); }
    if (IS("no-joined") || IS("no-created-after")) NEST(b, a);
    if (IS("no-readers")) { READ(s); READ(r); GIVE(r); GIVE(s); }
    if (IS("no-reader-inside")) { READ(r); LOCK(a); UNLOCK(a); GIVE(r); }
    if (IS("no-barrier")) { pthread_barrier_wait(&meet); NEST(b, a); }
    if (IS("no-again")) { LOCK(again); LOCK(a); UNLOCK(a); UNLOCK(again); }
    if (IS("no-nesting")) { LOCK(b); UNLOCK(b); LOCK(a); UNLOCK(a); }
    if (IS("no-chain")) { LOCK(a); LOCK(b); UNLOCK(a); LOCK(c); UNLOCK(b); UNLOCK(c); }
    if (IS("no-third-thread")) { NEST(b, c); NEST(c, a); }
}

static void *one(void *x) { first(); pass(); return x; }
static void *two(void *x) { if (!IS("no-barrier")) await(1); second(); pass(); return x; }
static void *three(void *x) { await(2); if (IS("three")) NEST(c, a); return x; }

int main(int argc, char **argv) {
    pthread_t t[3];
    name = argc > 1 ? argv[1] : "both";
    pthread_spin_init(&spin_a, 0);
    pthread_spin_init(&spin_b, 0);
    pthread_barrier_init(&meet, NULL, 2);
    heap = malloc(2 * sizeof *heap);
    for (int i = 0; i < 2; i++) pthread_mutex_init(&heap[i], NULL);
    if (IS("no-created-after")) { first(); pass(); pthread_create(&t[1], NULL, two, NULL); pthread_join(t[1], NULL); return 0; }
    if (IS("main-thread")) { pthread_create(&t[1], NULL, two, NULL); first(); pass(); pthread_join(t[1], NULL); return 0; }
    pthread_create(&t[0], NULL, one, NULL);
    if (IS("no-joined")) { pthread_join(t[0], NULL); pthread_create(&t[1], NULL, two, NULL); pthread_join(t[1], NULL); return 0; }
    pthread_create(&t[1], NULL, two, NULL);
    pthread_create(&t[2], NULL, three, NULL);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    return 0;
}
