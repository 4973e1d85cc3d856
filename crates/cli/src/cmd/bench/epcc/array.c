// Arrays that each thread has of its own, of 1, 729 and 59,049 numbers.
#include "bench.h"

// Takes the array's address, so that it is made.
static void use(double *array) {
    __asm__ volatile("" : : "r"(array) : "memory");
    delay(delay_steps);
}

#define PRAGMA(text) _Pragma(#text)

#define ARRAYS(size)                                                          \
    static double own_##size[size];                                           \
    PRAGMA(omp threadprivate(own_##size))                                     \
    static void private_##size(long reps) {                                   \
        double array[size];                                                   \
        for (long rep = 0; rep < reps; rep++) {                               \
            _Pragma("omp parallel private(array)") use(array);                \
        }                                                                     \
    }                                                                         \
    static void firstprivate_##size(long reps) {                              \
        double array[size];                                                   \
        for (int i = 0; i < size; i++) array[i] = i;                          \
        for (long rep = 0; rep < reps; rep++) {                               \
            _Pragma("omp parallel firstprivate(array)") use(array);           \
        }                                                                     \
    }                                                                         \
    static void copyin_##size(long reps) {                                    \
        for (long rep = 0; rep < reps; rep++) {                               \
            PRAGMA(omp parallel copyin(own_##size)) use(own_##size);          \
        }                                                                     \
    }                                                                         \
    static void copyprivate_##size(long reps) {                               \
        double array[size];                                                   \
        _Pragma("omp parallel private(array)")                                \
        for (long rep = 0; rep < reps; rep++) {                               \
            _Pragma("omp single copyprivate(array)") use(array);              \
        }                                                                     \
    }
ARRAYS(1)
ARRAYS(729)
ARRAYS(59049)

#define ROWS(size)                                                            \
    {"array", "private " #size, private_##size, delays}, {"array", "firstprivate " #size, firstprivate_##size, delays},\
        {"array", "copyin " #size, copyin_##size, delays}, {"array", "copyprivate " #size, copyprivate_##size, delays}

const struct measurement arrays[] = {ROWS(1), ROWS(729), ROWS(59049), {0}};
