/* Passes each progress point a known number of times, in two threads and a child. */
#include "check.h"
#include "../../../capi/include/baton.h"
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t counted_lock = PTHREAD_MUTEX_INITIALIZER, other_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t counted_cond = PTHREAD_COND_INITIALIZER, other_cond = PTHREAD_COND_INITIALIZER;
static int turn;

/* Each run of `work` receives ten bytes by each of these two functions. */
static __attribute__((noinline)) void receive_here(int fd) {
    char byte;
    CHECK(recv(fd, &byte, 1, 0) == 1);
}
static __attribute__((noinline)) void receive_there(int fd) {
    char byte;
    CHECK(recv(fd, &byte, 1, 0) == 1);
}

static void *work(void *x) {
    (void)x;
    int ends[2];
    char byte = 'x';
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    for (int i = 0; i < 10; i++) {
        CHECK(send(ends[0], &byte, 1, 0) == 1);
        receive_here(ends[1]);
        CHECK(send(ends[0], &byte, 1, 0) == 1);
        receive_there(ends[1]);
        /* Nothing is there: no progress. */
        errno = 0;
        CHECK(recv(ends[1], &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
        /* This call returns its error: no progress. */
        struct timespec none = { .tv_nsec = 0 }, never = { .tv_nsec = -1 };
        CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &none, NULL) == 0);
        CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &never, NULL) == EINVAL);
        pthread_mutex_lock(&counted_lock);
        pthread_mutex_unlock(&counted_lock);
        pthread_mutex_lock(&other_lock);
        pthread_mutex_unlock(&other_lock);
        baton_marker("served", 1);
        baton_marker("other", 1);
    }
    close(ends[0]);
    close(ends[1]);
    return NULL;
}

/* Waits 10 times for each variable, 20 in all. */
static void *wait_for_turns(void *x) {
    (void)x;
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&other_lock);
        pthread_cond_t *cond = i % 2 ? &other_cond : &counted_cond;
        turn = i + 1;
        CHECK(pthread_cond_wait(cond, &other_lock) == 0);
        pthread_mutex_unlock(&other_lock);
    }
    return NULL;
}

static void waits(void) {
    pthread_t waiter;
    pthread_create(&waiter, NULL, wait_for_turns, NULL);
    for (int i = 0; i < 20;) {
        pthread_mutex_lock(&other_lock);
        /* The turn was taken with the lock held, so that the waiter waits. */
        if (turn == i + 1) {
            i++;
            pthread_cond_signal(i % 2 ? &counted_cond : &other_cond);
        }
        pthread_mutex_unlock(&other_lock);
        sched_yield();
    }
    pthread_join(waiter, NULL);
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) {
        waits();
        puts("ok");
        return 0;
    }
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    work(NULL);
    pid_t child = fork();
    if (child == 0) {
        work(NULL);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    puts("ok");
    return 0;
}
