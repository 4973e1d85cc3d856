/* Concurrency Kit's ck_ring for many threads and for one on each side. A ring holds one item less than it has places. */
#include "peer.h"

#include <ck_ring.h>
#include <stdlib.h>

struct queue {
    ck_ring_t ring;
    ck_ring_buffer_t *places;
};

static void end(void *queue) {
    free(((struct queue *)queue)->places);
    free(queue);
}

static void *make(size_t capacity) {
    struct queue *queue = aligned_alloc(128, (sizeof *queue + 127) / 128 * 128);
    if (queue == NULL) return NULL;
    queue->places = calloc(capacity * 2, sizeof *queue->places);
    if (queue->places == NULL) {
        free(queue);
        return NULL;
    }
    ck_ring_init(&queue->ring, (unsigned)capacity * 2);
    return queue;
}

#define OF(mode) \
    static int put_##mode(void *to, uint64_t item) { \
        struct queue *queue = to; \
        return ck_ring_enqueue_##mode(&queue->ring, queue->places, (void *)item); \
    } \
    static int get_##mode(void *from, uint64_t *item) { \
        struct queue *queue = from; \
        return ck_ring_dequeue_##mode(&queue->ring, queue->places, item); \
    }
OF(mpmc)
OF(spsc)

const struct peer peers[] = {
    { make, put_mpmc, get_mpmc, end },
    { make, put_spsc, get_spsc, end },
};
