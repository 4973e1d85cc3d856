// A program with an allocator of its own that locks a mutex in every call: it runs inside the loader, before any constructor,
// in every thread's first and last moments.
#define _GNU_SOURCE
#include "check.h"

static pthread_mutex_t arena = PTHREAD_MUTEX_INITIALIZER;
static char memory[64 << 20] __attribute__((aligned(64)));
static size_t used, calls;

void *malloc(size_t size) {
    pthread_mutex_lock(&arena);
    calls++;
    size_t at = used;
    used += (size + 16 + 15) & ~15ul;
    int full = used > sizeof memory;
    pthread_mutex_unlock(&arena);
    if (full) return NULL;
    *(size_t *)(memory + at) = size;
    return memory + at + 16;
}

void free(void *block) {
    pthread_mutex_lock(&arena);
    calls++;
    (void)block;
    pthread_mutex_unlock(&arena);
}

void *calloc(size_t n, size_t size) { return malloc(n * size); }

void *realloc(void *block, size_t size) {
    void *new = malloc(size);
    if (new != NULL && block != NULL) {
        size_t old = *(size_t *)((char *)block - 16);
        memcpy(new, block, old < size ? old : size);
    }
    return new;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg) {
    (void)arg;
    for (int i = 0; i < 200; i++) {
        char *volatile block = malloc(100);
        pthread_mutex_lock(&mutex);
        block[0] = 1;
        pthread_mutex_unlock(&mutex);
        free(block);
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 2; i++) IS(pthread_create(&t[i], NULL, work, NULL), 0);
        for (int i = 0; i < 2; i++) IS(pthread_join(t[i], NULL), 0);
    }
    CHECK(calls >= 20 * 2 * 400);
    puts("ok");
    return 0;
}
