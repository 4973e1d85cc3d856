/* Threads take index_lock, and under it pages_lock, where the work is done; other threads want index_lock only for a moment. Right answer:
   pages_lock limits the program: index_lock's waiters wait for the work under pages_lock. The cure does a tenth of that work. */
#include "cases.h"

#ifdef CURE
enum { SECTION = 2000 };
#else
enum { SECTION = 20000 };
#endif

static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER, pages_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t pages, looked_up;

static __attribute__((noinline)) void write_page(void)
{
    pthread_mutex_lock(&pages_lock);
    pages = work(pages, SECTION);
    pthread_mutex_unlock(&pages_lock);
}

static void *work_on_pages(void *number)
{
    uint64_t own = (uintptr_t)number;
    for (int i = 0; i < 3000; i++) {
        own = work(own, 1000);
        pthread_mutex_lock(&index_lock);
        looked_up++;
        if ((uintptr_t)number % 2 == 0)
            write_page();
        pthread_mutex_unlock(&index_lock);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    in_threads(4, work_on_pages, argc, argv);
    return pages == 0;
}
