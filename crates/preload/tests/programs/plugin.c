// A library that is loaded late: its constructor and destructor lock, and it brings a mutex and a thread-local of its own.
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread int calls;
int plugin_total;

__attribute__((constructor)) static void load(void) {
    pthread_mutex_lock(&mutex);
    plugin_total = 100;
    pthread_mutex_unlock(&mutex);
}

__attribute__((destructor)) static void unload(void) {
    pthread_mutex_lock(&mutex);
    plugin_total = 0;
    pthread_mutex_unlock(&mutex);
}

int plugin_call(void) {
    pthread_mutex_lock(&mutex);
    int now = ++plugin_total;
    calls++;
    pthread_mutex_unlock(&mutex);
    return now;
}

void plugin_calls(void (*back)(void)) {
    back();
    calls++;
}

// With a mutex and a condition variable of the program's: its turn comes when `*turn` is odd.
int plugin_turns(pthread_mutex_t *theirs, pthread_cond_t *changed, int *turn, int rounds) {
    for (int i = 0; i < rounds; i++) {
        if (pthread_mutex_lock(theirs) != 0) return 1;
        while (*turn % 2 == 0)
            if (pthread_cond_wait(changed, theirs) != 0) return 2;
        ++*turn;
        if (pthread_cond_broadcast(changed) != 0 || pthread_mutex_unlock(theirs) != 0) return 3;
    }
    return 0;
}
