/* Two threads count, each in a word of its own, and both words lie in one cache line. Right answer: the threads' own work limits
   the program; the report has not looked for shared cache lines, and names the command that does. The cure gives each word a line. */
#include "cases.h"

#ifdef CURE
enum { APART = 128 / sizeof(uint64_t) };
#else
enum { APART = 1 };
#endif

static pthread_mutex_t tally_lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(128) volatile uint64_t counts[MOST_THREADS * 16];
static uint64_t tally;

static void *count(void *number)
{
    volatile uint64_t *mine = &counts[(uintptr_t)number * APART];
    for (int i = 0; i < 50; i++) {
        for (int k = 0; k < 1000000; k++)
            ++*mine;
        pthread_mutex_lock(&tally_lock);
        tally++;
        pthread_mutex_unlock(&tally_lock);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    in_threads(2, count, argc, argv);
    return tally != 100;
}
