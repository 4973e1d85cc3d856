// In a fork's child the forking thread can unlock and take again what it held, whatever waiters the parent had.
#include "check.h"
#include <sys/wait.h>

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, recursive, errorcheck, handled = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waiters, ready;

static void *contender(void *arg) {
    __atomic_fetch_add(&waiters, 1, __ATOMIC_SEQ_CST);
    IS(pthread_mutex_lock(arg), 0);
    IS(pthread_mutex_unlock(arg), 0);
    return NULL;
}

static void *cond_waiter(void *arg) {
    (void)arg;
    IS(pthread_mutex_lock(&handled), 0);
    while (!ready) IS(pthread_cond_wait(&cond, &handled), 0);
    IS(pthread_mutex_unlock(&handled), 0);
    return NULL;
}

static void before(void) { IS(pthread_mutex_lock(&handled), 0); }
static void behind(void) { IS(pthread_mutex_unlock(&handled), 0); }

static void *in_child(void *arg) {
    // A thread of the child queues behind a lock that was taken before the fork.
    pthread_mutex_t *m = arg;
    IS(pthread_mutex_lock(m), 0);
    IS(pthread_mutex_unlock(m), 0);
    return NULL;
}

static void use(pthread_mutex_t *m) {
    pthread_t t[2];
    for (int i = 0; i < 100; i++) {
        IS(pthread_mutex_lock(m), 0);
        IS(pthread_mutex_unlock(m), 0);
    }
    for (int i = 0; i < 2; i++) IS(pthread_create(&t[i], NULL, in_child, m), 0);
    for (int i = 0; i < 2; i++) IS(pthread_join(t[i], NULL), 0);
}

static void child(int depth) {
    pthread_t t;
    IS(pthread_create(&t, NULL, in_child, &plain), 0);
    usleep(2000);
    IS(pthread_mutex_trylock(&plain), EBUSY);
    IS(pthread_mutex_lock(&errorcheck), EDEADLK);
    IS(pthread_mutex_lock(&recursive), 0);
    IS(pthread_mutex_unlock(&recursive), 0);
    if (depth == 0) {
        // A child of the child, whose forking thread still holds all three mutexes.
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            IS(pthread_mutex_unlock(&plain), 0);
            IS(pthread_mutex_unlock(&recursive), 0);
            IS(pthread_mutex_unlock(&errorcheck), 0);
            use(&plain), use(&recursive), use(&errorcheck), use(&handled);
            _exit(0);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
    IS(pthread_mutex_unlock(&plain), 0);
    IS(pthread_join(t, NULL), 0);
    IS(pthread_mutex_unlock(&recursive), 0);
    IS(pthread_mutex_unlock(&errorcheck), 0);
    IS(pthread_mutex_unlock(&errorcheck), EPERM);
    use(&plain), use(&recursive), use(&errorcheck), use(&handled);
    // The parent's waiter on the variable does not exist here: a signal must not go to it.
    pthread_t waiter;
    IS(pthread_create(&waiter, NULL, cond_waiter, NULL), 0);
    usleep(2000);
    IS(pthread_mutex_lock(&handled), 0);
    ready = 1;
    IS(pthread_cond_signal(&cond), 0);
    IS(pthread_mutex_unlock(&handled), 0);
    IS(pthread_join(waiter, NULL), 0);
}

int main(void) {
    // The files that the library writes for the children must not depend on the working directory.
    CHECK(chdir("/") == 0);
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
    IS(pthread_mutex_init(&recursive, &a), 0);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
    IS(pthread_mutex_init(&errorcheck, &a), 0);
    IS(pthread_atfork(before, behind, behind), 0);
    pthread_t t[6], waiter;
    pthread_mutex_t *held[] = {&plain, &recursive, &errorcheck};
    IS(pthread_create(&waiter, NULL, cond_waiter, NULL), 0);
    for (int i = 0; i < 3; i++) IS(pthread_mutex_lock(held[i]), 0);
    for (int i = 0; i < 6; i++) IS(pthread_create(&t[i], NULL, contender, held[i % 3]), 0);
    while (__atomic_load_n(&waiters, __ATOMIC_SEQ_CST) != 6) usleep(100);
    usleep(5000);
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            child(i);
            exit(0);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK(status == 0);
    }
    for (int i = 0; i < 3; i++) IS(pthread_mutex_unlock(held[i]), 0);
    for (int i = 0; i < 6; i++) IS(pthread_join(t[i], NULL), 0);
    IS(pthread_mutex_lock(&handled), 0);
    ready = 1;
    IS(pthread_cond_broadcast(&cond), 0);
    IS(pthread_mutex_unlock(&handled), 0);
    IS(pthread_join(waiter, NULL), 0);
    // vfork and exec leave the parent as it was.
    pid_t pid = vfork();
    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(9);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    // So does a vfork whose exec fails.
    pid = vfork();
    if (pid == 0) {
        execl("/no/such/program", "program", (char *)NULL);
        _exit(9);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 9);
    use(&plain);
    puts("ok");
    return 0;
}
