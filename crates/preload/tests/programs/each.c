// Mutexes that are told apart: two by their symbols, one by the call that initialises it, one by the call that takes it first.
// `where`: prints where these are in the file. `meet`: condition variables with a mutex of each kind. Else THREADS threads take
// each of them ROUNDS times.
#include "check.h"

enum { THREADS = 4, ROUNDS = 500, MEETINGS = 50 };

static struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t all;
    int here, over;
} hot = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0}, cold = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
static pthread_mutex_t *made, *zeroed;
static long total[4];

// The linker knows where these sections begin and end.
__attribute__((noinline, section("makes"))) static void make(pthread_mutex_t *m, const pthread_mutexattr_t *attributes) {
    IS(pthread_mutex_init(m, attributes), 0);
}
__attribute__((noinline, section("takes"))) static void take(pthread_mutex_t *m) {
    IS(pthread_mutex_lock(m), 0);
}
extern char __executable_start, __start_makes, __stop_makes, __start_takes, __stop_takes;

static void *counts(void *arg) {
    (void)arg;
    pthread_mutex_t *all[4] = {&hot.lock, &cold.lock, made, zeroed};
    for (int i = 0; i < ROUNDS; i++)
        for (int m = 0; m < 4; m++) {
            if (all[m] == zeroed) take(zeroed);
            else while (pthread_mutex_trylock(all[m]) != 0) {
                struct timespec t = after(CLOCK_REALTIME, 100000);
                if (pthread_mutex_timedlock(all[m], &t) == 0) break;
            }
            total[m]++;
            IS(pthread_mutex_unlock(all[m]), 0);
        }
    return NULL;
}

// The last to come wakes all: with the mutex held, and without.
static void meet(struct meeting *at, int outside) {
    IS(pthread_mutex_lock(&at->lock), 0);
    int over = at->over, last = ++at->here == THREADS;
    if (last) at->here = 0, at->over++;
    if (last && !outside) IS(pthread_cond_broadcast(&at->all), 0);
    while (at->over == over) IS(pthread_cond_wait(&at->all, &at->lock), 0);
    IS(pthread_mutex_unlock(&at->lock), 0);
    if (last && outside) IS(pthread_cond_broadcast(&at->all), 0);
}

static void *meets(void *arg) {
    (void)arg;
    for (int i = 0; i < MEETINGS; i++) meet(i % 2 ? &hot : &cold, i / 2 % 2);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "where") == 0) {
        const char *base = &__executable_start;
        printf("%tx %tx %tx %tx ", (char *)&hot - base, (char *)(&hot + 1) - base, (char *)&cold - base, (char *)(&cold + 1) - base);
        printf("%tx %tx %tx %tx\n", &__start_makes - base, &__stop_makes - base, &__start_takes - base, &__stop_takes - base);
        return 0;
    }
    pthread_mutexattr_t recursive, shared;
    IS(pthread_mutexattr_init(&recursive), 0);
    IS(pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE), 0);
    made = calloc(2, sizeof *made);
    zeroed = calloc(1, sizeof *zeroed);
    make(made, &recursive);
    // Taken again by its owner, destroyed, and made anew in the same place.
    IS(pthread_mutex_lock(made), 0);
    IS(pthread_mutex_lock(made), 0);
    IS(pthread_mutex_unlock(made), 0);
    IS(pthread_mutex_destroy(made), EBUSY);
    IS(pthread_mutex_unlock(made), 0);
    IS(pthread_mutex_unlock(made), EPERM);
    IS(pthread_mutex_destroy(made), 0);
    IS(pthread_mutex_lock(made), EINVAL);
    make(made, NULL);
    // A mutex that other processes may use stays glibc's, whichever call initialises it.
    IS(pthread_mutexattr_init(&shared), 0);
    IS(pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED), 0);
    make(made + 1, &shared);
    IS(pthread_mutex_lock(made + 1), 0);
    IS(pthread_mutex_unlock(made + 1), 0);
    // A mutex that no thread has locked can be destroyed.
    pthread_mutex_t unused = PTHREAD_MUTEX_INITIALIZER;
    IS(pthread_mutex_destroy(&unused), 0);

    pthread_t threads[THREADS];
    void *(*body)(void *) = argc > 1 ? meets : counts;
    for (int i = 0; i < THREADS; i++) IS(pthread_create(&threads[i], NULL, body, NULL), 0);
    for (int i = 0; i < THREADS; i++) IS(pthread_join(threads[i], NULL), 0);
    for (int m = 0; m < 4 && argc == 1; m++) CHECK(total[m] == THREADS * ROUNDS);
    puts("ok");
    return 0;
}
