/* DPDK's rte_ring in the modes for many threads and for one on each side. The ring lies in memory of this program, so that no
 * environment of DPDK is started. */
#include "peer.h"

#include <rte_ring.h>
#include <stdlib.h>

static void *make(size_t capacity, unsigned flags) {
    /* RING_F_EXACT_SZ doubles the places, so that all `capacity` can be used. */
    ssize_t bytes = rte_ring_get_memsize((unsigned)capacity * 2);
    if (bytes < 0) return NULL;
    struct rte_ring *ring = aligned_alloc(128, ((size_t)bytes + 127) / 128 * 128);
    if (ring != NULL && rte_ring_init(ring, "peer", (unsigned)capacity, flags | RING_F_EXACT_SZ) != 0) {
        free(ring);
        return NULL;
    }
    return ring;
}
static void *make_many(size_t capacity) { return make(capacity, 0); }
static void *make_one(size_t capacity) { return make(capacity, RING_F_SP_ENQ | RING_F_SC_DEQ); }
static int put_many(void *ring, uint64_t item) { return rte_ring_mp_enqueue(ring, (void *)item) == 0; }
static int get_many(void *ring, uint64_t *item) { return rte_ring_mc_dequeue(ring, (void **)item) == 0; }
static int put_one(void *ring, uint64_t item) { return rte_ring_sp_enqueue(ring, (void *)item) == 0; }
static int get_one(void *ring, uint64_t *item) { return rte_ring_sc_dequeue(ring, (void **)item) == 0; }

const struct peer peers[] = {
    { make_many, put_many, get_many, free },
    { make_one, put_one, get_one, free },
};
