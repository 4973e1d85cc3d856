/* Short critical sections, high contention: every thread adds to one counter. Arguments: threads, rounds. */
#include "common.h"

static pthread_mutex_t counter_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t counter;
static unsigned rounds;

static void *body(void *number)
{
    uint64_t state = (uintptr_t)number + 1;
    for (unsigned i = 0; i < rounds; i++) {
        state = work(state, 60);
        pthread_mutex_lock(&counter_lock);
        counter++;
        pthread_mutex_unlock(&counter_lock);
    }
    return (void *)(uintptr_t)(state & 1);
}

int main(int argc, char **argv)
{
    unsigned threads = argument(argc, argv, 1, 2);
    rounds = argument(argc, argv, 2, 400000);
    in_threads(threads, body);
    return expect("counted", counter, (uint64_t)threads * rounds);
}
