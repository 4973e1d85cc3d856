// Threads that lock after the last destructor of their keys: the allocator has a lock, and glibc frees what a thread left
// (here the text of an unknown error) when nothing of the thread's own can run any more. However many come and go, the process
// does not grow.
#define _GNU_SOURCE
#include "check.h"

static pthread_mutex_t arena = PTHREAD_MUTEX_INITIALIZER;
static char memory[64 << 20] __attribute__((aligned(64)));
static size_t used;
static void *texts;          // A free list for the one size that comes and goes.
static size_t late;
static __thread int rounds;  // Key destructors that this thread has seen.

void *malloc(size_t size) {
    pthread_mutex_lock(&arena);
    void *block = NULL;
    if (size <= 4096 && size > 32 && texts != NULL) {
        block = texts;
        texts = *(void **)texts;
    } else {
        size_t room = size > 32 && size < 4096 ? 4096 : size;
        size_t at = used;
        used += (room + 16 + 15) & ~15ul;
        if (used <= sizeof memory) {
            *(size_t *)(memory + at) = room;
            block = memory + at + 16;
        }
    }
    pthread_mutex_unlock(&arena);
    return block;
}

void free(void *block) {
    if (block == NULL) return;
    pthread_mutex_lock(&arena);
    late += rounds == 4;
    if (*(size_t *)((char *)block - 16) == 4096) {
        *(void **)block = texts;
        texts = block;
    }
    pthread_mutex_unlock(&arena);
}

void *calloc(size_t n, size_t size) {
    // Volatile: the compiler makes a call of calloc of a malloc and a memset.
    void *volatile block = malloc(n * size);
    return block == NULL ? NULL : memset(block, 0, n * size);
}

void *realloc(void *block, size_t size) {
    void *new = malloc(size);
    if (new != NULL && block != NULL) {
        size_t old = *(size_t *)((char *)block - 16);
        memcpy(new, block, old < size ? old : size);
        free(block);
    }
    return new;
}

static pthread_key_t key;

static void count(void *value) {
    rounds++;
    pthread_setspecific(key, value);
}

static void *work(void *arg) {
    pthread_setspecific(key, arg);
    CHECK(strerror(123456)[0] != 0);
    return NULL;
}

// Pages of memory in use that no file backs.
static long pages(void) {
    long total, resident, shared;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%ld %ld %ld", &total, &resident, &shared) == 3);
    fclose(file);
    return resident - shared;
}

int main(int argc, char **argv) {
    size_t threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    IS(pthread_key_create(&key, count), 0);
    long before = 0;
    for (size_t i = 0; i < threads; i++) {
        pthread_t t;
        IS(pthread_create(&t, NULL, work, &key), 0);
        IS(pthread_join(t, NULL), 0);
        if (i == threads / 10) before = pages();
    }
    long grown = pages() - before;
    if (late < threads) fprintf(stderr, "%zu of %zu threads were late\n", late, threads);
    CHECK(late >= threads);
    if (grown >= 1024) fprintf(stderr, "%ld pages more\n", grown);
    CHECK(grown < 1024);
    puts("ok");
    return 0;
}
