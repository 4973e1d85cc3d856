// A compiler at run time, as a walk over the stack meets it: code that was registered, and an allocator that locks a mutex in
// every call. For a walk libgcc sorts the tables of such code in memory from that allocator.
#define _GNU_SOURCE
#include "check.h"

extern void __register_frame(void *);

static pthread_mutex_t arena = PTHREAD_MUTEX_INITIALIZER;
static char memory[64 << 20] __attribute__((aligned(64)));
static size_t used;

// The arena's mutex is taken for the first time when code has been registered and not yet been looked for.
static int registered;
void *malloc(size_t size) {
    int locks = registered;
    if (locks) pthread_mutex_lock(&arena);
    size_t at = __atomic_fetch_add(&used, (size + 16 + 15) & ~15ul, __ATOMIC_RELAXED);
    if (locks) pthread_mutex_unlock(&arena);
    if (used > sizeof memory) return NULL;
    *(size_t *)(memory + at) = size;
    return memory + at + 16;
}
void free(void *block) { (void)block; }
void *calloc(size_t n, size_t size) { return malloc(n * size); }
void *realloc(void *block, size_t size) {
    void *new = malloc(size);
    if (new != NULL && block != NULL) {
        size_t old = *(size_t *)((char *)block - 16);
        memcpy(new, block, old < size ? old : size);
    }
    return new;
}

// The tables of one function: a common entry and an entry for 16 bytes of code, as a compiler at run time writes them.
static char code[16];
static struct {
    unsigned length, id;
    unsigned char version, augmentation, align, data, ra, rules[7];
    unsigned fde_length, back;
    unsigned long begin, size;
    unsigned char nops[4];
    unsigned end;
} __attribute__((packed)) tables;

static void *work(void *arg) {
    for (int i = 0; i < 300; i++) {
        // A fresh mutex, first taken here; then memory.
        pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
        pthread_mutex_lock(&fresh);
        CHECK(malloc(64) != NULL);
        pthread_mutex_unlock(&fresh);
    }
    return arg;
}

int main(void) {
    tables.length = 16, tables.version = 1, tables.align = 1, tables.data = 0x78, tables.ra = 16;
    // The frame begins 8 bytes above the stack pointer, and the return address lies there.
    unsigned char rules[7] = {0x0c, 7, 8, 0x90, 1, 0, 0};
    memcpy(tables.rules, rules, sizeof rules);
    tables.fde_length = 24, tables.back = 24, tables.begin = (unsigned long)code, tables.size = sizeof code;
    __register_frame(&tables);
    registered = 1;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) IS(pthread_create(&threads[i], NULL, work, NULL), 0);
    for (int i = 0; i < 4; i++) IS(pthread_join(threads[i], NULL), 0);
    puts("ok");
    return 0;
}
