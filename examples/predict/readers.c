/* Mostly readers: a reader-writer lock guards a table, and a mutex, which every thread takes, a counter.
   Arguments: threads, rounds. */
#include "common.h"

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t statistics_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t table[256], hits;
static unsigned rounds;

static void *body(void *number)
{
    uint64_t state = (uintptr_t)number + 1, seen = 0;
    for (unsigned i = 0; i < rounds; i++) {
        state = work(state, 300);
        if (state % 64 == 0) {
            pthread_rwlock_wrlock(&table_lock);
            table[state / 64 % 256] = state;
            pthread_rwlock_unlock(&table_lock);
        } else {
            pthread_rwlock_rdlock(&table_lock);
            seen += table[state / 64 % 256] & 1;
            pthread_rwlock_unlock(&table_lock);
        }
        pthread_mutex_lock(&statistics_lock);
        hits++;
        pthread_mutex_unlock(&statistics_lock);
    }
    return (void *)(uintptr_t)seen;
}

int main(int argc, char **argv)
{
    unsigned threads = argument(argc, argv, 1, 3);
    rounds = argument(argc, argv, 2, 120000);
    in_threads(threads, body);
    return expect("hits", hits, (uint64_t)threads * rounds);
}
