// A thread waits, spinning, for one that does not come before Baton has said that there is no progress: it reads what is
// written to standard error. WHAT they meet at: `mutex` or `barrier`; THEN: whether the waiter `sleeps` after the message.
#define _GNU_SOURCE
#include "check.h"
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static int at_barrier;
static volatile pid_t waiter_number;

static void *waiter(void *arg) {
    (void)arg;
    waiter_number = (pid_t)syscall(SYS_gettid);
    if (at_barrier) {
        pthread_barrier_wait(&barrier);
    } else {
        IS(pthread_mutex_lock(&mutex), 0);
        IS(pthread_mutex_unlock(&mutex), 0);
    }
    return NULL;
}

// The letter of the waiter's state in the kernel: S if it sleeps.
static char state(void) {
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", waiter_number);
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    CHECK(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    return strrchr(text, ')')[2];
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    at_barrier = strcmp(argv[1], "barrier") == 0;
    IS(pthread_barrier_init(&barrier, NULL, 2), 0);
    int ends[2], kept = dup(2);
    IS(pipe(ends), 0);
    CHECK(dup2(ends[1], 2) == 2);
    if (!at_barrier) IS(pthread_mutex_lock(&mutex), 0);
    pthread_t t;
    IS(pthread_create(&t, NULL, waiter, NULL), 0);

    char said[1024] = "";
    size_t length = 0;
    while (!strchr(said, '\n')) {
        ssize_t n = read(ends[0], said + length, sizeof said - 1 - length);
        CHECK(n > 0);
        length += n;
    }
    // It is said once: nothing follows for longer than it took the first time.
    struct pollfd more = { .fd = ends[0], .events = POLLIN };
    CHECK(poll(&more, 1, 1500) == 0);
    if (strcmp(argv[2], "sleeps") == 0) {
        while (state() != 'S') usleep(1000);
    }

    if (at_barrier) {
        pthread_barrier_wait(&barrier);
    } else {
        IS(pthread_mutex_unlock(&mutex), 0);
    }
    IS(pthread_join(t, NULL), 0);
    CHECK(dup2(kept, 2) == 2);
    fputs(said, stderr);
    puts("ok");
    return 0;
}
