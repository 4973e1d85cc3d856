/* A semaphore guards a pool of two resources, and a mutex a log. Arguments: threads, rounds. */
#include "common.h"
#include <semaphore.h>

static sem_t pool;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t lines, text;
static unsigned rounds;

static void *body(void *number)
{
    uint64_t state = (uintptr_t)number + 1;
    for (unsigned i = 0; i < rounds; i++) {
        state = work(state, 500);
        while (sem_wait(&pool) != 0)
            ;
        state = work(state, 900);
        sem_post(&pool);
        pthread_mutex_lock(&log_lock);
        text = work(text ^ state, 60);
        lines++;
        pthread_mutex_unlock(&log_lock);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned threads = argument(argc, argv, 1, 4);
    rounds = argument(argc, argv, 2, 40000);
    sem_init(&pool, 0, 2);
    in_threads(threads, body);
    printf("text: %s\n", text ? "not empty" : "empty");
    return expect("lines", lines, (uint64_t)threads * rounds);
}
