// Libraries that are loaded and unloaded in turn (argv[1] on: path and name of each), so that each lies where the one before lay.
#include "check.h"
#include <dlfcn.h>

enum { ROUNDS = 4, CALLS = 100 };

int main(int argc, char **argv) {
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 1; i + 1 < argc; i += 2) {
            char name[64];
            snprintf(name, sizeof name, "work_%s", argv[i + 1]);
            void *handle = dlopen(argv[i], RTLD_NOW);
            CHECK(handle != NULL);
            void (*work)(void) = (void (*)(void))dlsym(handle, name);
            CHECK(work != NULL);
            for (int call = 0; call < CALLS; call++) work();
            IS(dlclose(handle), 0);
        }
    puts("ok");
    return 0;
}
