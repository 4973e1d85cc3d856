/* Tasks in the forms that clang gives them. What is printed does not depend on timing. */
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int threads, part[64], arrived;

static int took_part(void)
{
    int n = 0;
    for (int i = 0; i < 64; i++) n += part[i] != 0;
    memset(part, 0, sizeof part);
    return n;
}

static void meet(void)
{
    part[omp_get_thread_num()] = 1;
    __atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
    double end = omp_get_wtime() + 5;
    while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < threads && omp_get_wtime() < end) sched_yield();
}

static long fib(int n)
{
    long a, b;
    if (n < 2) return n;
    #pragma omp task untied shared(a) firstprivate(n)
    a = fib(n - 1);
    #pragma omp task untied shared(b) firstprivate(n) final(n < 6)
    b = fib(n - 2);
    #pragma omp taskwait
    return a + b;
}

/* An untied task that hands itself back at each of its scheduling points. */
static void untied(void)
{
    int sum = 0;
    #pragma omp parallel
    #pragma omp single
    for (int n = 0; n < 20; n++) {
        #pragma omp task untied firstprivate(n) shared(sum)
        {
            int own = n;
            #pragma omp task shared(own)
            own += 100;
            #pragma omp taskwait
            #pragma omp taskyield
            own *= 2;
            #pragma omp atomic
            sum += own;
        }
    }
    printf("untied: %d\n", sum);
}

static void plain(void)
{
    long result = 0;
    int inside = 0, big[40];
    for (int i = 0; i < 40; i++) big[i] = i;
    #pragma omp parallel
    #pragma omp single
    result = fib(15);
    printf("fib: %ld\n", result);
    arrived = 0;
    #pragma omp parallel
    {
        #pragma omp single nowait
        for (int i = 0; i < threads; i++) {
            #pragma omp task firstprivate(big)
            {
                meet();
                #pragma omp atomic
                inside += big[39];
            }
        }
    }
    printf("tasks: all %d, %d\n", took_part() == threads, inside / threads);
    int ran = 0, order[3] = {0}, at = 0;
    #pragma omp parallel
    #pragma omp single
    {
        #pragma omp task if (0) shared(ran)
        {
            #pragma omp task shared(ran)
            ran++;
            #pragma omp taskwait
            ran += 10 * ran;
        }
        ran *= 3;
        #pragma omp taskgroup
        {
            for (int i = 0; i < 10; i++) {
                #pragma omp task priority(i) shared(ran)
                {
                    #pragma omp task shared(ran)
                    {
                        #pragma omp atomic
                        ran++;
                    }
                }
            }
        }
        order[at++] = ran;
    }
    printf("if and group: %d\n", order[0]);
}

static void dependences(void)
{
    int x = 0, y = 0, z = 0, wrong = 0, set = 0;
    omp_depend_t stored;
    #pragma omp parallel
    #pragma omp single
    {
        for (int i = 0; i < 50; i++) {
            #pragma omp task depend(inout : x)
            x++;
            #pragma omp task depend(in : x) depend(out : y) shared(wrong)
            {
                wrong += x < i + 1;
                y = x;
            }
        }
        #pragma omp task depend(mutexinoutset : z)
        z += 1;
        #pragma omp task depend(mutexinoutset : z)
        z += 2;
        #pragma omp task depend(inoutset : set)
        {
            #pragma omp atomic
            set += 1;
        }
        #pragma omp task depend(inoutset : set)
        {
            #pragma omp atomic
            set += 2;
        }
        #pragma omp depobj(stored) depend(inout : z)
        #pragma omp task depend(depobj : stored)
        z *= 10;
        #pragma omp depobj(stored) destroy
        #pragma omp task depend(in : z, set) if (0)
        printf("undeferred: %d %d\n", z, set);
        #pragma omp taskwait depend(in : y)
        printf("waited: %d\n", y);
        #pragma omp task depend(inout : omp_all_memory)
        wrong += x != 50;
        #pragma omp task depend(in : x)
        x = -1;
        #pragma omp taskwait
        printf("depend: %d, %d wrong\n", x, wrong);
    }
}

static void taskloops(void)
{
    int seen[100] = {0}, last = 0, wrong = 0, array[4] = {1, 2, 3, 4}, sum = 0;
    #pragma omp parallel
    #pragma omp single
    {
        #pragma omp taskloop grainsize(7) lastprivate(last) firstprivate(array)
        for (int i = 0; i < 100; i++) {
            seen[i] += array[0];
            array[0] = 1;
            last = i;
        }
        #pragma omp taskloop num_tasks(9) nogroup
        for (long i = 99; i >= 0; i--) seen[i]++;
        #pragma omp taskwait
        #pragma omp taskloop grainsize(strict : 30) reduction(+ : sum)
        for (unsigned i = 0; i < 100; i += 3) sum += i;
        #pragma omp taskloop if (0)
        for (int i = 0; i < 100; i++) seen[i]++;
    }
    for (int i = 0; i < 100; i++) wrong += seen[i] != 3;
    printf("taskloop: %d wrong, last %d, sum %d\n", wrong, last, sum);
    arrived = 0;
    #pragma omp parallel
    #pragma omp single
    #pragma omp taskloop num_tasks(threads)
    for (int i = 0; i < threads; i++) meet();
    printf("taskloop: all %d\n", took_part() == threads);
}

