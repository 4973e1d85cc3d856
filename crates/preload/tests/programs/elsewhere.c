// A library (argv[1]) in a namespace of its own calls back into the program. Then the first page of the library cannot be read,
// as if another thread were unloading it, while a third library (argv[2]) comes and goes.
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

static pthread_mutex_t mutex;

static void makes_a_mutex(void) {
    IS(pthread_mutex_init(&mutex, NULL), 0);
    IS(pthread_mutex_lock(&mutex), 0);
    IS(pthread_mutex_unlock(&mutex), 0);
}

int main(int argc, char **argv) {
    CHECK(argc > 2);
    void *library = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
    CHECK(library != NULL);
    void (*calls)(void (*)(void));
    *(void **)&calls = dlsym(library, "plugin_calls");
    CHECK(calls != NULL);
    calls(makes_a_mutex);
    void *first = (void *)((struct link_map *)library)->l_addr;
    CHECK(mprotect(first, 4096, PROT_NONE) == 0);
    void *third = dlopen(argv[2], RTLD_NOW);
    CHECK(third != NULL && dlclose(third) == 0);
    CHECK(mprotect(first, 4096, PROT_READ) == 0);
    puts("ok");
    return 0;
}
