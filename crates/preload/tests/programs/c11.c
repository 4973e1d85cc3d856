// C11 threads, mutexes and conditions.
#include "check.h"
#include <threads.h>

static mtx_t plain, recursive, timed;
static cnd_t cnd;
static int total, ready;

static int adder(void *arg) {
    (void)arg;
    for (int i = 0; i < 500; i++) {
        CHECK(mtx_lock(&plain) == thrd_success);
        total++;
        CHECK(mtx_unlock(&plain) == thrd_success);
    }
    return 7;
}

static int waiter(void *arg) {
    (void)arg;
    mtx_lock(&plain);
    while (!ready) CHECK(cnd_wait(&cnd, &plain) == thrd_success);
    mtx_unlock(&plain);
    return 0;
}

static int timed_try(void *arg) {
    (void)arg;
    struct timespec t = after(CLOCK_REALTIME, 20);
    CHECK(mtx_trylock(&timed) == thrd_busy);
    CHECK(mtx_timedlock(&timed, &t) == thrd_timedout);
    CHECK(mtx_trylock(&recursive) == thrd_busy);
    return 0;
}

int main(void) {
    thrd_t t[3];
    int answer;
    CHECK(mtx_init(&plain, mtx_plain) == thrd_success);
    CHECK(mtx_init(&recursive, mtx_plain | mtx_recursive) == thrd_success);
    CHECK(mtx_init(&timed, mtx_timed) == thrd_success);
    CHECK(cnd_init(&cnd) == thrd_success);
    for (int i = 0; i < 2; i++) CHECK(thrd_create(&t[i], adder, NULL) == thrd_success);
    for (int i = 0; i < 2; i++) CHECK(thrd_join(t[i], &answer) == thrd_success && answer == 7);
    CHECK(total == 1000);
    CHECK(mtx_lock(&recursive) == thrd_success && mtx_trylock(&recursive) == thrd_success);
    CHECK(mtx_lock(&timed) == thrd_success);
    CHECK(thrd_create(&t[0], timed_try, NULL) == thrd_success && thrd_join(t[0], NULL) == thrd_success);
    CHECK(mtx_unlock(&recursive) == thrd_success && mtx_unlock(&recursive) == thrd_success);
    CHECK(mtx_unlock(&timed) == thrd_success);
    struct timespec past = {0, 0};
    mtx_lock(&plain);
    CHECK(cnd_timedwait(&cnd, &plain, &past) == thrd_timedout);
    mtx_unlock(&plain);
    for (int i = 0; i < 3; i++) CHECK(thrd_create(&t[i], waiter, NULL) == thrd_success);
    usleep(2000);
    mtx_lock(&plain);
    ready = 1;
    CHECK(cnd_signal(&cnd) == thrd_success && cnd_broadcast(&cnd) == thrd_success);
    mtx_unlock(&plain);
    for (int i = 0; i < 3; i++) CHECK(thrd_join(t[i], NULL) == thrd_success);
    cnd_destroy(&cnd);
    mtx_destroy(&plain), mtx_destroy(&recursive), mtx_destroy(&timed);
    puts("ok");
    return 0;
}
