/* Nested locks: a transfer locks both of its accounts, the one with the lower number first. Arguments: threads, rounds. */
#include "common.h"

enum { ACCOUNTS = 4 };

static struct {
    pthread_mutex_t lock;
    int64_t balance;
} accounts[ACCOUNTS];
static unsigned rounds;

static void *body(void *number)
{
    uint64_t state = (uintptr_t)number + 1;
    for (unsigned i = 0; i < rounds; i++) {
        state = work(state, 250);
        unsigned from = state % ACCOUNTS, to = (from + 1 + state / ACCOUNTS % (ACCOUNTS - 1)) % ACCOUNTS;
        unsigned low = from < to ? from : to, high = from < to ? to : from;
        pthread_mutex_lock(&accounts[low].lock);
        state = work(state, 40);
        pthread_mutex_lock(&accounts[high].lock);
        accounts[from].balance--;
        accounts[to].balance++;
        state = work(state, 40);
        pthread_mutex_unlock(&accounts[high].lock);
        pthread_mutex_unlock(&accounts[low].lock);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned threads = argument(argc, argv, 1, 4);
    rounds = argument(argc, argv, 2, 80000);
    int64_t sum = 0;
    for (int i = 0; i < ACCOUNTS; i++) {
        pthread_mutex_init(&accounts[i].lock, NULL);
        accounts[i].balance = 1000;
    }
    in_threads(threads, body);
    for (int i = 0; i < ACCOUNTS; i++)
        sum += accounts[i].balance;
    return expect("balance", (uint64_t)sum, 1000 * ACCOUNTS);
}
