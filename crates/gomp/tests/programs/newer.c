// Functions that GCC 13 to 15 added, by their versions: libgomp of GCC 12 lacks them.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef int in_task(void);
typedef void *mapped(const void *, int);
typedef int accessible(const void *, size_t, int);
typedef int copy(void *, const void *, size_t, size_t, size_t, int, int, int, omp_depend_t *);
typedef int copy_rect(void *, const void *, size_t, int, const size_t *, const size_t *, const size_t *, const size_t *,
                      const size_t *, int, int, int, omp_depend_t *);
typedef void wait_for(void **);

static void *found(const char *name, const char *version) {
    void *at = dlvsym(RTLD_DEFAULT, name, version);
    if (!at) {
        printf("no %s@%s\n", name, version);
        exit(1);
    }
    return at;
}

int main(void) {
    in_task *in = found("omp_in_explicit_task", "OMP_5.2"), *in_fortran = found("omp_in_explicit_task_", "OMP_5.2");
    mapped *pointer = found("omp_get_mapped_ptr", "OMP_5.1.1");
    accessible *can = found("omp_target_is_accessible", "OMP_5.1.1");
    copy *copies = found("omp_target_memcpy_async", "OMP_5.1.1");
    copy_rect *rect = found("omp_target_memcpy_rect_async", "OMP_5.1.1");
    wait_for *waits = found("GOMP_taskwait_depend_nowait", "GOMP_5.1.1");
    int host = omp_get_initial_device(), from[4] = {1, 2, 3, 4}, to[4] = {0}, square[4] = {0}, seen = 0, inside = 0, after = 0;
    omp_depend_t ready;
    printf("accessible %d %d, mapped %d %d\n", can(from, 4, host), can(from, 4, 7), pointer(from, host) == from, pointer(from, 7) == NULL);
#pragma omp parallel num_threads(3)
#pragma omp single
    {
        int outside = in() + in_fortran();
#pragma omp task shared(inside)
        inside = in() + in_fortran();
#pragma omp taskwait
        printf("explicit %d %d\n", outside, inside);
        int number = 0;
#pragma omp depobj(ready) depend(inout : number)
#pragma omp task depend(out : number) shared(from)
        from[0] = 10;
        int failed = copies(to, from, sizeof to, 0, 0, host, host, 1, &ready);
#pragma omp task depend(in : number) shared(seen)
        seen = to[0] + to[3];
        void *list[] = {(void *)1, (void *)1, &number};
        waits(list);
#pragma omp task depend(in : number) shared(after)
        after = 1;
#pragma omp taskwait
        size_t volume[] = {1, 2}, offsets[] = {1, 0}, none[] = {0, 0}, sizes[] = {2, 2};
        failed += rect(square, from, sizeof(int), 2, volume, offsets, none, sizes, sizes, host, host, 0, NULL);
#pragma omp taskwait
        printf("copied %d %d, %d failed, %d %d %d %d, after %d\n", seen, to[1], failed, square[0], square[1], square[2], square[3], after);
        printf("no device %d %d\n", copies(to, from, 4, 0, 0, 7, host, 0, NULL) != 0, rect(NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL) > 2);
        // A task that depends on all memory follows both writers; a reader of an address that is new follows that task.
        int first = 0, second = 0, other = 0, both = 0;
#pragma omp task depend(out : first) shared(first)
        usleep(20000), first = 1;
#pragma omp task depend(out : second) shared(second)
        usleep(20000), second = 1;
        void *all[] = {(void *)1, (void *)1, NULL};
        waits(all);
#pragma omp task depend(in : other) shared(both, first, second)
        both = first + second;
#pragma omp taskwait
        printf("all memory %d\n", both);
    }
    return 0;
}
