// A process with threads that hold and wait for mutexes replaces itself, and its successor's mutexes are its own; children by
// fork, vfork and posix_spawn end with codes and signals of theirs.
#include "../programs/check.h"
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *waits(void *arg) {
    IS(pthread_mutex_lock(&mutex), 0);
    return arg;
}

static int ended(pid_t pid) {
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc > 1) {
        IS(pthread_mutex_lock(&mutex), 0);
        IS(pthread_mutex_unlock(&mutex), 0);
        printf("successor %s\n", argv[1]);
        return 7;
    }
    pid_t pid = fork();
    if (pid == 0) _exit(pthread_mutex_lock(&mutex) + 3);
    int status = ended(pid);
    printf("fork %d\n", WEXITSTATUS(status));
    if ((pid = fork()) == 0) raise(SIGKILL);
    status = ended(pid);
    printf("killed by %d\n", WTERMSIG(status));
    if ((pid = vfork()) == 0) {
        execl("/proc/self/exe", argv[0], "by vfork", NULL);
        _exit(1);
    }
    status = ended(pid);
    printf("vfork %d\n", WEXITSTATUS(status));
    char *arguments[] = {argv[0], "by spawn", NULL};
    IS(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environ), 0);
    status = ended(pid);
    printf("spawn %d\n", WEXITSTATUS(status));
    pthread_t t[3];
    IS(pthread_mutex_lock(&mutex), 0);
    for (int i = 0; i < 3; i++) IS(pthread_create(&t[i], NULL, waits, NULL), 0);
    usleep(2000);
    execl("/proc/self/exe", argv[0], "by exec", NULL);
    return 1;
}
