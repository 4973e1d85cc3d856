/* What clang's interface has and GCC's has not, or has in another form. What is printed does not depend on timing. */
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int threads, part[64];

/* How many of the team's threads have marked themselves since the last call. */
static int took_part(void)
{
    int n = 0;
    for (int i = 0; i < 64; i++) n += part[i] != 0;
    memset(part, 0, sizeof part);
    return n;
}

static void mark(void) { part[omp_get_thread_num()] = 1; }

/* Waits until all threads of the team have come here, each with a chunk or a task of its own. */
static int arrived;
static void meet(void)
{
    mark();
    __atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
    double end = omp_get_wtime() + 5;
    while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < threads && omp_get_wtime() < end) sched_yield();
}

/* A region with more words than the registers of a call, and than any fixed number of them. */
#define TEN(x) x##0 = 1, x##1 = 2, x##2 = 3, x##3 = 4, x##4 = 5, x##5 = 6, x##6 = 7, x##7 = 8, x##8 = 9, x##9 = 10
#define SUM(x) x##0 + x##1 * 2 + x##2 + x##3 * 3 + x##4 + x##5 + x##6 + x##7 * 5 + x##8 + x##9
static void words(void)
{
    long TEN(a), TEN(b), TEN(c), TEN(d), TEN(e), TEN(f), TEN(g), TEN(h);
    long all = 0, few = 0;
    double third = 1.5;
    #pragma omp parallel firstprivate(a0, b1, c2) reduction(+ : all)
    {
        mark();
        all += SUM(a) + SUM(b) * 2 + SUM(c) + SUM(d) * 3 + SUM(e) + SUM(f) + SUM(g) + SUM(h) * 7;
    }
    printf("words: %ld by %d\n", all / threads, took_part() == threads);
    #pragma omp parallel reduction(+ : few)
    few += a0 + (long)(third * 2);
    printf("few words: %ld\n", few / threads);
    #pragma omp parallel if (threads > 1000) num_threads(5) reduction(+ : few)
    few += omp_get_num_threads() * 1000 + omp_get_level();
    #pragma omp parallel num_threads(2) reduction(+ : few)
    few += 0;
    printf("if: %ld\n", few / 1000);
}

/* An ordered loop in which the last iteration of the first chunk waits, behind its block, for the block of the next chunk.
 * Returns whether that block came within 10 s. */
static int behind_a_block(int chunk)
{
    int blocks = 0, came = threads == 1;
    #pragma omp parallel for ordered schedule(static, chunk)
    for (int i = 0; i < 2 * chunk + 1; i++) {
        #pragma omp ordered
        __atomic_add_fetch(&blocks, 1, __ATOMIC_SEQ_CST);
        double end = omp_get_wtime() + 10;
        while (i + 1 == chunk && !came && omp_get_wtime() < end) {
            came = __atomic_load_n(&blocks, __ATOMIC_SEQ_CST) > chunk;
            sched_yield();
        }
    }
    return came;
}

