// A library (argv[1], without a slash) for which the C library searches, loaded with RTLD_DEEPBIND. Another library (argv[2])
// is loaded after it, and is the first one of which a function is looked up.
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>

int main(int argc, char **argv) {
    CHECK(argc > 2);
    void *deep = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND);
    CHECK(deep != NULL);
    void *other = dlopen(argv[2], RTLD_LAZY | RTLD_LOCAL);
    CHECK(other != NULL && other != deep && dlsym(other, "plugin_call") != NULL);
    int (*call)(void);
    *(void **)&call = dlsym(deep, "plugin_call");
    CHECK(call != NULL);
    for (int i = 1; i <= 1000; i++) CHECK(call() == 100 + i);
    // A search that finds nothing leaves nothing to rebind.
    CHECK(dlopen("no_such_library.so", RTLD_NOW | RTLD_DEEPBIND) == NULL && dlerror() != NULL);
    CHECK(dlsym(deep, "plugin_turns") != NULL && dlclose(other) == 0 && dlclose(deep) == 0);
    puts("ok");
    return 0;
}
