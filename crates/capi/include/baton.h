/* baton.h: Baton's locks, barriers and queues for C and C++, and markers for its profiler. <baton.hpp> has the objects of
 * the first part as C++ classes.
 *
 * The parts are independent:
 *   - locks, barriers and queues: link with libbaton (pkg-config --cflags --libs baton; CMake: find_package(Baton));
 *   - markers: need no library. They take effect only under `baton profile`, or as a progress point of `baton try`.
 *
 * Functions that can fail report it in their result, as each comment says. After NULL, -1, EINVAL and ENOTSUP,
 * baton_last_error() gives the reason.
 */
#ifndef BATON_H
#define BATON_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct timespec; /* strict C99 headers do not declare it; POSIX does */

#define BATON_VERSION_MAJOR 0
#define BATON_VERSION_MINOR 1

#ifdef __cplusplus
extern "C" {
#endif

/* ---- objects in your memory ----------------------------------------------------------------------------------- */

/* The objects of this part begin as a constant, lie in your memory, and never allocate. Their waiters learn how long waits
 * last, and sleep when that is cheaper (the policy "adaptive"). An object may be freed as soon as no thread uses it, also
 * while another thread is inside the call that released it. An object must not move while it is used, and is not shared
 * between processes. Deadlines are absolute times on `clock`, CLOCK_MONOTONIC or CLOCK_REALTIME; calls with a deadline
 * return EINVAL for another clock or an invalid time. */

/* A mutex, without an order among waiters. Only the thread that holds it may unlock it. */
typedef struct baton_mutex { uint32_t word; } baton_mutex;
#define BATON_MUTEX_INIT { 0 }

void baton_mutex_lock(baton_mutex *mutex);
int baton_mutex_trylock(baton_mutex *mutex); /* 0 or EBUSY */
int baton_mutex_timedlock(baton_mutex *mutex, int clock, const struct timespec *until); /* 0, ETIMEDOUT or EINVAL */
void baton_mutex_unlock(baton_mutex *mutex);

/* A reader-writer lock in which readers and writers take turns: readers that come while a writer waits let it go first, and
 * may then go before the writers that wait. At most 131,072 readers at a time; one more stops the program. */
typedef struct baton_rwlock { uint32_t word; } baton_rwlock;
#define BATON_RWLOCK_INIT { 0 }

void baton_rwlock_rdlock(baton_rwlock *lock);
int baton_rwlock_tryrdlock(baton_rwlock *lock); /* 0 or EBUSY */
int baton_rwlock_timedrdlock(baton_rwlock *lock, int clock, const struct timespec *until); /* 0, ETIMEDOUT or EINVAL */
/* Takes a read although a writer waits: for a thread that may have a read already. */
void baton_rwlock_rdlock_recursive(baton_rwlock *lock);
void baton_rwlock_rdunlock(baton_rwlock *lock);
void baton_rwlock_wrlock(baton_rwlock *lock);
int baton_rwlock_trywrlock(baton_rwlock *lock); /* 0 or EBUSY */
int baton_rwlock_timedwrlock(baton_rwlock *lock, int clock, const struct timespec *until); /* 0, ETIMEDOUT or EINVAL */
void baton_rwlock_wrunlock(baton_rwlock *lock);
/* Takes a read with the right to write later. One thread at a time can have that right; others may read beside it. */
void baton_rwlock_uplock(baton_rwlock *lock);
int baton_rwlock_tryuplock(baton_rwlock *lock); /* 0 or EBUSY */
void baton_rwlock_upunlock(baton_rwlock *lock);
/* Makes a read with the right to write a write, when the other readers have left. */
void baton_rwlock_upgrade(baton_rwlock *lock);
int baton_rwlock_tryupgrade(baton_rwlock *lock); /* 0, or EBUSY and the thread goes on reading */
/* The first makes a write a read, the second makes it a read with the right to write; no other thread writes in between. */
void baton_rwlock_downgrade(baton_rwlock *lock);
void baton_rwlock_downgrade_up(baton_rwlock *lock);

/* A condition variable. All threads that wait at the same time must use the same mutex. */
typedef struct baton_cond { uintptr_t word; } baton_cond;
#define BATON_COND_INIT { 0 }

void baton_cond_wait(baton_cond *cond, baton_mutex *mutex);
/* 0, ETIMEDOUT, or EINVAL, and then the mutex was not released. */
int baton_cond_timedwait(baton_cond *cond, baton_mutex *mutex, int clock, const struct timespec *until);
void baton_cond_signal(baton_cond *cond); /* wakes the thread that has waited longest */
void baton_cond_broadcast(baton_cond *cond); /* wakes all, each when the one before it has the mutex */

/* An initialization that one thread runs, while the others wait for it. */
typedef struct baton_once { uint32_t word; } baton_once;
#define BATON_ONCE_INIT { 0 }

void baton_once_call(baton_once *once, void (*init)(void *argument), void *argument);
int baton_once_done(const baton_once *once); /* whether it is done */

/* A semaphore with up to 2^31 - 1 permits. */
typedef struct baton_semaphore { uint32_t word; } baton_semaphore;
#define BATON_SEMAPHORE_INIT(permits) { permits }

void baton_semaphore_take(baton_semaphore *semaphore);
int baton_semaphore_trytake(baton_semaphore *semaphore); /* 0 or EAGAIN */
/* 0, ETIMEDOUT or EINVAL. */
int baton_semaphore_timedtake(baton_semaphore *semaphore, int clock, const struct timespec *until);
int baton_semaphore_post(baton_semaphore *semaphore); /* 0 or EOVERFLOW */

/* A barrier that needs no index: the same `threads` threads meet again and again, and no other thread calls it. Its
 * address is a multiple of 128, which memory of malloc need not have: use aligned_alloc(128, sizeof(baton_meeting)). Other
 * barriers are below. */
typedef struct __attribute__((aligned(128))) baton_meeting {
    uint64_t arrived;
    uint32_t threads;
    uint32_t unused[29];
    uint32_t word;
    uint32_t unused_too[31];
} baton_meeting;
#define BATON_MEETING_INIT(threads) { 0, threads, { 0 }, 0, { 0 } }

int baton_meeting_wait(baton_meeting *meeting); /* 1 in one thread, 0 in the others; -1 if it is for no threads */

/* A queue of items of one size, first in first out, with any number of threads on each side. It has one mutex: a thread that
 * loses its CPU inside of a call holds up the others. Items are copied. Queues without a mutex are in the next part. */
typedef struct baton_queue {
    baton_mutex mutex;
    baton_cond items, room;
    void *storage;
    size_t item_size, capacity, first, count;
    uint32_t closed;
} baton_queue;

/* A queue for exactly as many items as the array `storage` has. */
#define BATON_QUEUE_INIT(storage) BATON_QUEUE_INIT_AT(storage, sizeof (storage)[0], sizeof(storage) / sizeof (storage)[0])
/* A queue for `capacity` items of `item_size` bytes in the memory at `storage`. */
#define BATON_QUEUE_INIT_AT(storage, item_size, capacity) \
    { BATON_MUTEX_INIT, BATON_COND_INIT, BATON_COND_INIT, storage, item_size, capacity, 0, 0, 0 }

/* These copy an item in. They return 0, EPIPE if the queue is closed, EAGAIN if it is full (try), ETIMEDOUT (timed), or
 * EINVAL for a queue without storage, capacity or size. */
int baton_queue_put(baton_queue *queue, const void *item);
int baton_queue_tryput(baton_queue *queue, const void *item);
int baton_queue_timedput(baton_queue *queue, const void *item, int clock, const struct timespec *until);
/* Copies all items in, waiting for room, and writes to `done` (which may be NULL) how many went in. */
int baton_queue_put_all(baton_queue *queue, const void *items, size_t count, size_t *done);
/* These copy the oldest item out. They return 0, EPIPE if the queue is closed and empty, EAGAIN if it is empty (try),
 * ETIMEDOUT (timed), or EINVAL as above. */
int baton_queue_get(baton_queue *queue, void *item);
int baton_queue_tryget(baton_queue *queue, void *item);
int baton_queue_timedget(baton_queue *queue, void *item, int clock, const struct timespec *until);
/* Copies up to `count` of the oldest items out, waiting for the first, and writes to `done` how many came out. */
int baton_queue_get_some(baton_queue *queue, void *items, size_t count, size_t *done);
/* Closes the queue: no further item goes in, the items in it can still be got, and waiting threads return. Returns 0. */
int baton_queue_close(baton_queue *queue);
size_t baton_queue_length(baton_queue *queue); /* number of items; may be stale at once */
int baton_queue_closed(baton_queue *queue); /* whether the queue is closed */

/* Moves an item from one place to another, which has none. After it the first place has no item. */
typedef void (*baton_move)(void *to, void *from);

/* As put and get, but `by` moves the item into its place, or out of its place to `to`. It is called once if the call returns 0,
 * and not at all otherwise; it holds up the other threads of the queue, and must not use the queue. */
int baton_queue_put_by(baton_queue *queue, void *item, baton_move by);
int baton_queue_tryput_by(baton_queue *queue, void *item, baton_move by);
int baton_queue_timedput_by(baton_queue *queue, void *item, baton_move by, int clock, const struct timespec *until);
int baton_queue_get_by(baton_queue *queue, void *to, baton_move by);
int baton_queue_tryget_by(baton_queue *queue, void *to, baton_move by);
int baton_queue_timedget_by(baton_queue *queue, void *to, baton_move by, int clock, const struct timespec *until);
/* Tells the profiler that the queue's memory may become another queue. It frees nothing, and is not needed without the profiler. */
void baton_queue_end(baton_queue *queue);

/* ---- queues in memory of their own ---------------------------------------------------------------------------- */

/* The queues of this part have no mutex inside, and allocate. Their waiters wait like those above. `new` and `open` return NULL
 * if the object cannot be made. After NULL and EINVAL, baton_last_error() says why. */

/* A queue for one producer thread and one consumer thread, for exactly `capacity` items. It lends its places: the producer builds
 * items in them, and the consumer looks at items there. An item takes the next power of two of its size, at least 16 bytes. */
typedef struct baton_spsc baton_spsc;

baton_spsc *baton_spsc_new(size_t item_size, size_t capacity);
void baton_spsc_free(baton_spsc *queue); /* forgets the bytes of the items in it */

/* These copy an item in. They return 0, EPIPE if the queue is closed, EAGAIN if it is full (try), ETIMEDOUT or EINVAL (timed). */
int baton_spsc_put(baton_spsc *queue, const void *item);
int baton_spsc_tryput(baton_spsc *queue, const void *item);
int baton_spsc_timedput(baton_spsc *queue, const void *item, int clock, const struct timespec *until);
/* These copy the oldest item out. They return 0, EPIPE if the queue is closed and empty, EAGAIN if it is empty (try), ETIMEDOUT
 * or EINVAL (timed). */
int baton_spsc_get(baton_spsc *queue, void *item);
int baton_spsc_tryget(baton_spsc *queue, void *item);
int baton_spsc_timedget(baton_spsc *queue, void *item, int clock, const struct timespec *until);

/* Places of items: `first_count` of them at `first`, and then `second_count` at `second`, where a ring continues at its beginning.
 * Each begins `stride` bytes behind the one before. */
typedef struct baton_places {
    void *first;
    size_t first_count;
    void *second;
    size_t second_count, stride;
} baton_places;

static inline size_t baton_places_count(const baton_places *places) { return places->first_count + places->second_count; }
/* Returns place `i`, counted from 0. */
static inline void *baton_place(const baton_places *places, size_t i) {
    return i < places->first_count ? (char *)places->first + i * places->stride
                                   : (char *)places->second + (i - places->first_count) * places->stride;
}

/* These lend up to `most` free places to the producer, and wait while there is none. Their results are those of put. Nothing is
 * sent before the commit; places that are not committed are lent again. */
int baton_spsc_reserve(baton_spsc *queue, size_t most, baton_places *places);
int baton_spsc_tryreserve(baton_spsc *queue, size_t most, baton_places *places);
int baton_spsc_timedreserve(baton_spsc *queue, size_t most, baton_places *places, int clock, const struct timespec *until);
/* Sends the items in the first `count` places of the last reserve; the other places are not lent any more. Returns 0, EPIPE if the
 * queue is closed (nothing was sent), or EINVAL if fewer places are lent. */
int baton_spsc_commit(baton_spsc *queue, size_t count);
/* These lend the places of up to `most` of the oldest items to the consumer, and wait while there is none. Their results are those
 * of get. The items stay in the queue until they are released. */
int baton_spsc_peek(baton_spsc *queue, size_t most, baton_places *places);
int baton_spsc_trypeek(baton_spsc *queue, size_t most, baton_places *places);
int baton_spsc_timedpeek(baton_spsc *queue, size_t most, baton_places *places, int clock, const struct timespec *until);
/* Gives the first `count` places of the last peek back: their items are received, and the other places are not lent any more.
 * Returns 0, or EINVAL if fewer places are lent. */
int baton_spsc_release(baton_spsc *queue, size_t count);

/* Closes the queue: no further item goes in, the items in it can still be got, and waiting threads return. Returns 0. Any thread may
 * close, and ask for the length. */
int baton_spsc_close(baton_spsc *queue);
size_t baton_spsc_length(const baton_spsc *queue); /* number of items; may be stale at once */

/* A queue without a bound, with any number of threads on each side, first in first out. It allocates as it grows, and a drained
 * queue keeps the memory of 32 items. An item of more than 128 bytes is allocated by itself. */
typedef struct baton_unbounded baton_unbounded;

baton_unbounded *baton_unbounded_new(size_t item_size);
void baton_unbounded_free(baton_unbounded *queue); /* forgets the bytes of the items in it */
int baton_unbounded_put(baton_unbounded *queue, const void *item); /* 0, or EPIPE if the queue is closed */
/* These copy the oldest item out. Their results are those of baton_spsc_get. */
int baton_unbounded_get(baton_unbounded *queue, void *item);
int baton_unbounded_tryget(baton_unbounded *queue, void *item);
int baton_unbounded_timedget(baton_unbounded *queue, void *item, int clock, const struct timespec *until);
int baton_unbounded_close(baton_unbounded *queue); /* as baton_spsc_close */
size_t baton_unbounded_length(const baton_unbounded *queue);

/* A queue between processes, in a file that all of them map (/dev/shm is the usual folder). A process that is killed stops no
 * other, and at most its operation is lost. docs/reference/library.md has the details. */
typedef enum baton_process_kind {
    BATON_ONE_TO_ONE = 0, /* one sender and one receiver; when one ends, another may take its place */
    BATON_MANY_TO_MANY = 1 /* up to 4,096 senders and receivers */
} baton_process_kind;
typedef struct baton_process_sender baton_process_sender;
typedef struct baton_process_receiver baton_process_receiver;

/* Creates the file of an empty queue. Returns 0, EINVAL, or a code of errno.h such as EEXIST; baton_last_error() says why. */
int baton_process_queue_create(const char *path, int kind, size_t capacity, size_t item_size);
/* Opens an end, which one thread at a time may use. A forked child opens its own ends. */
baton_process_sender *baton_process_sender_open(const char *path);
baton_process_receiver *baton_process_receiver_open(const char *path);
/* Gives an end back; the queue stays open. */
void baton_process_sender_free(baton_process_sender *sender);
void baton_process_receiver_free(baton_process_receiver *receiver);
/* Closes the queue for all processes: no further item goes in, and waiting threads return. */
void baton_process_sender_close(const baton_process_sender *sender);
void baton_process_receiver_close(const baton_process_receiver *receiver);
size_t baton_process_sender_item_size(const baton_process_sender *sender);
size_t baton_process_receiver_item_size(const baton_process_receiver *receiver);
size_t baton_process_sender_capacity(const baton_process_sender *sender);
size_t baton_process_receiver_capacity(const baton_process_receiver *receiver);
/* A number of the queue's file, the same in all processes that have opened it. */
uint64_t baton_process_sender_id(const baton_process_sender *sender);
uint64_t baton_process_receiver_id(const baton_process_receiver *receiver);
/* These copy an item of `size` bytes in or out. They return 0, EPIPE if the queue is closed (and, to receive, empty), EAGAIN if it is
 * full or empty (try), EBUSY if another process is in the middle of a call (try), ETIMEDOUT (timed), EINVAL for another size than the
 * queue's, or EBADMSG if another program has written into the file. */
int baton_process_send(baton_process_sender *sender, const void *item, size_t size);
int baton_process_trysend(baton_process_sender *sender, const void *item, size_t size);
int baton_process_timedsend(baton_process_sender *sender, const void *item, size_t size, int clock, const struct timespec *until);
int baton_process_receive(baton_process_receiver *receiver, void *item, size_t size);
int baton_process_tryreceive(baton_process_receiver *receiver, void *item, size_t size);
int baton_process_timedreceive(baton_process_receiver *receiver, void *item, size_t size, int clock, const struct timespec *until);

/* A queue whose algorithm the user of the program chooses when it starts: `baton run --queue ring -- ./app`, or BATON_QUEUE=ring in
 * the environment; ring=64 gives it 64 places too. Without a choice the algorithm is spsc for one to one, and mpmc for many to many.
 * An algorithm for one producer and one consumer does not serve many to many: such a queue then stays as it is, and the program says
 * so. An item of more than 128 bytes is allocated by itself. */
typedef struct baton_choice baton_choice;

/* Makes an empty queue for exactly `capacity` items, unless the user asks for another number. The kind is BATON_ONE_TO_ONE, for one
 * producer thread and one consumer thread, or BATON_MANY_TO_MANY. */
baton_choice *baton_choice_new(int kind, size_t item_size, size_t capacity);
void baton_choice_free(baton_choice *queue); /* forgets the bytes of the items in it */
/* These copy an item in, or the oldest item out. Their results are those of baton_spsc_put and baton_spsc_get. */
int baton_choice_put(baton_choice *queue, const void *item);
int baton_choice_tryput(baton_choice *queue, const void *item);
int baton_choice_timedput(baton_choice *queue, const void *item, int clock, const struct timespec *until);
int baton_choice_get(baton_choice *queue, void *item);
int baton_choice_tryget(baton_choice *queue, void *item);
int baton_choice_timedget(baton_choice *queue, void *item, int clock, const struct timespec *until);
int baton_choice_close(baton_choice *queue); /* as baton_spsc_close */
size_t baton_choice_length(const baton_choice *queue);
size_t baton_choice_capacity(const baton_choice *queue);
const char *baton_choice_name(const baton_choice *queue); /* the algorithm, such as "ring"; lives as long as the queue */

/* ---- locks of all algorithms ---------------------------------------------------------------------------------- */

/* A lock; opaque. */
typedef struct baton_lock baton_lock;

/* All locks. `baton list locks` describes each, and what it cannot do. */
typedef enum baton_lock_kind {
    BATON_TAS = 0, /* test-and-set: every try is an atomic exchange */
    BATON_TTAS = 1, /* test-and-test-and-set: read until free, try, back off exponentially */
    BATON_TICKET = 2, /* take a number, wait until it is served */
    BATON_TICKET_PROP = 3, /* ticket lock; a waiter stays away in proportion to those before it */
    BATON_MCS = 4, /* queue lock: each waiter waits on its own flag */
    BATON_CLH = 5, /* queue lock: each waiter waits on the flag of the one in front */
    BATON_K42 = 6, /* MCS without a node to pass: the holder keeps its place in the lock itself */
    BATON_HEMLOCK = 9, /* queue lock of one word; each thread grants all of its locks by one cell of its own */
    BATON_1SPINNER = 18, /* queue lock: the next one polls the lock, each other watches a monitor of the one in front */
    BATON_HYBRID = 19, /* a plain mutex while few want it, 1spinner before it while many do */
    BATON_MCS_BARGING = 14, /* MCS queue before a word that any thread may take: no hand-off to a sleeper */
    BATON_CLH_BARGING = 15, /* CLH queue before a word that any thread may take: no hand-off to a sleeper */
    BATON_TICKET_BARGING = 16, /* ticket queue before a word that any thread may take: no hand-off to a sleeper */
    BATON_COHORT = 10, /* a ticket lock for each NUMA node under a global one, handed on inside the node up to 64 times */
    BATON_SPIN_PARK = 7, /* mutex: n tries (128), then sleep in the kernel */
    BATON_SPIN_PARK_WAKES = 11, /* the same, and every unlock wakes a sleeper */
    BATON_SPIN_PARK_ONCE = 12, /* the same, and who was woken has one try */
    BATON_SPIN_PARK_GRANTED = 17, /* mutex: n tries (128), then sleep in the kernel until an unlock grants it the lock */
    BATON_GOMP_MUTEX = 21, /* libgomp's mutex: reads up to n times (300,000) while the lock is held, then sleeps */
    BATON_ADAPTIVE = 13, /* mutex: up to n tries (100), fewer where waiters before needed few, then sleep in the kernel */
    BATON_FUTEX = 8, /* mutex of three states: sleep in the kernel at once */
    BATON_PLAIN = 20, /* mutex of three states whose waiters wait by any policy; an unlock is one subtraction */
    BATON_FAIR = 22 /* mutex: any thread may take it while it is free, until the oldest waiter has been passed over for 500 us */
} baton_lock_kind;

/* Makes a free lock, or returns NULL. `wait` is the policy by which waiters wait (`baton list waits`): "pause",
 * "spin-park", "futex", ...; a comma-separated list means the first policy that this machine has, NULL means the lock's
 * default. */
baton_lock *baton_lock_new(baton_lock_kind kind, const char *wait);

/* Makes a lock by name ("mcs", "ticket", ...), or returns NULL. `wait` is as for baton_lock_new(). */
baton_lock *baton_lock_new_named(const char *name, const char *wait);

/* Frees a lock that no thread holds or waits for. NULL is allowed. */
void baton_lock_free(baton_lock *lock);

/* Takes the lock. A thread that already holds it waits forever. */
void baton_lock_lock(baton_lock *lock);

/* Takes the lock if it is free. Returns 0, EBUSY if the lock is held, ENOTSUP if this kind of lock cannot be tried. */
int baton_lock_trylock(baton_lock *lock);

/* Takes the lock, or gives up at `until`, an absolute time on `clock` (CLOCK_MONOTONIC or CLOCK_REALTIME).
 * Returns 0, ETIMEDOUT, EINVAL for another clock or an invalid time, ENOTSUP if waiters of this kind of lock cannot give
 * up. */
int baton_lock_timedlock(baton_lock *lock, int clock, const struct timespec *until);

/* Releases the lock. Only the thread that holds it may do so. */
void baton_lock_unlock(baton_lock *lock);

/* Returns the name of the lock's kind. The string is valid until the lock is freed. */
const char *baton_lock_name(const baton_lock *lock);

/* ---- barriers ------------------------------------------------------------------------------------------------- */

/* A barrier; opaque. */
typedef struct baton_barrier baton_barrier;

/* Makes a barrier by name (`baton list barriers`) for `participants` threads, or returns NULL. `wait` is as for locks, but
 * NULL means "pause". */
baton_barrier *baton_barrier_new(const char *name, uint32_t participants, const char *wait);

/* Frees a barrier at which no thread waits. NULL is allowed. */
void baton_barrier_free(baton_barrier *barrier);

/* Arrives as participant `index` (counted from 0; each thread has its own) and waits for the others. Returns 1 in exactly
 * one of the threads, 0 in the others, -1 if there is no such participant. */
int baton_barrier_wait(baton_barrier *barrier, uint32_t index);

/* Arrives as participant `index` without waiting, and takes no further part: later episodes need only the other
 * participants. Returns 0, or -1 if the barrier cannot do this (`baton list barriers`: drops), if there is no such
 * participant, or if all have dropped out before. */
int baton_barrier_drop(baton_barrier *barrier, uint32_t index);

/* ---- errors --------------------------------------------------------------------------------------------------- */

/* Returns, in words, why the calling thread's last failed call failed, or "" if none has failed. The string is valid until
 * the thread's next failed call. */
const char *baton_last_error(void);

/* ---- markers -------------------------------------------------------------------------------------------------- */

/* The markers call functions of the preload library, which are present only while the program is profiled. They are found
 * with dlsym, which is declared weak and under another name, so that neither <dlfcn.h> nor a library is needed. (Weak
 * references to the functions themselves would resolve to NULL in a program that is linked without -pie.) */
typedef void (*baton__function)(void);
#if defined(__GNUC__) && defined(__ELF__)
extern baton__function baton__dlsym(void *handle, const char *name) __asm__("dlsym") __attribute__((weak));

static inline void baton__absent(void) {}

static inline baton__function baton__find(const char *name, baton__function *cache) {
    baton__function found = __atomic_load_n(cache, __ATOMIC_ACQUIRE);
    if (found == NULL) {
        found = baton__dlsym != NULL ? baton__dlsym(NULL, name) : NULL;
        if (found == NULL) found = baton__absent;
        __atomic_store_n(cache, found, __ATOMIC_RELEASE);
    }
    return found == baton__absent ? NULL : found;
}
#else
static inline baton__function baton__find(const char *name, baton__function *cache) {
    (void)name, (void)cache;
    return NULL;
}
#endif

/* Marks the beginning or the end of a region of interest, to which the report can be restricted. Regions of the same name
 * do not nest. */
static inline void baton_roi_begin(const char *name) {
    static baton__function cache;
    baton__function found = baton__find("baton_preload_roi_begin", &cache);
    if (found != NULL) ((void (*)(const char *))found)(name);
}

static inline void baton_roi_end(const char *name) {
    static baton__function cache;
    baton__function found = baton__find("baton_preload_roi_end", &cache);
    if (found != NULL) ((void (*)(const char *))found)(name);
}

/* Marks a point in time, shown on the timeline with the name and a value of 48 bits that the program chooses. */
static inline void baton_marker(const char *name, uint64_t value) {
    static baton__function cache;
    baton__function found = baton__find("baton_preload_marker", &cache);
    if (found != NULL) ((void (*)(const char *, uint64_t))found)(name, value);
}

#ifdef __cplusplus
} /* extern "C" */

/* A lock that works with std::lock_guard and std::unique_lock. */
namespace baton {
class mutex {
public:
    explicit mutex(baton_lock_kind kind = BATON_SPIN_PARK, const char *wait = nullptr) : lock_(baton_lock_new(kind, wait)) {}
    ~mutex() { baton_lock_free(lock_); }
    mutex(const mutex &) = delete;
    mutex &operator=(const mutex &) = delete;

    /* Returns whether the lock could be made; if not, baton_last_error() says why. */
    bool valid() const { return lock_ != nullptr; }
    void lock() { baton_lock_lock(lock_); }
    bool try_lock() { return baton_lock_trylock(lock_) == 0; }
    void unlock() { baton_lock_unlock(lock_); }

private:
    baton_lock *lock_;
};
} /* namespace baton */
#endif

#endif /* BATON_H */
