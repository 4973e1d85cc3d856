/* A lock for unmodified programs: a flag in one word, whose waiters sleep in the kernel.
 *
 *     cc -O2 -shared -fPIC -I ../../crates/capi/include -o libmylock.so plugin.c
 *     baton run --lock ./libmylock.so:mylock -- ./app
 */
#define _GNU_SOURCE
#include <baton_lock.h>
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* 0 free, 1 held, 2 held with sleepers. */
struct mylock {
    uint32_t state;
};

static void init(void *at) {
    ((struct mylock *)at)->state = 0;
}

static int try_lock(void *at) {
    uint32_t free = 0;
    return __atomic_compare_exchange_n(&((struct mylock *)at)->state, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void lock(void *at) {
    uint32_t *state = &((struct mylock *)at)->state;
    int error = errno;
    if (try_lock(at))
        return;
    while (__atomic_exchange_n(state, 2, __ATOMIC_ACQUIRE) != 0)
        syscall(SYS_futex, state, FUTEX_WAIT_PRIVATE, 2, NULL);
    /* Restores errno, because pthread_mutex_lock must not change it. */
    errno = error;
}

static void unlock(void *at) {
    uint32_t *state = &((struct mylock *)at)->state;
    int error = errno;
    if (__atomic_exchange_n(state, 0, __ATOMIC_RELEASE) == 2)
        syscall(SYS_futex, state, FUTEX_WAKE_PRIVATE, 1);
    errno = error;
}

const struct baton_lock_plugin mylock = {
    .abi = BATON_LOCK_ABI,
    .what = "a flag, and waiters that sleep in the kernel",
    .size = sizeof(struct mylock),
    .align = _Alignof(struct mylock),
    .init = init,
    .lock = lock,
    .trylock = try_lock,
    .unlock = unlock,
};
