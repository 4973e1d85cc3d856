/* Two threads take two locks, each in its own order, and hold the first for a while. Right answer: a deadlock between `deposit`, which
   holds accounts_lock, and `withdraw`, which holds history_lock. With the cure, both take accounts_lock first. */
#include "cases.h"

static pthread_mutex_t accounts_lock = PTHREAD_MUTEX_INITIALIZER, history_lock = PTHREAD_MUTEX_INITIALIZER;

static void both(pthread_mutex_t *first, pthread_mutex_t *second)
{
    pthread_mutex_lock(first);
    usleep(100);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *deposit(void *number)
{
    for (int i = 0; i < 200; i++)
        both(&accounts_lock, &history_lock);
    return number;
}

static void *withdraw(void *number)
{
    for (int i = 0; i < 200; i++)
#ifdef CURE
        both(&accounts_lock, &history_lock);
#else
        both(&history_lock, &accounts_lock);
#endif
    return number;
}

static void *deposit_or_withdraw(void *number)
{
    return number == NULL ? deposit(number) : withdraw(number);
}

int main(int argc, char **argv)
{
    in_threads(2, deposit_or_withdraw, argc, argv);
    return 0;
}
