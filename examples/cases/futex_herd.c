/* As herd.c, without a lock: the number of waiting jobs is a futex, and for each job all workers that wait in it are woken. Right
   answer: the wakes in `hand_out` wake 24 threads for one job, and 23 of them find nothing. The cure wakes one worker. */
#define _GNU_SOURCE
#include "cases.h"
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>

enum { WORKERS = 24, JOBS = 1500 };

static int waiting_jobs, done_jobs, closed;

static void sleep_while(int *word, int value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(int *word, int threads)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0);
}

static __attribute__((noinline)) void hand_out(void)
{
    __atomic_add_fetch(&waiting_jobs, 1, __ATOMIC_RELEASE);
#ifdef CURE
    wake(&waiting_jobs, 1);
#else
    wake(&waiting_jobs, INT_MAX);
#endif
}

/* Takes a job, if one waits. */
static int taken(void)
{
    int jobs = __atomic_load_n(&waiting_jobs, __ATOMIC_ACQUIRE);
    while (jobs > 0)
        if (__atomic_compare_exchange_n(&waiting_jobs, &jobs, jobs - 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return 1;
    return 0;
}

static void *worker(void *nothing)
{
    for (uint64_t own = 1;;) {
        if (taken()) {
            own = work(own, 2000);
            __atomic_add_fetch(&done_jobs, 1, __ATOMIC_ACQ_REL);
        } else if (__atomic_load_n(&closed, __ATOMIC_ACQUIRE)) {
            return nothing;
        } else {
            sleep_while(&waiting_jobs, 0);
        }
    }
}

static void *employer(void *number)
{
    uint64_t own = 1;
    for (int i = 0; i < JOBS; i++) {
        own = work(own, 6000);
        hand_out();
    }
    while (__atomic_load_n(&done_jobs, __ATOMIC_ACQUIRE) < JOBS)
        usleep(100);
    __atomic_store_n(&closed, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&waiting_jobs, -1, __ATOMIC_RELEASE);
    wake(&waiting_jobs, INT_MAX);
    return number;
}

static void *employer_or_worker(void *number)
{
    return number == NULL ? employer(number) : worker(number);
}

int main(int argc, char **argv)
{
    in_threads(WORKERS + 1, employer_or_worker, argc, argv);
    return done_jobs != JOBS;
}
