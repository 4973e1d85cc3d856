/* Four threads allocate from a heap whose lock is made of futex(2) directly, as the locks of musl's malloc or of a language's runtime are.
   Right answer: heap_lock, or "cannot tell" with the calls of that futex. With the cure, a thread takes a block only every 16th time. */
#define _GNU_SOURCE
#include "cases.h"
#include <linux/futex.h>
#include <sys/syscall.h>

static int heap_lock;
static uint64_t heap;

static __attribute__((noinline)) void lock(int *word)
{
    int free = 0;
    if (__atomic_compare_exchange_n(word, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    while (__atomic_exchange_n(word, 2, __ATOMIC_ACQUIRE) != 0)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static __attribute__((noinline)) void unlock(int *word)
{
    if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) == 2)
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static __attribute__((noinline)) uint64_t take_block(uint64_t own)
{
    lock(&heap_lock);
    uint64_t block = heap = work(heap + own, 10000);
    unlock(&heap_lock);
    return block;
}

static void *allocate(void *number)
{
    uint64_t own = (uintptr_t)number, kept = 0;
    for (int i = 0; i < 4000; i++) {
#ifdef CURE
        if (i % 16 == 0)
#endif
            kept = take_block(own);
        own = work(own + kept, 1000);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    in_threads(4, allocate, argc, argv);
    return heap == 0;
}
