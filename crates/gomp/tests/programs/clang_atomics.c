/* Atomic updates that clang makes instructions of, and that libraries of other compilers call: of complex numbers, of `long double`,
   and compare-and-swap. All values are exact. */
#include <complex.h>
#include <omp.h>
#include <stdio.h>

typedef float _Complex cmplx4;
typedef double _Complex cmplx8;
typedef long double _Complex cmplx10;
typedef long double float10;

/* LLVM's library takes the thread's number at its word. */
int __kmpc_global_thread_num(void *);
static int self(void) { return __kmpc_global_thread_num(NULL); }

#define PLAIN(name, operation, type) void __kmpc_atomic_##name##_##operation(void *, int, type *, type);
#define RETURNS(name, operation, type) type __kmpc_atomic_##name##_##operation(void *, int, type *, type, int);
#define WRITES(name, operation, type) void __kmpc_atomic_##name##_##operation(void *, int, type *, type, type *, int);
#define OPERATIONS(type, cpt) \
    PLAIN(type, add, type) PLAIN(type, sub, type) PLAIN(type, sub_rev, type) PLAIN(type, mul, type) \
    PLAIN(type, div, type) PLAIN(type, div_rev, type) PLAIN(type, wr, type) \
    cpt(type, add_cpt, type) cpt(type, sub_cpt, type) cpt(type, sub_cpt_rev, type) cpt(type, mul_cpt, type) \
    cpt(type, div_cpt, type) cpt(type, div_cpt_rev, type) type __kmpc_atomic_##type##_rd(void *, int, type *);

OPERATIONS(cmplx4, WRITES)
OPERATIONS(cmplx8, RETURNS)
OPERATIONS(cmplx10, RETURNS)
OPERATIONS(float10, RETURNS)
PLAIN(float10, min, float10) PLAIN(float10, max, float10)
RETURNS(float10, min_cpt, float10) RETURNS(float10, max_cpt, float10)
void __kmpc_atomic_cmplx4_swp(void *, int, cmplx4 *, cmplx4, cmplx4 *);
cmplx8 __kmpc_atomic_cmplx8_swp(void *, int, cmplx8 *, cmplx8);
cmplx10 __kmpc_atomic_cmplx10_swp(void *, int, cmplx10 *, cmplx10);
float10 __kmpc_atomic_float10_swp(void *, int, float10 *, float10);
void __kmpc_atomic_cmplx4_add_cmplx8(void *, int, cmplx4 *, cmplx8);
void __kmpc_atomic_cmplx4_sub_cmplx8(void *, int, cmplx4 *, cmplx8);
void __kmpc_atomic_cmplx4_mul_cmplx8(void *, int, cmplx4 *, cmplx8);
void __kmpc_atomic_cmplx4_div_cmplx8(void *, int, cmplx4 *, cmplx8);

static void show(const char *what, cmplx10 value, cmplx10 result)
{
    printf("%s: %Lg %Lg, returned %Lg %Lg\n", what, creall(value), cimagl(value), creall(result), cimagl(result));
}

