/* A thread hands out one job at a time, and wakes all 24 workers for each. Right answer: the broadcast on `work_is_there` wakes 24 threads
   for one job, and 23 of them find nothing. The cure signals one worker. */
#include "cases.h"

enum { WORKERS = 24, JOBS = 1500 };

static pthread_mutex_t jobs_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_is_there = PTHREAD_COND_INITIALIZER, job_done = PTHREAD_COND_INITIALIZER;
static int waiting_jobs, done_jobs, closed;

static void *worker(void *nothing)
{
    pthread_mutex_lock(&jobs_lock);
    for (;;) {
        while (waiting_jobs == 0 && !closed)
            pthread_cond_wait(&work_is_there, &jobs_lock);
        if (waiting_jobs == 0)
            break;
        waiting_jobs--;
        done_jobs++;
        pthread_cond_signal(&job_done);
    }
    pthread_mutex_unlock(&jobs_lock);
    return nothing;
}

static __attribute__((noinline)) void hand_out(void)
{
    pthread_mutex_lock(&jobs_lock);
    int wanted = done_jobs + 1;
    waiting_jobs++;
#ifdef CURE
    pthread_cond_signal(&work_is_there);
#else
    pthread_cond_broadcast(&work_is_there);
#endif
    while (done_jobs < wanted)
        pthread_cond_wait(&job_done, &jobs_lock);
    pthread_mutex_unlock(&jobs_lock);
}

static void *employer(void *number)
{
    for (int i = 0; i < JOBS; i++)
        hand_out();
    pthread_mutex_lock(&jobs_lock);
    closed = 1;
    pthread_cond_broadcast(&work_is_there);
    pthread_mutex_unlock(&jobs_lock);
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
