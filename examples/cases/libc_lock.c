/* Four threads draw from rand(), which has a lock inside of the C library. Right answer: the lock of rand limits the program, at the
   call in draw; sum_lock, taken once in 64 draws, does not. The cure draws from rand_r with a seed of the thread's own. */
#include "cases.h"

static pthread_mutex_t sum_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t sum;

static __attribute__((noinline)) uint64_t draw(unsigned *seed)
{
#ifdef CURE
    return (uint64_t)rand_r(seed);
#else
    (void)seed;
    return (uint64_t)rand();
#endif
}

static void *client(void *number)
{
    unsigned seed = (unsigned)(uintptr_t)number;
    for (int i = 0; i < 20000; i++) {
        uint64_t own = 0;
        for (int k = 0; k < 64; k++)
            own += draw(&seed);
        pthread_mutex_lock(&sum_lock);
        sum += own;
        pthread_mutex_unlock(&sum_lock);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    in_threads(4, client, argc, argv);
    return sum == 0;
}
