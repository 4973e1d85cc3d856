/* Locks that are taken more and less often: a table with a lock for each bucket, and one for its size, taken for new keys.
   Arguments: threads, rounds. */
#include "common.h"

enum { BUCKETS = 32, KEYS = 4096 };

static struct {
    pthread_mutex_t lock;
    uint64_t counts[KEYS / BUCKETS];
} buckets[BUCKETS];
static pthread_mutex_t size_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t operations;
static unsigned rounds;

static void *body(void *number)
{
    uint64_t state = (uintptr_t)number + 1;
    for (unsigned i = 0; i < rounds; i++) {
        state = work(state, 120);
        /* Half of the keys fall into one bucket. */
        unsigned key = state % 2 ? state / 2 % KEYS : state / 2 % (KEYS / BUCKETS) * BUCKETS;
        pthread_mutex_lock(&buckets[key % BUCKETS].lock);
        buckets[key % BUCKETS].counts[key / BUCKETS]++;
        state = work(state, 30);
        pthread_mutex_unlock(&buckets[key % BUCKETS].lock);
        if (state % 4 == 0) {
            pthread_mutex_lock(&size_lock);
            operations++;
            pthread_mutex_unlock(&size_lock);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned threads = argument(argc, argv, 1, 4);
    rounds = argument(argc, argv, 2, 150000);
    for (int i = 0; i < BUCKETS; i++)
        pthread_mutex_init(&buckets[i].lock, NULL);
    in_threads(threads, body);
    uint64_t sum = 0;
    for (int i = 0; i < BUCKETS; i++)
        for (int k = 0; k < KEYS / BUCKETS; k++)
            sum += buckets[i].counts[k];
    return expect("counted", sum, (uint64_t)threads * rounds);
}
