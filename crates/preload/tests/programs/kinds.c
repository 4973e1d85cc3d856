// Every kind of mutex, and every error that POSIX promises for it.
#define _GNU_SOURCE
#include "check.h"
#include <sys/mman.h>

static pthread_mutex_t of_kind(int kind, int robust, int protocol, int shared) {
    pthread_mutexattr_t a;
    pthread_mutex_t m;
    IS(pthread_mutexattr_init(&a), 0);
    IS(pthread_mutexattr_settype(&a, kind), 0);
    if (robust) IS(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST), 0);
    if (protocol) IS(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT), 0);
    if (shared) IS(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED), 0);
    IS(pthread_mutex_init(&m, &a), 0);
    pthread_mutexattr_destroy(&a);
    return m;
}

struct tried { pthread_mutex_t *m; int trylock, timed, clocked, unlock; };

static void *other(void *arg) {
    struct tried *t = arg;
    struct timespec soon = after(CLOCK_REALTIME, 20), later = after(CLOCK_MONOTONIC, 40);
    t->trylock = pthread_mutex_trylock(t->m);
    t->timed = pthread_mutex_timedlock(t->m, &soon);
    t->clocked = pthread_mutex_clocklock(t->m, CLOCK_MONOTONIC, &later);
    t->unlock = pthread_mutex_unlock(t->m);
    return NULL;
}

// Another thread finds the mutex taken; `unlock` is what it is told when it unlocks what it does not hold.
static void is_taken(pthread_mutex_t *m, int unlock) {
    struct tried t = {.m = m};
    pthread_t thread;
    if (unlock == 0) return; // It would unlock it.
    IS(pthread_create(&thread, NULL, other, &t), 0);
    IS(pthread_join(thread, NULL), 0);
    IS(t.trylock, EBUSY);
    IS(t.timed, ETIMEDOUT);
    IS(t.clocked, ETIMEDOUT);
    IS(t.unlock, unlock);
}

static void *try_only(void *arg) {
    return (void *)(long)pthread_mutex_trylock(arg);
}

static int other_tries(pthread_mutex_t *m) {
    pthread_t thread;
    void *answer;
    IS(pthread_create(&thread, NULL, try_only, m), 0);
    IS(pthread_join(thread, &answer), 0);
    return (int)(long)answer;
}

static void normal(pthread_mutex_t *m) {
    struct timespec past = {0, 0}, bad = {0, 1000000000}, before = {-5, 0};
    IS(pthread_mutex_lock(m), 0);
    IS(pthread_mutex_trylock(m), EBUSY);
    IS(other_tries(m), EBUSY);
    IS(pthread_mutex_timedlock(m, &past), ETIMEDOUT);
    IS(pthread_mutex_timedlock(m, &before), ETIMEDOUT);
    IS(pthread_mutex_timedlock(m, &bad), EINVAL);
    IS(pthread_mutex_clocklock(m, CLOCK_PROCESS_CPUTIME_ID, &past), EINVAL);
    IS(pthread_mutex_destroy(m), EBUSY);
    IS(pthread_mutex_unlock(m), 0);
    // A free mutex is taken whatever the time says.
    IS(pthread_mutex_timedlock(m, &past), 0);
    IS(pthread_mutex_unlock(m), 0);
    IS(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &past), 0);
    IS(pthread_mutex_unlock(m), 0);
}

static void recursive(pthread_mutex_t *m) {
    for (int i = 0; i < 3; i++) IS(pthread_mutex_lock(m), 0);
    IS(pthread_mutex_trylock(m), 0);
    struct timespec past = {0, 0};
    IS(pthread_mutex_timedlock(m, &past), 0);
    is_taken(m, EPERM);
    IS(pthread_mutex_destroy(m), EBUSY);
    for (int i = 0; i < 5; i++) {
        IS(other_tries(m), EBUSY);
        IS(pthread_mutex_unlock(m), 0);
    }
    IS(pthread_mutex_unlock(m), EPERM);
}

static void errorcheck(pthread_mutex_t *m) {
    struct timespec soon = after(CLOCK_REALTIME, 1000);
    IS(pthread_mutex_lock(m), 0);
    IS(pthread_mutex_lock(m), EDEADLK);
    IS(pthread_mutex_timedlock(m, &soon), EDEADLK);
    IS(pthread_mutex_trylock(m), EBUSY);
    is_taken(m, EPERM);
    IS(pthread_mutex_unlock(m), 0);
    IS(pthread_mutex_unlock(m), EPERM);
}

static void *die_with_it(void *arg) {
    IS(pthread_mutex_lock(arg), 0);
    return NULL;
}

static pthread_mutex_t by_macro = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive_by_macro = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t errorcheck_by_macro = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive_by_macro = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;

int main(void) {
    pthread_mutex_t m;
    errno = 77;
    normal(&by_macro);
    recursive(&recursive_by_macro);
    errorcheck(&errorcheck_by_macro);
    normal(&adaptive_by_macro);
    // Zeroed memory is a normal mutex.
    pthread_mutex_t *zeroed = calloc(1, sizeof *zeroed);
    normal(zeroed);
    free(zeroed);
    m = of_kind(PTHREAD_MUTEX_NORMAL, 0, 0, 0), normal(&m);
    // In a packed structure: C does not allow it, and with glibc it works.
    static char packed[52] __attribute__((aligned(8)));
    normal((pthread_mutex_t *)(packed + 4));
    // Destroyed, then initialised again as another kind, in the same place.
    IS(pthread_mutex_destroy(&m), 0);
    IS(pthread_mutex_lock(&m), EINVAL);
    m = of_kind(PTHREAD_MUTEX_RECURSIVE, 0, 0, 0), recursive(&m);
    IS(pthread_mutex_destroy(&m), 0);
    m = of_kind(PTHREAD_MUTEX_ERRORCHECK, 0, 0, 0), errorcheck(&m);
    m = of_kind(PTHREAD_MUTEX_ADAPTIVE_NP, 0, 0, 0), normal(&m);
    // Mutexes that glibc serves keep glibc's meaning.
    m = of_kind(PTHREAD_MUTEX_NORMAL, 0, 1, 0);
    IS(pthread_mutex_lock(&m), 0);
    IS(other_tries(&m), EBUSY);
    IS(pthread_mutex_unlock(&m), 0);
    pthread_mutex_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    *shared = of_kind(PTHREAD_MUTEX_RECURSIVE, 0, 0, 1), recursive(shared);
    m = of_kind(PTHREAD_MUTEX_NORMAL, 1, 0, 0);
    pthread_t thread;
    IS(pthread_create(&thread, NULL, die_with_it, &m), 0);
    IS(pthread_join(thread, NULL), 0);
    IS(pthread_mutex_lock(&m), EOWNERDEAD);
    IS(pthread_mutex_consistent(&m), 0);
    IS(pthread_mutex_unlock(&m), 0);
    IS(pthread_mutex_destroy(&m), 0);
    // One thread holds a thousand mutexes at once.
    pthread_mutex_t *many = calloc(1000, sizeof *many);
    for (int i = 0; i < 1000; i++) IS(pthread_mutex_lock(&many[i]), 0);
    for (int i = 0; i < 1000; i++) IS(pthread_mutex_unlock(&many[(i * 7) % 1000]), 0);
    for (int i = 0; i < 1000; i++) IS(pthread_mutex_trylock(&many[i]), 0);
    CHECK(errno == 77);
    puts("ok");
    return 0;
}