/* An update in its two forms; the captured form asks for the value before, then for that after. */
#define CALL_RETURNS(type, operation, x, y, flag, result) result = __kmpc_atomic_##type##_##operation(NULL, self(), &x, y, flag)
#define CALL_WRITES(type, operation, x, y, flag, result) __kmpc_atomic_##type##_##operation(NULL, self(), &x, y, &result, flag)
#define BOTH(type, plain, captured, left, right, CALL) do { \
    type x = left, result = 0; \
    __kmpc_atomic_##type##_##plain(NULL, self(), &x, right); \
    show(#type " " #plain, x, result); \
    for (int flag = 0; flag < 2; flag++) { \
        x = left; \
        CALL(type, captured, x, right, flag, result); \
        show(#type " " #captured, x, result); \
    } \
} while (0)
#define ALL(type, left, right, CALL) do { \
    BOTH(type, add, add_cpt, left, right, CALL); \
    BOTH(type, sub, sub_cpt, left, right, CALL); \
    BOTH(type, sub_rev, sub_cpt_rev, left, right, CALL); \
    BOTH(type, mul, mul_cpt, left, right, CALL); \
    BOTH(type, div, div_cpt, left, right, CALL); \
    BOTH(type, div_rev, div_cpt_rev, right, left, CALL); \
    type y = left; \
    __kmpc_atomic_##type##_wr(NULL, self(), &y, right); \
    show(#type " rd", y, __kmpc_atomic_##type##_rd(NULL, self(), &y)); \
} while (0)

static void complex_numbers(void)
{
    cmplx4 of_float = 8 + 6 * I, by_float = 2 - 1 * I, was;
    cmplx8 of_double = 12 - 4 * I, by_double = 1 + 1 * I;
    cmplx10 of_long = 1e4000L + 2e4000L * I, by_long = 2 - 2 * I;
    ALL(cmplx4, of_float, by_float, CALL_WRITES);
    ALL(cmplx8, of_double, by_double, CALL_RETURNS);
    ALL(cmplx10, of_long, by_long, CALL_RETURNS);
    __kmpc_atomic_cmplx4_swp(NULL, self(), &of_float, by_float, &was);
    show("cmplx4 swp", of_float, was);
    show("cmplx8 swp", by_double, __kmpc_atomic_cmplx8_swp(NULL, self(), &of_double, by_double));
    show("cmplx10 swp", by_long, __kmpc_atomic_cmplx10_swp(NULL, self(), &of_long, by_long));
    __kmpc_atomic_cmplx4_add_cmplx8(NULL, self(), &of_float, 0.5);
    __kmpc_atomic_cmplx4_mul_cmplx8(NULL, self(), &of_float, 2 + 2 * I);
    __kmpc_atomic_cmplx4_sub_cmplx8(NULL, self(), &of_float, 1 * I);
    __kmpc_atomic_cmplx4_div_cmplx8(NULL, self(), &of_float, 0.25 * I);
    show("cmplx4 by cmplx8", of_float, 0);
    /* A product with an infinite part is infinite, as in C. */
    cmplx8 infinite = __builtin_complex(__builtin_inf(), __builtin_nan(""));
    __kmpc_atomic_cmplx8_mul(NULL, self(), &infinite, 1 + 1 * I);
    printf("infinite: %d\n", __builtin_isinf(creal(infinite)) || __builtin_isinf(cimag(infinite)));
}

static void long_numbers(void)
{
    float10 left = 0x1.0000000000000002p+9L, right = -4;
    ALL(float10, left, right, CALL_RETURNS);
    BOTH(float10, min, min_cpt, left, right, CALL_RETURNS);
    BOTH(float10, max, max_cpt, left, right, CALL_RETURNS);
    BOTH(float10, min, min_cpt, right, left, CALL_RETURNS);
    BOTH(float10, max, max_cpt, right, left, CALL_RETURNS);
    float10 none = __builtin_nanl("");
    BOTH(float10, max, max_cpt, none, right, CALL_RETURNS);
    float10 was = __kmpc_atomic_float10_swp(NULL, self(), &left, right);
    show("float10 swp", left, was);
    printf("all 64 bits: %d\n", was == 0x1.0000000000000002p+9L);
}

#define SWAPS(bytes, type) \
    _Bool __kmpc_atomic_bool_##bytes##_cas(void *, int, type *, type, type); \
    type __kmpc_atomic_val_##bytes##_cas(void *, int, type *, type, type); \
    _Bool __kmpc_atomic_bool_##bytes##_cas_cpt(void *, int, type *, type, type, type *); \
    type __kmpc_atomic_val_##bytes##_cas_cpt(void *, int, type *, type, type, type *); \
    static void swaps_##bytes(void) { \
        type x = -5, out = 77; \
        printf("swap of %d:", bytes); \
        printf(" %d %d", __kmpc_atomic_bool_##bytes##_cas(NULL, self(), &x, -5, 6), __kmpc_atomic_bool_##bytes##_cas(NULL, self(), &x, -5, 7)); \
        printf(" %d", (int)__kmpc_atomic_val_##bytes##_cas(NULL, self(), &x, 6, 8)); \
        printf(" %d", (int)__kmpc_atomic_val_##bytes##_cas(NULL, self(), &x, 6, 9)); \
        printf(" %d", __kmpc_atomic_bool_##bytes##_cas_cpt(NULL, self(), &x, 8, 10, &out)); \
        printf(" %d", (int)out); \
        printf(" %d", __kmpc_atomic_bool_##bytes##_cas_cpt(NULL, self(), &x, 8, 11, &out)); \
        printf(" %d", (int)out); \
        printf(" %d", (int)__kmpc_atomic_val_##bytes##_cas_cpt(NULL, self(), &x, 10, 12, &out)); \
        printf(" %d", (int)out); \
        printf(" %d", (int)__kmpc_atomic_val_##bytes##_cas_cpt(NULL, self(), &x, 10, 13, &out)); \
        printf(" %d, %d\n", (int)out, (int)x); \
    }

SWAPS(1, signed char)
SWAPS(2, short)
SWAPS(4, int)
SWAPS(8, long)

/* No update is lost between threads. */
static void together(void)
{
    int threads = omp_get_max_threads();
    cmplx4 a = 0;
    cmplx8 b = 0;
    cmplx10 c = 0;
    float10 d = 0;
    int e = 0;
    #pragma omp parallel
    for (int n = 0; n < 2000; n++) {
        __kmpc_atomic_cmplx4_add(NULL, self(), &a, 1 + 2 * I);
        __kmpc_atomic_cmplx8_sub(NULL, self(), &b, 1 + 2 * I);
        __kmpc_atomic_cmplx10_add(NULL, self(), &c, 1 + 2 * I);
        __kmpc_atomic_float10_add(NULL, self(), &d, 1);
        for (int now = e; !__kmpc_atomic_bool_4_cas_cpt(NULL, self(), &e, now, now + 1, &now);) {}
    }
    show("together", (c + d + e) / threads, (a - b) / threads);
}

int main(void)
{
    complex_numbers();
    long_numbers();
    swaps_1();
    swaps_2();
    swaps_4();
    swaps_8();
    together();
    return 0;
}
