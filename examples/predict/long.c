/* Long critical sections: most of the work is done with the lock held. Arguments: threads, rounds. */
#include "common.h"

static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t journal = 1, entries;
static unsigned rounds;

static void *body(void *number)
{
    uint64_t state = (uintptr_t)number + 1;
    for (unsigned i = 0; i < rounds; i++) {
        state = work(state, 8000);
        pthread_mutex_lock(&journal_lock);
        journal = work(journal, 20000);
        entries++;
        pthread_mutex_unlock(&journal_lock);
    }
    return (void *)(uintptr_t)(state & 1);
}

int main(int argc, char **argv)
{
    unsigned threads = argument(argc, argv, 1, 3);
    rounds = argument(argc, argv, 2, 5000);
    in_threads(threads, body);
    return expect("entries", entries, (uint64_t)threads * rounds);
}
