/* What each source of this folder exports: its queues of 64-bit items, in the order in which src/foreign.rs names them. */
#include <stddef.h>
#include <stdint.h>

struct peer {
    /* Makes a queue for `capacity` items, a power of two; NULL if it cannot be made. */
    void *(*make)(size_t capacity);
    /* Puts an item in, or takes one out. Returns 0 if the queue is full or empty; a queue that waits does not return 0. */
    int (*put)(void *queue, uint64_t item);
    int (*get)(void *queue, uint64_t *item);
    /* Frees the queue. */
    void (*end)(void *queue);
};
