// Signal handlers that interrupt waits for mutexes and condition variables, and come back. The handlers post semaphores, as
// handlers may.
#include "../programs/check.h"
#include <semaphore.h>
#include <signal.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t handled;
static int go, through;

static void handler(int signal) {
    (void)signal;
    int before = errno;
    sem_post(&handled);
    errno = before;
}

static void *waits(void *arg) {
    if (arg) {
        IS(pthread_mutex_lock(&mutex), 0);
    } else {
        IS(pthread_mutex_lock(&mutex), 0);
        while (!go) IS(pthread_cond_wait(&cond, &mutex), 0);
    }
    through++;
    IS(pthread_mutex_unlock(&mutex), 0);
    return NULL;
}

int main(void) {
    struct sigaction action = {.sa_handler = handler};
    CHECK(sem_init(&handled, 0, 0) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
    pthread_t t[6];
    for (long i = 0; i < 3; i++) IS(pthread_create(&t[i], NULL, waits, (void *)0), 0);
    usleep(2000);
    IS(pthread_mutex_lock(&mutex), 0);
    for (long i = 3; i < 6; i++) IS(pthread_create(&t[i], NULL, waits, (void *)1), 0);
    usleep(2000);
    for (int round = 0; round < 5; round++)
        for (int i = 0; i < 6; i++) {
            IS(pthread_kill(t[i], SIGUSR1), 0);
            while (sem_wait(&handled) != 0) CHECK(errno == EINTR);
        }
    CHECK(through == 0);
    go = 1;
    IS(pthread_cond_broadcast(&cond), 0);
    IS(pthread_mutex_unlock(&mutex), 0);
    for (int i = 0; i < 6; i++) IS(pthread_join(t[i], NULL), 0);
    printf("%d through\n", through);
    return 0;
}
