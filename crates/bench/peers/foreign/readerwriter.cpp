// moodycamel's queues for one producer and one consumer: ReaderWriterQueue, whose try_enqueue does not grow it, and the circular
// buffer that waits on both sides.
extern "C" {
#include "peer.h"
}

#include <readerwriterqueue/readerwritercircularbuffer.h>
#include <readerwriterqueue/readerwriterqueue.h>

using Plain = moodycamel::ReaderWriterQueue<uint64_t>;
using Waits = moodycamel::BlockingReaderWriterCircularBuffer<uint64_t>;

template <class Q> void *make(size_t capacity) { return new Q(capacity); }
template <class Q> void end(void *queue) { delete static_cast<Q *>(queue); }
static int put(void *queue, uint64_t item) { return static_cast<Plain *>(queue)->try_enqueue(item); }
static int get(void *queue, uint64_t *item) { return static_cast<Plain *>(queue)->try_dequeue(*item); }
static int wait_put(void *queue, uint64_t item) {
    static_cast<Waits *>(queue)->wait_enqueue(item);
    return 1;
}
static int wait_get(void *queue, uint64_t *item) {
    static_cast<Waits *>(queue)->wait_dequeue(*item);
    return 1;
}

extern "C" const peer peers[] = {
    { make<Plain>, put, get, end<Plain> },
    { make<Waits>, wait_put, wait_get, end<Waits> },
};
