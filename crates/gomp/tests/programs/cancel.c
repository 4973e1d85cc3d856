/* Cancellation of each construct. It checks itself; what it prints is the same each time. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int wrong;

static void expect(const char *what, int good) {
    if (!good) {
        printf("WRONG: %s\n", what);
        wrong = 1;
    }
}

/* A thread that loses its CPU before it cancels may leave a whole loop to the others: some repetitions must be cut short. */
static void loops(int on) {
    int cut = 0;
    for (int again = 0; again < 50; again++) {
        int ran = 0, second = 0, third = 0;
        #pragma omp parallel num_threads(4)
        {
            #pragma omp for schedule(dynamic)
            for (int i = 0; i < 1000; i++) {
                #pragma omp atomic
                ran++;
                #pragma omp cancel for if (i == 10)
                #pragma omp cancellation point for
            }
            #pragma omp for schedule(dynamic)
            for (int i = 0; i < 100; i++) {
                #pragma omp atomic
                second++;
                #pragma omp cancellation point for
            }
            #pragma omp for schedule(static)
            for (int i = 0; i < 400; i++) {
                #pragma omp atomic
                third++;
                #pragma omp cancel for if (i % 100 == 3)
            }
        }
        expect("a loop runs up to its cancellation", ran >= 11 && ran <= 1000);
        cut += ran < 1000;
        expect("the next loop is not", second == 100);
        expect("a static loop is cancelled", on ? third >= 4 && third <= 16 : third == 400);
    }
    expect("loops are cancelled", on ? cut > 0 : cut == 0);
}

static void sections(int on) {
    for (int again = 0; again < 50; again++) {
        int after = 0, last = 0;
        #pragma omp parallel num_threads(3)
        #pragma omp sections
        {
            #pragma omp section
            {
                #pragma omp cancel sections
                #pragma omp atomic
                after++;
            }
            #pragma omp section
            {
                #pragma omp cancellation point sections
                last = 1;
            }
        }
        expect("the section ends where it is cancelled", after == !on);
        expect("a section runs or is cancelled", on || last);
    }
}

/* A thread cancels while others are at a barrier, in a loop, or still on their way. */
static void regions(int on) {
    for (int again = 0; again < 100; again++) {
        int past = 0, here = 0, ahead = 0, late = 0;
        #pragma omp parallel num_threads(4)
        {
            int me = omp_get_thread_num();
            #pragma omp for schedule(dynamic)
            for (int i = 0; i < 8; i++) {
                #pragma omp atomic
                ahead++;
            }
            /* The one that cancels does so after some barriers; another one may be late. */
            for (int i = 0; i < again % 5; i++) {
                #pragma omp barrier
            }
            if (me == (again + 1) % 4) {
                for (volatile int i = 0; i < again * 100; i++) {
                }
            }
            if (me == again % 4) {
                #pragma omp cancel parallel
            }
            #pragma omp atomic
            here++;
            /* The threads on their way enter a loop that the others never see. */
            #pragma omp for schedule(dynamic) nowait
            for (int i = 0; i < 8; i++) {
                #pragma omp atomic
                late++;
            }
            #pragma omp barrier
            #pragma omp atomic
            past++;
        }
        expect("the region is cancelled, or is whole", on ? here < 4 && past == 0 : here == 4 && past == 4);
        expect("the loop before is whole", ahead == 8);
        expect("the loop after is run by those who are there", late == (here > 0 ? 8 : 0));
        int next = 0;
        #pragma omp parallel num_threads(4)
        {
            #pragma omp for schedule(dynamic)
            for (int i = 0; i < 100; i++) {
                #pragma omp atomic
                next++;
            }
            #pragma omp single
            next += 1000;
        }
        expect("the next region is whole", next == 1100);
    }
}

static void groups(int on) {
    int ran = 0, outside = 0;
    #pragma omp parallel num_threads(4)
    #pragma omp single
    {
        #pragma omp task
        {
            #pragma omp atomic
            outside++;
        }
        #pragma omp taskgroup
        {
            for (int i = 0; i < 200; i++) {
                #pragma omp task
                {
                    #pragma omp cancellation point taskgroup
                    #pragma omp atomic
                    ran++;
                    #pragma omp cancel taskgroup
                    #pragma omp atomic
                    ran += 1000;
                }
            }
        }
        #pragma omp taskgroup
        {
            #pragma omp task
            {
                #pragma omp atomic
                outside++;
            }
        }
    }
    expect("tasks of the group are cancelled", on ? ran >= 1 && ran < 200 : ran == 200 * 1001);
    expect("tasks outside are not", outside == 2);
}

// Threads of a cancelled region that meet no cancellation point go through any number of loops, and each iteration is done once.
static void loops_after(int loops) {
    for (int round = 0; round < 20; round++) {
        int done = 0, whole = 0;
        #pragma omp parallel num_threads(3)
        {
            if (omp_get_thread_num() == 0) {
                #pragma omp cancel parallel
            }
            for (int loop = 0; loop < loops; loop++) {
                #pragma omp for schedule(dynamic) nowait
                for (int i = 0; i < 3; i++) {
                    #pragma omp atomic
                    done++;
                }
            }
        }
        expect("each iteration after the cancellation is done once", done == 3 * loops);
        #pragma omp parallel for num_threads(3) schedule(dynamic) reduction(+ : whole)
        for (int i = 0; i < 100; i++)
            whole++;
        expect("the next loop is whole", whole == 100);
    }
}

int main(void) {
    int on = omp_get_cancellation();
    loops(on);
    sections(on);
    regions(on);
    groups(on);
    // Around the number of work-shares that the runtime keeps for a team.
    for (int loops = 6; loops <= 18; loops++)
        loops_after(loops);
    printf("cancellation %d %s\n", on, wrong ? "wrong" : "right");
    return wrong;
}