static void reductions(void)
{
    int sum = 1, product = 1, of_region = 5, of_loop = 0, big[300] = {0};
    #pragma omp parallel
    #pragma omp single
    #pragma omp taskgroup task_reduction(+ : sum, big) task_reduction(* : product)
    for (int i = 0; i < 20; i++) {
        #pragma omp task in_reduction(+ : sum, big) in_reduction(* : product)
        {
            sum += i;
            big[i] += i;
            if (i < 5) product *= 2;
            #pragma omp taskgroup
            {
                #pragma omp task in_reduction(+ : sum)
                sum += 100;
            }
        }
    }
    #pragma omp parallel reduction(task, + : of_region)
    {
        of_region += 1;
        for (int i = 0; i < 3; i++) {
            #pragma omp task in_reduction(+ : of_region)
            of_region += 10;
        }
    }
    #pragma omp parallel
    #pragma omp for reduction(task, + : of_loop)
    for (int i = 0; i < 24; i++) {
        #pragma omp task in_reduction(+ : of_loop)
        of_loop += i;
    }
    printf("reductions: %d %d %d %d %d\n", sum, product, (of_region - 5) / threads, of_loop, big[19]);
}

static void detached(void)
{
    int done = 0, after = 0;
    #pragma omp parallel
    #pragma omp single
    {
        for (int i = 0; i < 12; i++) {
            omp_event_handle_t event;
            #pragma omp task detach(event) depend(out : done)
            done++;
            #pragma omp task firstprivate(event)
            omp_fulfill_event(event);
        }
        #pragma omp task depend(in : done)
        after = done;
        #pragma omp taskwait
    }
    printf("detached: %d %d\n", done, after);
    int ran = 0, fulfilled = 0, waited = 0, grouped = 0;
    #pragma omp parallel
    #pragma omp single
    {
        /* Tasks that their maker runs at once: it does not wait for their events, but a taskwait and a group's end do. */
        for (int i = 0; i < 3; i++) {
            omp_event_handle_t event;
            #pragma omp task detach(event) if (0) shared(ran)
            ran++;
            #pragma omp task firstprivate(event) shared(fulfilled)
            {
                /* The taskwait does not wait for a grandchild itself, but for the event. */
                #pragma omp task firstprivate(event) shared(fulfilled) if (threads > 1)
                {
                    #pragma omp atomic
                    fulfilled++;
                    omp_fulfill_event(event);
                }
            }
        }
        #pragma omp taskwait
        waited = fulfilled;
        #pragma omp taskgroup
        {
            #pragma omp task final(1) shared(ran, fulfilled)
            {
                omp_event_handle_t event;
                #pragma omp task detach(event) shared(ran)
                ran++;
                fulfilled++;
                omp_fulfill_event(event);
            }
        }
        grouped = fulfilled;
    }
    printf("at once: %d %d %d\n", ran, waited, grouped);
}

static void cancelled(void)
{
    int loop = 0, tasks = 0, region = 0, sections = 0;
    #pragma omp parallel
    {
        #pragma omp for schedule(dynamic)
        for (int i = 0; i < 1000; i++) {
            #pragma omp cancellation point for
            #pragma omp atomic
            loop++;
            if (i == 3) {
                #pragma omp cancel for
            }
        }
        #pragma omp for
        for (int i = 0; i < 1000; i++) {
            if (i == 3) {
                #pragma omp cancel for
            }
        }
        #pragma omp for schedule(dynamic)
        for (int i = 0; i < 24; i++) {
            #pragma omp atomic
            region++;
        }
        #pragma omp sections
        {
            {
                #pragma omp cancel sections
                sections++;
            }
        }
    }
    #pragma omp parallel
    {
        #pragma omp masked
        #pragma omp taskgroup
        {
            #pragma omp task
            {
                #pragma omp cancel taskgroup
                tasks += 1;
            }
            #pragma omp taskwait
            for (int i = 0; i < 10; i++) {
                #pragma omp task
                {
                    #pragma omp atomic
                    tasks++;
                }
            }
        }
    }
    int on = omp_get_cancellation(), after = 0;
    #pragma omp parallel
    {
        #pragma omp cancel parallel
        #pragma omp atomic
        after++;
        #pragma omp barrier
    }
    printf("cancel %d: %d %d %d %d %d\n", on, on ? loop < 1000 : loop == 1000, region, sections, tasks, after == (on ? 0 : threads));
}

/* A doacross loop inside of an iteration of another one. */
static int inner_sum(void)
{
    int sums[5] = {1};
    #pragma omp parallel for ordered(1) schedule(static, 1)
    for (int i = 1; i < 5; i++) {
        #pragma omp ordered depend(sink : i - 1)
        sums[i] = sums[i - 1] + i;
        #pragma omp ordered depend(source)
    }
    return sums[4];
}

static void doacross(void)
{
    int early = 0, grid[12][12] = {{0}};
    #pragma omp parallel for ordered(2) schedule(dynamic)
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 12; j++) {
            #pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
            int above = i ? grid[i - 1][j] : 1, before = j ? grid[i][j - 1] : 1;
            if (!above || !before) {
                #pragma omp atomic
                early++;
            }
            grid[i][j] = above % 1000 + before % 1000;
            #pragma omp ordered depend(source)
        }
    int sum = 0;
    #pragma omp parallel for ordered(1) schedule(static, 1)
    for (long i = 30; i > 0; i -= 3) {
        #pragma omp ordered depend(sink : i + 3)
        sum = sum * 2 + (int)i + inner_sum();
        #pragma omp ordered depend(source)
    }
    printf("doacross: %d early, %d, %d\n", early, grid[11][11], sum);
}

int main(void)
{
    threads = omp_get_max_threads();
    plain();
    untied();
    dependences();
    taskloops();
    reductions();
    detached();
    cancelled();
    doacross();
    return 0;
}
