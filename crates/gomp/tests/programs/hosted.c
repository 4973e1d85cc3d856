/* Target regions on the host, leagues of teams, allocators, what is displayed. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void target(void)
{
    int x = 1, y = 2, z = 0, level = -1;
    omp_set_num_threads(2);
    #pragma omp parallel
    #pragma omp single
    {
        #pragma omp target map(tofrom : x, level) firstprivate(y)
        {
            x += y;
            y = 100;
            level = omp_get_level();
        }
        #pragma omp target nowait depend(out : x) map(tofrom : x)
        x *= 10;
        #pragma omp target nowait depend(in : x) map(tofrom : x, z)
        z = x + 1;
        #pragma omp taskwait
        #pragma omp target enter data map(to : x)
        #pragma omp target update to(x)
        #pragma omp target exit data map(from : x)
    }
    printf("target: %d %d %d, level %d, devices %d\n", x, y, z, level, omp_get_num_devices());
    int from[6][5], to[4][3] = {{0}};
    for (int i = 0; i < 30; i++) from[i / 5][i % 5] = i;
    size_t volume[] = {2, 2}, to_at[] = {1, 1}, from_at[] = {3, 2}, to_size[] = {4, 3}, from_size[] = {6, 5};
    int host = omp_get_initial_device();
    int failed = omp_target_memcpy_rect(to, from, sizeof(int), 2, volume, to_at, from_at, to_size, from_size, host, host);
    printf("rectangle: %d, %d %d %d %d, %d\n", failed, to[1][1], to[1][2], to[2][1], to[2][2], to[0][0]);
}

static void teams(void)
{
    int count = 0, sum = 0, limit = 0;
    #pragma omp teams num_teams(4) thread_limit(2) reduction(+ : count, sum)
    {
        count++;
        sum += 10 * omp_get_team_num() + omp_get_num_teams();
        #pragma omp parallel num_threads(1)
        limit = omp_get_thread_limit();
    }
    printf("teams: %d %d, limit %d, outside %d\n", count, sum, limit, omp_get_num_teams());
    int inside = 0, over = 0;
    #pragma omp teams num_teams(2) thread_limit(3) reduction(+ : inside) reduction(max : over)
    #pragma omp parallel num_threads(8) reduction(+ : inside) reduction(max : over)
    {
        inside += omp_get_team_num() == 1;
        over = omp_get_num_threads() > 3;
    }
    printf("teams: %s in the second, %d over the limit\n", inside > 0 ? "threads" : "none", over);
}

static void memory(void)
{
    omp_alloctrait_t traits[] = {{omp_atk_alignment, 256}, {omp_atk_pool_size, 4096}, {omp_atk_fallback, omp_atv_null_fb}};
    omp_allocator_handle_t pool = omp_init_allocator(omp_default_mem_space, 3, traits);
    char *one = omp_alloc(1000, pool), *two = omp_alloc(3000, pool);
    int aligned = ((uintptr_t)one & 255) == 0;
    memset(one, 7, 1000);
    one = omp_realloc(one, 2000, pool, pool);
    int kept = one && one[999] == 7;
    omp_free(one, pool);
    int *zeros = omp_calloc(100, sizeof(int), pool), sum = 0;
    for (int i = 0; i < 100; i++) sum += zeros[i];
    omp_free(zeros, pool);
    two = omp_alloc(3000, pool);
    printf("memory: aligned %d, kept %d, zeros %d, then room %d\n", aligned, kept, sum, two != NULL);
    omp_free(two, pool);
    omp_destroy_allocator(pool);
    omp_alloctrait_t bad[] = {{omp_atk_alignment, 3}};
    printf("memory: bad traits %d\n", omp_init_allocator(omp_default_mem_space, 1, bad) == omp_null_allocator);
    int failed = 0;
    #pragma omp parallel num_threads(2) reduction(+ : failed)
    {
        omp_set_default_allocator(omp_low_lat_mem_alloc);
        failed += omp_get_default_allocator() != omp_low_lat_mem_alloc;
    }
    printf("memory: %d threads without their allocator, %d outside\n", failed, (int)omp_get_default_allocator());
}

static void display(void)
{
    char text[200];
    omp_set_affinity_format("%0.4{thread_num}/%3N. level %.3L %%");
    size_t whole = omp_capture_affinity(text, sizeof text, NULL);
    printf("display: %zu |%s|\n", whole, text);
    whole = omp_get_affinity_format(text, 5);
    printf("display: %zu |%s|\n", whole, text);
    printf("pause: %d\n", omp_pause_resource_all(omp_pause_soft));
}

int main(void)
{
    target();
    teams();
    memory();
    display();
    return 0;
}
