// Threads that are bound in every way: by an attribute, by themselves, by another, by inheritance.
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static sem_t born, bound;
static pid_t number;

static void name(const char *text) { IS(pthread_setname_np(pthread_self(), text), 0); }

static void *by_attribute(void *arg) {
    (void)arg;
    name("attribute");
    return NULL;
}

static void *by_itself(void *arg) {
    name("itself");
    IS(pthread_setaffinity_np(pthread_self(), sizeof(cpu_set_t), arg), 0);
    return NULL;
}

static void *by_another(void *arg) {
    name(arg);
    number = (pid_t)syscall(SYS_gettid);
    IS(sem_post(&born), 0);
    IS(sem_wait(&bound), 0);
    return NULL;
}

static void *by_inheritance(void *arg) {
    (void)arg;
    name("inherited");
    return NULL;
}

int main(void) {
    pthread_t t;
    cpu_set_t all, one, none;
    IS(sem_init(&born, 0, 0), 0);
    IS(sem_init(&bound, 0, 0), 0);
    IS(sched_getaffinity(0, sizeof all, &all), 0);
    int last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(last, &all)) last--;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    CPU_ZERO(&none);

    pthread_attr_t attributes;
    IS(pthread_attr_init(&attributes), 0);
    IS(pthread_attr_setaffinity_np(&attributes, sizeof one, &one), 0);
    IS(pthread_create(&t, &attributes, by_attribute, NULL), 0);
    IS(pthread_join(t, NULL), 0);

    IS(pthread_create(&t, NULL, by_itself, &one), 0);
    IS(pthread_join(t, NULL), 0);

    IS(pthread_create(&t, NULL, by_another, "another"), 0);
    IS(sem_wait(&born), 0);
    IS(pthread_setaffinity_np(t, sizeof one, &one), 0);
    IS(sem_post(&bound), 0);
    IS(pthread_join(t, NULL), 0);

    IS(pthread_create(&t, NULL, by_another, "number"), 0);
    IS(sem_wait(&born), 0);
    IS(sched_setaffinity(number, sizeof one, &one), 0);
    IS(sem_post(&bound), 0);
    IS(pthread_join(t, NULL), 0);

    // What fails is not recorded, and says why as without the library.
    IS(pthread_setaffinity_np(pthread_self(), sizeof none, &none), EINVAL);
    errno = 0;
    IS(sched_setaffinity(0, sizeof none, &none), -1);
    IS(errno, EINVAL);

    IS(sched_setaffinity(0, sizeof one, &one), 0);
    IS(pthread_create(&t, NULL, by_inheritance, NULL), 0);
    IS(pthread_join(t, NULL), 0);
    puts("ok");
    return 0;
}
