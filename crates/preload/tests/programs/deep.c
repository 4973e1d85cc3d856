// Functions reached past the loader's order: a library (argv[1]) loaded with RTLD_DEEPBIND, dlsym in the C library's own handle,
// dlvsym. All of them work on the program's own mutex, at the same time as the program.
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>

enum { ROUNDS = 300 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;
static long count;
static int (*deep)(pthread_mutex_t *, pthread_cond_t *, int *, int);
static int (*locks[3])(pthread_mutex_t *), (*unlocks[3])(pthread_mutex_t *);

static void *deeply(void *arg) {
    IS(deep(&mutex, &changed, &turn, ROUNDS), 0);
    return arg;
}

static void *takes_turns(void *arg) {
    for (int i = 0; i < ROUNDS; i++) {
        IS(pthread_mutex_lock(&mutex), 0);
        while (turn % 2 == 1) IS(pthread_cond_wait(&changed, &mutex), 0);
        turn++;
        IS(pthread_cond_broadcast(&changed), 0);
        IS(pthread_mutex_unlock(&mutex), 0);
    }
    return arg;
}

// Locks by one way and unlocks by the next.
static void *mixes(void *arg) {
    for (int i = 0; i < 20 * ROUNDS; i++) {
        IS(locks[i % 3](&mutex), 0);
        long now = count;
        if (i % ROUNDS == 0) usleep(10);
        count = now + 1;
        IS(unlocks[(i + 1) % 3](&mutex), 0);
    }
    return arg;
}

int main(int argc, char **argv) {
    CHECK(argc > 1);
    void *plugin = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND);
    CHECK(plugin != NULL);
    *(void **)&deep = dlsym(plugin, "plugin_turns");
    void *libc = dlopen("libc.so.6", RTLD_LAZY);
    CHECK(deep != NULL && libc != NULL);
    locks[0] = pthread_mutex_lock, unlocks[0] = pthread_mutex_unlock;
    *(void **)&locks[1] = dlsym(libc, "pthread_mutex_lock");
    *(void **)&unlocks[1] = dlsym(libc, "pthread_mutex_unlock");
    *(void **)&locks[2] = dlvsym(libc, "pthread_mutex_lock", "GLIBC_2.2.5");
    *(void **)&unlocks[2] = dlvsym(RTLD_DEFAULT, "pthread_mutex_unlock", "GLIBC_2.2.5");
    for (int i = 0; i < 3; i++) CHECK(locks[i] != NULL && unlocks[i] != NULL);
    pthread_t t[4];
    IS(pthread_create(&t[0], NULL, deeply, NULL), 0);
    IS(pthread_create(&t[1], NULL, takes_turns, NULL), 0);
    for (int i = 2; i < 4; i++) IS(pthread_create(&t[i], NULL, mixes, NULL), 0);
    for (int i = 0; i < 4; i++) IS(pthread_join(t[i], NULL), 0);
    CHECK(turn == 2 * ROUNDS && count == 2 * 20 * ROUNDS);
    // What is not there is not found, and the loader says so.
    CHECK(dlsym(libc, "no_such_function") == NULL && dlerror() != NULL && dlerror() == NULL);
    CHECK(dlopen("/no/such/file.so", RTLD_NOW | RTLD_DEEPBIND) == NULL && dlerror() != NULL);
    CHECK(dlsym(RTLD_NEXT, "pthread_mutex_lock") != NULL && dlclose(plugin) == 0);
    puts("ok");
    return 0;
}
