// dlopen and dlclose of a library that locks (argv[1]), from several threads, while others lock; pthread functions by dlsym.
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>

static const char *plugin;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int stop;

static void *loader(void *arg) {
    (void)arg;
    for (int i = 0; i < 50; i++) {
        void *handle = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
        CHECK(handle != NULL);
        int (*call)(void) = (int (*)(void))dlsym(handle, "plugin_call");
        CHECK(call != NULL && call() > 100);
        IS(pthread_mutex_lock(&mutex), 0);
        CHECK(dlclose(handle) == 0);
        IS(pthread_mutex_unlock(&mutex), 0);
    }
    return NULL;
}

static void *locker(void *arg) {
    (void)arg;
    while (!stop) {
        IS(pthread_mutex_lock(&mutex), 0);
        IS(pthread_mutex_unlock(&mutex), 0);
        usleep(50);
    }
    return NULL;
}

int main(int argc, char **argv) {
    CHECK(argc > 1);
    plugin = argv[1];
    pthread_t t[3];
    IS(pthread_create(&t[2], NULL, locker, NULL), 0);
    for (int i = 0; i < 2; i++) IS(pthread_create(&t[i], NULL, loader, NULL), 0);
    for (int i = 0; i < 2; i++) IS(pthread_join(t[i], NULL), 0);
    stop = 1;
    IS(pthread_join(t[2], NULL), 0);
    // By name, as interpreters do it.
    int (*lock)(pthread_mutex_t *) = (int (*)(pthread_mutex_t *))dlsym(RTLD_DEFAULT, "pthread_mutex_lock");
    int (*unlock)(pthread_mutex_t *) = (int (*)(pthread_mutex_t *))dlsym(RTLD_DEFAULT, "pthread_mutex_unlock");
    IS(lock(&mutex), 0);
    IS(pthread_mutex_trylock(&mutex), EBUSY);
    IS(unlock(&mutex), 0);
    puts("ok");
    return 0;
}
