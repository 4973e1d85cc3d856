// Reader-writer locks, spin locks, barriers and semaphores, with a signal handler that posts while others write events.
#define _GNU_SOURCE
#include "check.h"
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t sem, ticks;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int shared_value, spins, serials;
static volatile int posted;

static void tick(int signal) {
    (void)signal;
    int before = errno;
    sem_post(&ticks);
    posted++;
    CHECK(errno == before);
}

static void *work(void *arg) {
    long me = (long)arg;
    for (int i = 0; i < 300; i++) {
        if (i % 10 == 0) {
            IS(pthread_rwlock_wrlock(&rwlock), 0);
            shared_value++;
        } else {
            IS(pthread_rwlock_rdlock(&rwlock), 0);
            CHECK(shared_value >= 0);
        }
        IS(pthread_rwlock_unlock(&rwlock), 0);
        IS(pthread_spin_lock(&spin), 0);
        spins++;
        IS(pthread_spin_unlock(&spin), 0);
        for (int j = 0; j < 20; j++) {
            pthread_mutex_lock(&mutex);
            pthread_mutex_unlock(&mutex);
        }
        if (me == 0) sem_post(&sem);
        if (me == 1) while (sem_wait(&sem) != 0) CHECK(errno == EINTR);
        if (i % 30 == 0) {
            int answer = pthread_barrier_wait(&barrier);
            CHECK(answer == 0 || answer == PTHREAD_BARRIER_SERIAL_THREAD);
            if (answer != 0) __atomic_fetch_add(&serials, 1, __ATOMIC_SEQ_CST);
        }
    }
    return NULL;
}

static void *reader_timeout(void *arg) {
    (void)arg;
    struct timespec t = after(CLOCK_REALTIME, 20), m = after(CLOCK_MONOTONIC, 40);
    IS(pthread_rwlock_tryrdlock(&rwlock), EBUSY);
    IS(pthread_rwlock_timedrdlock(&rwlock, &t), ETIMEDOUT);
    IS(pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &m), ETIMEDOUT);
    IS(pthread_spin_trylock(&spin), EBUSY);
    return NULL;
}

static void *blocked(void *arg) {
    sem_wait(arg);
    return NULL;
}

int main(void) {
    pthread_t t[3];
    IS(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE), 0);
    IS(pthread_barrier_init(&barrier, NULL, 3), 0);
    IS(sem_init(&sem, 0, 0), 0);
    IS(sem_init(&ticks, 0, 0), 0);
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval often = {{0, 500}, {0, 500}};
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (long i = 0; i < 3; i++) IS(pthread_create(&t[i], NULL, work, (void *)i), 0);
    for (int i = 0; i < 3; i++) IS(pthread_join(t[i], NULL), 0);
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    CHECK(shared_value == 90 && spins == 900 && serials == 10);
    int value;
    sem_getvalue(&ticks, &value);
    CHECK(value == posted);
    for (int i = 0; i < value; i++) CHECK(sem_trywait(&ticks) == 0);
    CHECK(sem_trywait(&ticks) == -1 && errno == EAGAIN);
    struct timespec soon = after(CLOCK_REALTIME, 5);
    CHECK(sem_timedwait(&ticks, &soon) == -1 && errno == ETIMEDOUT);
    soon = after(CLOCK_MONOTONIC, 5);
    CHECK(sem_clockwait(&ticks, CLOCK_MONOTONIC, &soon) == -1 && errno == ETIMEDOUT);
    errno = 77;
    sem_post(&ticks), sem_wait(&ticks);
    CHECK(errno == 77);
    IS(pthread_rwlock_wrlock(&rwlock), 0);
    IS(pthread_rwlock_rdlock(&rwlock), EDEADLK);
    IS(pthread_spin_lock(&spin), 0);
    IS(pthread_create(&t[0], NULL, reader_timeout, NULL), 0);
    IS(pthread_join(t[0], NULL), 0);
    IS(pthread_rwlock_unlock(&rwlock), 0);
    IS(pthread_spin_unlock(&spin), 0);
    // Cancellation of a semaphore's wait, and of a join.
    void *end;
    IS(pthread_create(&t[0], NULL, blocked, &ticks), 0);
    usleep(2000);
    IS(pthread_cancel(t[0]), 0);
    IS(pthread_join(t[0], &end), 0);
    CHECK(end == PTHREAD_CANCELED);
    IS(pthread_rwlock_destroy(&rwlock), 0);
    IS(pthread_spin_destroy(&spin), 0);
    IS(pthread_barrier_destroy(&barrier), 0);
    CHECK(sem_destroy(&sem) == 0);
    puts("ok");
    return 0;
}
