/* Readers hold settings_lock, a reader-writer lock that prefers readers, by turns and without a gap, so a writer has to wait until all are
   done. Right answer: the writer of settings_lock starves. The cure is a lock that prefers writers. */
#define _GNU_SOURCE
#include "cases.h"

static pthread_rwlock_t settings_lock;
static volatile int writer_done;
static uint64_t settings, seen[MOST_THREADS];

static void *read_settings(void *number)
{
    uint64_t own = (uintptr_t)number;
    for (int i = 0; i < 2000 && !writer_done; i++) {
        pthread_rwlock_rdlock(&settings_lock);
        seen[(uintptr_t)number] += settings;
        own = work(own, 50000);
        pthread_rwlock_unlock(&settings_lock);
    }
    return NULL;
}

static void *change_settings(void *number)
{
    for (int i = 0; i < 50; i++) {
        usleep(2000);
        pthread_rwlock_wrlock(&settings_lock);
        settings++;
        pthread_rwlock_unlock(&settings_lock);
    }
    writer_done = 1;
    return number;
}

static void *reader_or_writer(void *number)
{
    return number == NULL ? change_settings(number) : read_settings(number);
}

int main(int argc, char **argv)
{
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
#ifdef CURE
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
    pthread_rwlock_init(&settings_lock, &attributes);
    in_threads(4, reader_or_writer, argc, argv);
    return settings != 50;
}
