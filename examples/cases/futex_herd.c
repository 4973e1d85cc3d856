/* As herd.c, without a lock: the number of waiting jobs is a futex, and for each job all 56 workers that wait in it are woken. Right
   answer: the wakes in `hand_out` wake 56 threads for one job, and 55 of them find nothing. The cure wakes one worker. */
#define _GNU_SOURCE
#include "cases.h"
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>

enum { WORKERS = 56, JOBS = 1500 };

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
    int done = __atomic_load_n(&done_jobs, __ATOMIC_ACQUIRE);
    __atomic_store_n(&waiting_jobs, 1, __ATOMIC_RELEASE);
#ifdef CURE
    wake(&waiting_jobs, 1);
#else
    wake(&waiting_jobs, INT_MAX);
#endif
    while (__atomic_load_n(&done_jobs, __ATOMIC_ACQUIRE) == done)
        sleep_while(&done_jobs, done);
}

static void *worker(void *nothing)
{
    for (uint64_t own = 1;;) {
        int one = 1;
        if (__atomic_compare_exchange_n(&waiting_jobs, &one, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            own = work(own, 5000);
            __atomic_add_fetch(&done_jobs, 1, __ATOMIC_ACQ_REL);
            wake(&done_jobs, 1);
        } else if (__atomic_load_n(&closed, __ATOMIC_ACQUIRE)) {
            return nothing;
        } else {
            sleep_while(&waiting_jobs, 0);
        }
    }
}

static void *employer(void *number)
{
    for (int i = 0; i < JOBS; i++)
        hand_out();
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