static void loops(void)
{
    int wrong = 0, last = -1;
    for (int n = 0; n < 40; n += 3) {
        int seen[64] = {0};
        #pragma omp parallel
        {
            #pragma omp for schedule(static) lastprivate(last)
            for (int i = n; i > 0; i--) {
                #pragma omp atomic
                seen[i]++;
                last = i;
            }
            #pragma omp for schedule(static, 3) nowait
            for (unsigned char i = 0; i < n; i++) {
                #pragma omp atomic
                seen[i]++;
            }
            #pragma omp for schedule(dynamic, 2) nowait
            for (long i = -5; i < n - 5; i++) {
                #pragma omp atomic
                seen[i + 5]++;
            }
            #pragma omp for schedule(guided)
            for (unsigned long i = 7; i < 7 + 2ul * n; i += 2) {
                #pragma omp atomic
                seen[(i - 7) / 2]++;
            }
            #pragma omp for simd schedule(simd : static)
            for (int i = 0; i < n; i++) {
                #pragma omp atomic
                seen[i]++;
            }
            #pragma omp for schedule(runtime) collapse(2)
            for (int i = 0; i < n; i++)
                for (int j = 0; j < 2; j++) {
                    #pragma omp atomic
                    seen[i]++;
                }
        }
        for (int i = 0; i <= n; i++) {
            int times = (i > 0 && i <= n) + (i < n) * 6;
            wrong += seen[i] != times;
        }
        if (n && last != 1) wrong++;
    }
    printf("loops: %d wrong\n", wrong);
    arrived = 0;
    #pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < threads; i++) meet();
    printf("dynamic: all %d\n", took_part() == threads);
    int order = 0, early = 0;
    for (int round = 0; round < 3; round++) {
        order = 0;
        #pragma omp parallel for ordered schedule(dynamic, 2)
        for (int i = 0; i < 41; i++) {
            #pragma omp ordered
            early += order++ != i;
        }
        order = 0;
        #pragma omp parallel for ordered schedule(static)
        for (unsigned i = 0; i < 41; i++) {
            #pragma omp ordered
            early += order++ != i;
        }
    }
    printf("ordered: %d early, behind a block: %d %d\n", early, behind_a_block(1), behind_a_block(3));
    int sections = 0;
    #pragma omp parallel sections reduction(+ : sections)
    {
        sections += 1;
        #pragma omp section
        sections += 10;
        #pragma omp section
        sections += 100;
    }
    printf("sections: %d\n", sections);
}

static int tp = 3;
#pragma omp threadprivate(tp)

/* The same number, by a region whose threads reduce more than a few variables. */
static int one(int n)
{
    int a = 0, b = 0, c = 0, d = 0, e = 0;
    #pragma omp parallel num_threads(2) reduction(+ : a, b, c, d, e)
    a++, b++, c++, d++, e++;
    return a == b && b == c && c == d && d == e ? n : -1000;
}

static void blocks(void)
{
    int value = 0, sum = 0, masked = 0, critical = 0;
    #pragma omp parallel firstprivate(value) reduction(+ : sum)
    {
        #pragma omp single copyprivate(value, tp)
        value = 41, tp = 7;
        sum += value + tp;
        #pragma omp masked filter(omp_get_num_threads() - 1)
        masked += omp_get_thread_num() + 1;
        #pragma omp barrier
        #pragma omp master
        masked += 100;
        for (int i = 0; i < 100; i++) {
            #pragma omp critical
            critical++;
            #pragma omp critical(named) hint(omp_sync_hint_contended)
            critical += 0;
        }
    }
    printf("copyprivate: %d, masked: %d, critical: %d\n", sum / threads, masked - threads, critical / threads);
    int a = 0, b = 1, c = 0, d = 0, e = 0, array[3] = {0};
    double f = 0;
    #pragma omp parallel reduction(+ : a, c, d, e, f, array) reduction(* : b)
    {
        a++, c += 2, d += 3, e += 4, f += .5, b *= 2;
        for (int i = 0; i < 3; i++) array[i] += i;
    }
    printf("reductions: %d %d %d %d %d %g %d\n", a / threads, b == 1 << threads, c / threads, d / threads, e / threads, f / threads,
           array[2] / threads);
    /* Five variables take turns; a combination that has a region of its own must not lose the turn. */
    int v = 0, w = 0, x = 0, y = 0, z = 0;
    #pragma omp declare reduction(inner : int : omp_out += one(omp_in)) initializer(omp_priv = 0)
    for (int round = 0; round < 3; round++) {
        #pragma omp parallel reduction(inner : v, w, x, y, z)
        v++, w++, x++, y++, z++;
    }
    printf("combined: %d %d\n", v / threads, v + w + x + y + z == 15 * threads);
    tp = 9;
    #pragma omp parallel copyin(tp) reduction(+ : sum)
    sum += tp - 9;
    printf("copyin: %d\n", sum / threads);
}

