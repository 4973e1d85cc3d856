// Threads that meet at a lock inside of glibc: that of `rand`. Each of four threads draws as many numbers as the
// argument says.
#include "check.h"

static int draws;

__attribute__((noinline)) static unsigned roll(void) {
    unsigned sum = 0;
    for (int i = 0; i < draws; i++) sum += (unsigned)rand();
    return sum;
}

static void *roller(void *sum) {
    *(unsigned *)sum = roll();
    return NULL;
}

int main(int argc, char **argv) {
    draws = argc > 1 ? atoi(argv[1]) : 100000;
    pthread_t t[4];
    unsigned sums[4];
    for (int i = 0; i < 4; i++) IS(pthread_create(&t[i], NULL, roller, &sums[i]), 0);
    for (int i = 0; i < 4; i++) IS(pthread_join(t[i], NULL), 0);
    puts("ok");
    return 0;
}
