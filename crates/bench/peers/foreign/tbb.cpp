// oneTBB's concurrent_bounded_queue, which waits on both sides.
extern "C" {
#include "peer.h"
}

#include <oneapi/tbb/concurrent_queue.h>

using Queue = oneapi::tbb::concurrent_bounded_queue<uint64_t>;

static void *make(size_t capacity) {
    auto *queue = new Queue;
    queue->set_capacity(static_cast<Queue::size_type>(capacity));
    return queue;
}
static int put(void *queue, uint64_t item) {
    static_cast<Queue *>(queue)->push(item);
    return 1;
}
static int get(void *queue, uint64_t *item) {
    static_cast<Queue *>(queue)->pop(*item);
    return 1;
}
static void end(void *queue) { delete static_cast<Queue *>(queue); }

extern "C" const peer peers[] = {
    { make, put, get, end },
};
