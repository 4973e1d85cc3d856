/* The only thread holds process_lock for its whole work, as a server may hold one big lock that no other thread wants. Right answer: the
   thread's own work limits the program, and there is no advice about process_lock. There is no cure. */
#include "cases.h"

static pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t result;

static void *serve(void *number)
{
    pthread_mutex_lock(&process_lock);
    result = work((uintptr_t)number, 200000000);
    pthread_mutex_unlock(&process_lock);
    return NULL;
}

int main(int argc, char **argv)
{
    in_threads(1, serve, argc, argv);
    return result == 0;
}
