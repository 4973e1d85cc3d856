/* Writers add to a journal under journal_lock; a thread writes the journal to a slow disk, and holds journal_lock meanwhile. Right answer:
   journal_lock's holder is off its CPU in write_out, so another type of lock does not help. The cure reads the journal's length under the
   lock, and waits for the disk without it. */
#include "cases.h"

static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long entries, written;
static volatile int writers_done;

static void slow_disk(void)
{
    usleep(2000);
}

static __attribute__((noinline)) void write_out(void)
{
    pthread_mutex_lock(&journal_lock);
    unsigned long length = entries;
#ifdef CURE
    pthread_mutex_unlock(&journal_lock);
    slow_disk();
    pthread_mutex_lock(&journal_lock);
#else
    slow_disk();
#endif
    written = length;
    pthread_mutex_unlock(&journal_lock);
}

static void *write_journal(void *nothing)
{
    while (!writers_done) {
        write_out();
        usleep(1000);
    }
    return nothing;
}

static void *add_entries(void *number)
{
    uint64_t own = (uintptr_t)number;
    for (int i = 0; i < 5000; i++) {
        own = work(own, 5000);
        pthread_mutex_lock(&journal_lock);
        entries++;
        pthread_mutex_unlock(&journal_lock);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t journal = started(write_journal, 0);
    in_threads(4, add_entries, argc, argv);
    writers_done = 1;
    pthread_join(journal, NULL);
    return entries != 20000;
}
