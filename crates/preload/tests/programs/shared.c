// A parent and its child take a mutex in shared memory by turns, which the parent initialised; the child posts a shared
// semaphore at its end.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct both {
    pthread_mutex_t mutex;
    sem_t ended;
};

static void turns(struct both *both) {
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&both->mutex);
        usleep(100);
        pthread_mutex_unlock(&both->mutex);
        usleep(10);
    }
}

int main(void) {
    struct both *both = mmap(NULL, sizeof *both, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    if (both == MAP_FAILED || pthread_mutexattr_init(&attributes)) return 1;
    if (pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED)) return 1;
    if (pthread_mutex_init(&both->mutex, &attributes) || sem_init(&both->ended, 1, 0)) return 1;
    pid_t child = fork();
    turns(both);
    if (child == 0) {
        sem_post(&both->ended);
        _exit(0);
    }
    sem_wait(&both->ended);
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
    puts("ok");
    return 0;
}
