/* Serial parts: one thread computes alone, then all threads compute, and so on by turns. Arguments: threads, phases. */
#include "common.h"

static pthread_barrier_t begins, ends;
static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t done, state = 1;
static unsigned phases;

static void *body(void *number)
{
    for (unsigned i = 0; i < phases; i++) {
        if ((uintptr_t)number == 0)
            state = work(state, 400000);
        pthread_barrier_wait(&begins);
        uint64_t mine = work(state + (uintptr_t)number, 400000);
        pthread_mutex_lock(&done_lock);
        done += mine != 0;
        pthread_mutex_unlock(&done_lock);
        pthread_barrier_wait(&ends);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned threads = argument(argc, argv, 1, 4);
    phases = argument(argc, argv, 2, 100);
    pthread_barrier_init(&begins, NULL, threads);
    pthread_barrier_init(&ends, NULL, threads);
    in_threads(threads, body);
    return expect("parts", done, (uint64_t)threads * phases);
}
