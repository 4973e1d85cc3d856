/* Three threads do nearly all of their work under orders_lock. Right answer: orders_lock's sections limit the program; half as long sections
   make it nearly two times as fast. The cure does half of the work in them. */
#include "cases.h"

#ifdef CURE
enum { SECTION = 10000 };
#else
enum { SECTION = 20000 };
#endif

static pthread_mutex_t orders_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t orders;

static void *take_orders(void *number)
{
    uint64_t own = (uintptr_t)number;
    for (int i = 0; i < 4000; i++) {
        pthread_mutex_lock(&orders_lock);
        orders = work(orders, SECTION);
        pthread_mutex_unlock(&orders_lock);
        own = work(own, 500);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    in_threads(3, take_orders, argc, argv);
    return orders == 0;
}
