// OpenMP: critical sections with and without a name, locks, nested locks, barriers, a reduction to compare with.
#include "check.h"
#include <omp.h>

int main(void) {
    long a = 0, b = 0, c = 0, d = 0, sum = 0;
    omp_lock_t lock, many[200];
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    for (int i = 0; i < 200; i++) omp_init_lock(&many[i]);
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
        for (int i = 0; i < 500; i++) {
#pragma omp critical
            a++;
#pragma omp critical(named)
            b++;
            omp_set_lock(&lock);
            c++;
            omp_unset_lock(&lock);
            omp_set_nest_lock(&nest);
            CHECK(omp_test_nest_lock(&nest) == 2);
            d++;
            omp_unset_nest_lock(&nest);
            omp_unset_nest_lock(&nest);
            omp_set_lock(&many[i % 200]);
            omp_unset_lock(&many[i % 200]);
            sum += i;
        }
#pragma omp barrier
        CHECK(a == 1000);
#pragma omp barrier
    }
    CHECK(a == 1000 && b == 1000 && c == 1000 && d == 1000 && sum == 2L * 499 * 500 / 2);
    CHECK(omp_test_lock(&lock));
#pragma omp parallel num_threads(2)
#pragma omp single
    CHECK(!omp_test_lock(&lock));
    omp_unset_lock(&lock);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
    for (int i = 0; i < 200; i++) omp_destroy_lock(&many[i]);
    omp_init_lock(&lock);
    CHECK(omp_test_lock(&lock));
    puts("ok");
    return 0;
}
