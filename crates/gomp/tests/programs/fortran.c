/* The Fortran forms with arguments, called as gfortran does: by address. It prints what the C forms then say. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>

#define NUMBER(NAME) \
    void NAME##_(const int32_t *); \
    void NAME##_8_(const int64_t *);
#define ASKED(NAME) \
    int32_t NAME##_(const int32_t *); \
    int32_t NAME##_8_(const int64_t *);
NUMBER(omp_set_num_threads)
NUMBER(omp_set_dynamic)
NUMBER(omp_set_nested)
NUMBER(omp_set_max_active_levels)
NUMBER(omp_set_default_device)
ASKED(omp_get_ancestor_thread_num)
ASKED(omp_get_team_size)
ASKED(omp_get_place_num_procs)
void omp_set_schedule_(const int32_t *, const int32_t *);
void omp_set_schedule_8_(const int32_t *, const int64_t *);
void omp_get_schedule_(int32_t *, int32_t *);
void omp_get_schedule_8_(int32_t *, int64_t *);
void omp_init_nest_lock_(void **);
void omp_destroy_nest_lock_(void **);
void omp_set_nest_lock_(void **);
void omp_unset_nest_lock_(void **);
int32_t omp_test_nest_lock_(void **);
int32_t omp_get_place_num_(void);
int32_t omp_get_partition_num_places_(void);
int32_t omp_get_device_num_(void);

#define BOTH(CALL, SHOW) \
    for (int64_t n = 0; n < 5; n++) { \
        int32_t s = n + 1; \
        CALL##_(&s); \
        printf(#CALL " %d: %d", s, SHOW); \
        CALL##_8_(&n); \
        printf(", %d: %d\n", (int)n, SHOW); \
    }

int main(void) {
    BOTH(omp_set_num_threads, omp_get_max_threads())
    BOTH(omp_set_dynamic, omp_get_dynamic())
    BOTH(omp_set_nested, omp_get_nested())
    BOTH(omp_set_max_active_levels, omp_get_max_active_levels())
    BOTH(omp_set_default_device, omp_get_default_device())
    int32_t none = 0;
    omp_set_dynamic_(&none);
    for (int32_t kind = 1; kind <= 4; kind++) {
        int32_t short_chunk = 7, now = 0;
        int64_t chunk = 9, now_8 = 0;
        omp_set_schedule_(&kind, &short_chunk);
        int32_t is = 0;
        omp_get_schedule_(&is, &now);
        printf("schedule %x, %d", is, now);
        omp_set_schedule_8_(&kind, &chunk);
        omp_get_schedule_8_(&is, &now_8);
        printf("; %x, %d\n", is, (int)now_8);
    }
    void *lock;
    omp_init_nest_lock_(&lock);
    omp_set_nest_lock_(&lock);
    printf("again: %d\n", omp_test_nest_lock_(&lock));
    int other = -1;
    #pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1) other = omp_test_nest_lock_(&lock);
    }
    omp_unset_nest_lock_(&lock);
    omp_unset_nest_lock_(&lock);
    printf("another thread: %d, then %d\n", other, omp_test_nest_lock_(&lock));
    omp_unset_nest_lock_(&lock);
    omp_destroy_nest_lock_(&lock);
    int sum = 0;
    #pragma omp parallel num_threads(3) reduction(+ : sum)
    {
        int32_t one = 1, two = 2;
        int64_t one_8 = 1, none_8 = 0;
        sum += omp_get_ancestor_thread_num_(&one) * 1000 + omp_get_ancestor_thread_num_8_(&one_8) * 100;
        sum += omp_get_team_size_(&one) + omp_get_team_size_8_(&none_8) * 10 + omp_get_team_size_(&two);
    }
    int64_t first = 0;
    printf("sum %d; places: %d %d %d %d; device %d\n", sum, omp_get_place_num_procs_(&none), omp_get_place_num_procs_8_(&first),
           omp_get_place_num_(), omp_get_partition_num_places_(), omp_get_device_num_());
    return 0;
}