static void locks(void)
{
    omp_lock_t lock, hinted;
    omp_nest_lock_t nest;
    int count = 0, nested = 0, depth = 0, held = 0;
    omp_init_lock(&lock);
    omp_init_lock_with_hint(&hinted, omp_sync_hint_contended);
    omp_init_nest_lock(&nest);
    #pragma omp parallel reduction(max : depth)
    for (int i = 0; i < 50; i++) {
        omp_set_lock(&lock);
        count++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        nested++;
        depth = omp_test_nest_lock(&nest);
        for (int j = 0; j < 3; j++) omp_unset_nest_lock(&nest);
        while (!omp_test_lock(&hinted)) sched_yield();
        held++;
        omp_unset_lock(&hinted);
    }
    omp_destroy_lock(&lock);
    omp_destroy_lock(&hinted);
    omp_destroy_nest_lock(&nest);
    printf("locks: %d %d %d %d\n", count / threads, nested / threads, held / threads, depth);
}

static void leagues(void)
{
    int iterations[30] = {0}, teams = 0, wrong = 0;
    #pragma omp teams num_teams(2) thread_limit(2) reduction(+ : teams)
    {
        teams += omp_get_num_teams() == 2 && omp_get_team_num() < 2 && !omp_in_parallel();
        #pragma omp distribute parallel for dist_schedule(static, 4)
        for (int i = 0; i < 30; i++) {
            #pragma omp atomic
            iterations[i]++;
        }
        #pragma omp distribute
        for (int i = 0; i < 30; i++) {
            #pragma omp atomic
            iterations[i]++;
        }
        #pragma omp distribute parallel for schedule(dynamic)
        for (int i = 0; i < 30; i++) {
            #pragma omp atomic
            iterations[i]++;
        }
    }
    for (int i = 0; i < 30; i++) wrong += iterations[i] != 3;
    printf("teams: %d, %d wrong\n", teams, wrong);
    int on_host = 0;
    #pragma omp target map(tofrom : on_host)
    on_host = omp_is_initial_device();
    printf("target: %d, devices: %d\n", on_host, omp_get_num_devices());
}

/* A variable whose value a thread changes before the other threads ask for their copies, which begin with the first value. */
static int first_value = 3;
static struct { char bytes[100]; } __attribute__((aligned(256))) wide;
#pragma omp threadprivate(first_value, wide)
static void copies(void)
{
    int wrong = 0;
    first_value = 4;
    #pragma omp parallel reduction(+ : wrong)
    wrong += first_value != (omp_get_thread_num() ? 3 : 4) || (unsigned long)&wide % 64 != 0;
    printf("copies: %d wrong\n", wrong);
}

/* Calls that clang makes instructions of. Numbers of 8 and 16 bits are shifted as numbers of 32 bits. */
void __kmpc_atomic_fixed1_shl(void *, int, signed char *, signed char);
void __kmpc_atomic_fixed1_shr(void *, int, signed char *, signed char);
void __kmpc_atomic_fixed1u_shr(void *, int, unsigned char *, unsigned char);
void __kmpc_atomic_fixed2_shl(void *, int, short *, short);
void __kmpc_atomic_fixed2_shr(void *, int, short *, short);
void __kmpc_atomic_fixed2u_shr(void *, int, unsigned short *, unsigned short);
void __kmpc_atomic_fixed1_add(void *, int, signed char *, signed char);
static void shifts(void)
{
    for (int n = 0; n < 24; n += 5) {
        signed char a = 93, b = -93, c = 100;
        unsigned char d = 201;
        short e = 30001, f = -30001;
        unsigned short g = 60001;
        __kmpc_atomic_fixed1_shl(NULL, 0, &a, n);
        __kmpc_atomic_fixed1_shr(NULL, 0, &b, n);
        __kmpc_atomic_fixed1_add(NULL, 0, &c, 10 * n);
        __kmpc_atomic_fixed1u_shr(NULL, 0, &d, n);
        __kmpc_atomic_fixed2_shl(NULL, 0, &e, n);
        __kmpc_atomic_fixed2_shr(NULL, 0, &f, n);
        __kmpc_atomic_fixed2u_shr(NULL, 0, &g, n);
        printf("shifts by %d: %d %d %d %d %d %d %d\n", n, a, b, c, d, e, f, g);
    }
}

int main(int argc, char **argv)
{
    threads = omp_get_max_threads();
    words();
    loops();
    blocks();
    locks();
    leagues();
    copies();
    shifts();
    return 0;
}
