// Futex calls of the program's own through glibc's `syscall`, compared with the kernel's answers: all six arguments, results
// and errno; before anything is initialised, in a signal handler, in a fork's child, in threads of any kind.
// With an argument: four threads take a lock made of futex, each as often as the argument says.
#define _GNU_SOURCE
#include <dirent.h>
#include "check.h"
#include <linux/futex.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int early_error, early_answer;

// Before any constructor, that of a preloaded library included.
static void early(void) {
    int word = 0;
    errno = 7;
    early_answer = syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    early_error = errno;
}
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = early;

// A call without glibc.
static long raw(long n, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long answer;
    __asm__ volatile("syscall" : "=a"(answer) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return answer;
}

// The same call both ways: the same answer, and errno only where it failed.
static void same(long n, long a, long b, long c, long d, long e, long f) {
    long want = raw(n, a, b, c, d, e, f);
    errno = 77;
    long got = syscall(n, a, b, c, d, e, f);
    if (want < 0 && want > -4096) CHECK(got == -1 && errno == -want);
    else CHECK(got == want && errno == 77);
}

static int word, other;
static volatile int handled;

static void handler(int signal) {
    (void)signal;
    int before = errno;
    CHECK(syscall(SYS_futex, &other, FUTEX_WAKE, 1, NULL, NULL, 0) == 0);
    handled = 1;
    CHECK(errno == before);
}

__attribute__((noinline)) static long wait_for(int *at, int value, const struct timespec *limit) {
    long answer = syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, value, limit, NULL, 0);
    __asm__ volatile("");
    return answer;
}
__attribute__((noinline)) static long wake(int *at, int count) {
    long answer = syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
    __asm__ volatile("");
    return answer;
}

static void *waiter(void *arg) {
    (void)arg;
    while (!__atomic_load_n(&word, __ATOMIC_ACQUIRE)) CHECK(wait_for(&word, 0, NULL) == 0 || errno == EAGAIN);
    return NULL;
}

static void *interrupted(void *arg) {
    errno = 0;
    *(long *)arg = wait_for(&other, 0, NULL) == -1 ? errno : 0;
    return NULL;
}

static void answers(void) {
    CHECK(early_answer == 0 && early_error == 7);
    same(SYS_getpid, 0, 0, 0, 0, 0, 0);
    same(SYS_close, -1, 0, 0, 0, 0, 0);
    same(SYS_futex, (long)&word, FUTEX_WAIT, 1, 0, 0, 0);
    same(SYS_futex, (long)&word + 1, FUTEX_WAIT, 0, 0, 0, 0);
    same(SYS_futex, (long)&word, FUTEX_WAKE_PRIVATE, INT_MAX, 0, 0, 0);
    same(SYS_futex, (long)&word, 99, 0, 0, 0, 0);
    // The sixth argument counts: no bits at all are refused, as is another value than the word's.
    struct timespec now = after(CLOCK_MONOTONIC, 1);
    same(SYS_futex, (long)&word, FUTEX_WAIT_BITSET, 0, (long)&now, 0, 0);
    same(SYS_futex, (long)&word, FUTEX_WAIT_BITSET, 0, (long)&now, 0, 1);
    same(SYS_futex, (long)&word, FUTEX_CMP_REQUEUE, 1, 1, (long)&other, 5);
    same(SYS_futex, (long)&word, FUTEX_CMP_REQUEUE, 1, 1, (long)&other, 0);
    // Passed straight through.
    int pi = 0;
    CHECK(syscall(SYS_futex, &pi, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0) == 0);
    CHECK(syscall(SYS_futex, &pi, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0) == 0 && pi == 0);
    void *page = (void *)syscall(SYS_mmap, NULL, 4096L, (long)PROT_READ, (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1L, 0L);
    CHECK(page != MAP_FAILED && syscall(SYS_munmap, page, 4096L) == 0);
}

// Waits until as many threads of the process sleep, however busy the machine is.
static void until_asleep(int wanted) {
    for (int tries = 0; tries < 2000; tries++) {
        usleep(5000);
        int asleep = 0;
        DIR *tasks = opendir("/proc/self/task");
        CHECK(tasks);
        for (struct dirent *entry; (entry = readdir(tasks));) {
            char path[64], state = 0;
            snprintf(path, sizeof path, "/proc/self/task/%.16s/stat", entry->d_name);
            FILE *stat = fopen(path, "r");
            if (!stat) continue;
            if (fscanf(stat, "%*d (%*[^)]) %c", &state) == 1 && state == 'S') asleep++;
            fclose(stat);
        }
        closedir(tasks);
        if (asleep >= wanted) return;
    }
    CHECK(!"the threads sleep");
}

static void waits(void) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++) IS(pthread_create(&t[i], NULL, waiter, NULL), 0);
    until_asleep(3);
    __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    CHECK(wake(&word, INT_MAX) == 3);
    CHECK(wake(&word, 1) == 0);
    for (int i = 0; i < 3; i++) IS(pthread_join(t[i], NULL), 0);
    struct timespec limit = { .tv_nsec = 20000000 };
    CHECK(wait_for(&other, 0, &limit) == -1 && errno == ETIMEDOUT);
    // A signal ends a wait; the signal's handler makes a futex call too.
    struct sigaction action = { .sa_handler = handler };
    IS(sigaction(SIGUSR1, &action, NULL), 0);
    long error = 0;
    IS(pthread_create(&t[0], NULL, interrupted, &error), 0);
    until_asleep(1);
    IS(pthread_kill(t[0], SIGUSR1), 0);
    IS(pthread_join(t[0], NULL), 0);
    CHECK(handled && error == EINTR);
}

static void child(void) {
    fflush(stdout);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        struct timespec limit = { .tv_nsec = 1000000 };
        CHECK(wait_for(&other, 0, &limit) == -1 && errno == ETIMEDOUT);
        CHECK(wake(&other, 1) == 0);
        _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// Drepper's second mutex: 0 free, 1 taken, 2 taken and waited for.
static int lock_word;
static volatile long counter;
static int turns;

__attribute__((noinline)) static void lock(int *at) {
    int free = 0;
    if (__atomic_compare_exchange_n(at, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
    while (__atomic_exchange_n(at, 2, __ATOMIC_ACQUIRE)) wait_for(at, 2, NULL);
}
__attribute__((noinline)) static void unlock(int *at) {
    if (__atomic_exchange_n(at, 0, __ATOMIC_RELEASE) == 2) wake(at, 1);
}
static void *worker(void *arg) {
    for (int i = 0; i < turns; i++) {
        lock(&lock_word);
        for (volatile int n = 0; n < 2000; n++) {}
        // Others come to wait even where all threads share one busy CPU.
        if (i % 100 == 0) usleep(300);
        counter++;
        unlock(&lock_word);
    }
    return arg;
}

int main(int argc, char **argv) {
    if (argc > 1) {
        turns = atoi(argv[1]);
        pthread_t t[4];
        for (int i = 0; i < 4; i++) IS(pthread_create(&t[i], NULL, worker, NULL), 0);
        for (int i = 0; i < 4; i++) IS(pthread_join(t[i], NULL), 0);
        CHECK(counter == 4L * turns);
    } else {
        answers();
        waits();
        child();
    }
    puts("ok");
    return 0;
}
