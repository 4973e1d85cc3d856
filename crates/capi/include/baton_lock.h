/* A lock of your own for unmodified programs: baton run --lock ./libmylock.so:mylock -- ./app
 *
 * The shared library defines one `struct baton_lock_plugin` for each lock, under the name behind the colon:
 *
 *     const struct baton_lock_plugin mylock = {
 *         .abi = BATON_LOCK_ABI, .what = "my lock", .size = sizeof(struct mylock), .align = _Alignof(struct mylock),
 *         .init = my_init, .lock = my_lock, .trylock = my_trylock, .unlock = my_unlock,
 *     };
 *
 * Build it with `cc -O2 -shared -fPIC`; nothing of Baton is linked. The library is loaded into the program before `main`, and
 * its own calls of pthread functions go to Baton as the program's do: a lock must not lock a pthread mutex. Locks are never
 * destroyed: Baton keeps a free lock for the next mutex that is taken, for as long as the process runs.
 */
#ifndef BATON_LOCK_H
#define BATON_LOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. A library of another version is refused. */
#define BATON_LOCK_ABI 1

/* The largest size of a lock, and its largest alignment. A lock lies in memory of Baton, not in the program's mutex. */
#define BATON_LOCK_SIZE 1024
#define BATON_LOCK_ALIGN 128

struct baton_lock_plugin {
    /* BATON_LOCK_ABI. */
    uint32_t abi;
    /* 0. */
    uint32_t reserved;
    /* One line: how it works. May be null. */
    const char *what;
    /* Bytes of a lock, at most BATON_LOCK_SIZE, and its alignment, a power of two of at most BATON_LOCK_ALIGN. */
    size_t size;
    size_t align;
    /* Makes a free lock of memory that is all zeros. The lock may be moved before it is first used: no pointers into itself. */
    void (*init)(void *lock);
    /* Takes the lock; called by a thread that does not hold it. */
    void (*lock)(void *lock);
    /* Takes the lock if it is free, without waiting: 1 if it was taken, 0 if not. */
    int (*trylock)(void *lock);
    /* Releases the lock. Called while the lock is held: by the thread that took it, or, for a mutex of type normal, perhaps by
     * another thread. It must touch nothing of the lock after the step that frees it. */
    void (*unlock)(void *lock);
    /* Takes the lock before the deadline, which is a time of `clock` (CLOCK_REALTIME or CLOCK_MONOTONIC). Returns 1 if it was
     * taken, 0 if the deadline passed first. May be null: then `trylock` is called until the deadline. */
    int (*timedlock)(void *lock, clockid_t clock, const struct timespec *deadline);
};

#ifdef __cplusplus
}
#endif

#endif
