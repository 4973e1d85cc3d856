// Robust mutexes, in one process and between processes: owners that end with them, by thread end and by SIGKILL.
#include "../programs/check.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static void *ends_with(void *mutex) {
    IS(pthread_mutex_lock(mutex), 0);
    return NULL;
}

int main(void) {
    pthread_mutexattr_t a;
    IS(pthread_mutexattr_init(&a), 0);
    IS(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST), 0);
    IS(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED), 0);
    pthread_mutex_t *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(m != MAP_FAILED);
    IS(pthread_mutex_init(m, &a), 0);
    pthread_t t;
    for (int i = 0; i < 3; i++) {
        IS(pthread_create(&t, NULL, ends_with, m), 0);
        IS(pthread_join(t, NULL), 0);
        IS(pthread_mutex_trylock(m), EOWNERDEAD);
        IS(pthread_mutex_consistent(m), 0);
        IS(pthread_mutex_unlock(m), 0);
        pid_t pid = fork();
        if (pid == 0) {
            IS(pthread_mutex_lock(m), 0);
            raise(SIGKILL);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
        struct timespec soon = after(CLOCK_REALTIME, 10000);
        IS(pthread_mutex_timedlock(m, &soon), EOWNERDEAD);
        IS(pthread_mutex_consistent(m), 0);
        IS(pthread_mutex_unlock(m), 0);
    }
    IS(pthread_mutex_lock(m), 0);
    IS(pthread_mutex_unlock(m), 0);
    IS(pthread_mutex_destroy(m), 0);
    puts("ok");
    return 0;
}
