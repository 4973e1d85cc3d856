/* More threads than CPUs at one lock, with some work inside and outside. Arguments: threads, rounds. */
#include "common.h"

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t table[64], entries;
static unsigned rounds;

static void *body(void *number)
{
    uint64_t state = (uintptr_t)number + 1;
    for (unsigned i = 0; i < rounds; i++) {
        state = work(state, 400);
        pthread_mutex_lock(&table_lock);
        uint64_t *slot = &table[state % 64];
        *slot = work(*slot + 1, 100);
        entries++;
        pthread_mutex_unlock(&table_lock);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned threads = argument(argc, argv, 1, 8);
    rounds = argument(argc, argv, 2, 30000);
    in_threads(threads, body);
    return expect("entries", entries, (uint64_t)threads * rounds);
}
