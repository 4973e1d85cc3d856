/* Two threads work without a lock, and count under tally_lock now and then. Right answer: the threads' own work limits the program, and a
   change to a lock can win nothing. There is no cure. */
#include "cases.h"

static pthread_mutex_t tally_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t tally;

static void *count(void *number)
{
    uint64_t own = (uintptr_t)number;
    for (int i = 0; i < 500; i++) {
        own = work(own, 400000);
        pthread_mutex_lock(&tally_lock);
        tally += own & 1;
        pthread_mutex_unlock(&tally_lock);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    in_threads(2, count, argc, argv);
    return tally == 0;
}
