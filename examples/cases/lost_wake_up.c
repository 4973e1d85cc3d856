/* A thread signals before the other thread waits, and the other waits without looking at the flag. Right answer: the program stands still;
   the last signal of `ready` found no waiter. With the cure, the other thread looks at the flag under the lock before it waits. */
#include "cases.h"

static pthread_mutex_t ready_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int is_ready;

static void *producer(void *number)
{
    pthread_mutex_lock(&ready_lock);
    is_ready = 1;
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&ready_lock);
    return number;
}

static void *consumer(void *number)
{
    usleep(50000);
    pthread_mutex_lock(&ready_lock);
#ifdef CURE
    while (!is_ready)
#endif
        pthread_cond_wait(&ready, &ready_lock);
    pthread_mutex_unlock(&ready_lock);
    return number;
}

static void *producer_or_consumer(void *number)
{
    return number == NULL ? producer(number) : consumer(number);
}

int main(int argc, char **argv)
{
    in_threads(2, producer_or_consumer, argc, argv);
    return !is_ready;
}
