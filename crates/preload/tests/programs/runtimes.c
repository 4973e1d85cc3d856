// Two libraries (argv[1], argv[2]) that are named like runtimes of OpenMP, of which only the second one is a runtime.
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>

int main(int argc, char **argv) {
    CHECK(argc > 2);
    void *first = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), *second = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    CHECK(first != NULL && second != NULL);
    void (*start)(void), (*end)(void);
    int (*calls)(void);
    *(void **)&start = dlsym(RTLD_DEFAULT, "GOMP_critical_start");
    *(void **)&end = dlsym(RTLD_DEFAULT, "GOMP_critical_end");
    *(void **)&calls = dlsym(second, "runtime_calls");
    CHECK(start != NULL && end != NULL && calls != NULL);
    start();
    end();
    CHECK(calls() == 2);
    puts("ok");
    return 0;
}
