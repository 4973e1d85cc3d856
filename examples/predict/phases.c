/* Phases: threads compute, add their part under a lock, and meet at a barrier. Arguments: threads, phases. */
#include "common.h"

static pthread_mutex_t sum_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static uint64_t parts, sum;
static unsigned phases;

static void *body(void *number)
{
    uint64_t state = (uintptr_t)number + 1;
    for (unsigned i = 0; i < phases; i++) {
        for (int part = 0; part < 20; part++) {
            state = work(state, 700 + state % 300);
            pthread_mutex_lock(&sum_lock);
            sum = work(sum ^ state, 150);
            parts++;
            pthread_mutex_unlock(&sum_lock);
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned threads = argument(argc, argv, 1, 4);
    phases = argument(argc, argv, 2, 1500);
    pthread_barrier_init(&barrier, NULL, threads);
    in_threads(threads, body);
    printf("sum: %s\n", sum ? "not zero" : "zero");
    return expect("parts", parts, (uint64_t)threads * phases * 20);
}
