// moodycamel's ConcurrentQueue, and its form that waits. Neither has a bound: `capacity` is what they allocate first.
extern "C" {
#include "peer.h"
}

#include <concurrentqueue/blockingconcurrentqueue.h>

using Plain = moodycamel::ConcurrentQueue<uint64_t>;
using Waits = moodycamel::BlockingConcurrentQueue<uint64_t>;

template <class Q> void *make(size_t capacity) { return new Q(capacity); }
template <class Q> int put(void *queue, uint64_t item) { return static_cast<Q *>(queue)->enqueue(item); }
template <class Q> void end(void *queue) { delete static_cast<Q *>(queue); }
static int get(void *queue, uint64_t *item) { return static_cast<Plain *>(queue)->try_dequeue(*item); }
static int wait(void *queue, uint64_t *item) {
    static_cast<Waits *>(queue)->wait_dequeue(*item);
    return 1;
}

extern "C" const peer peers[] = {
    { make<Plain>, put<Plain>, get, end<Plain> },
    { make<Waits>, put<Waits>, wait, end<Waits> },
};
