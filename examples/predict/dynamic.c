/* A dynamic queue: threads take tasks of uneven size from one list until it is empty. Arguments: threads, tasks. */
#include "common.h"

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER, done_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned next, tasks, done;

static void *body(void *number)
{
    uint64_t state = (uintptr_t)number + 1;
    for (;;) {
        pthread_mutex_lock(&queue_lock);
        unsigned task = next < tasks ? next++ : tasks;
        pthread_mutex_unlock(&queue_lock);
        if (task == tasks)
            return (void *)(uintptr_t)(state & 1);
        state = work(task + 1, 200 + task % 13 * 60);
        pthread_mutex_lock(&done_lock);
        done++;
        pthread_mutex_unlock(&done_lock);
    }
}

int main(int argc, char **argv)
{
    unsigned threads = argument(argc, argv, 1, 4);
    tasks = argument(argc, argv, 2, 250000);
    in_threads(threads, body);
    return expect("tasks", done, tasks);
}
