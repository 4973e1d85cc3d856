// Constructs in which the threads share nothing, and with an argument a variable that they change without order: what race checkers tell.
#include <omp.h>
static int racing, shared;

int main(int count, char **words) {
    racing = count > 1;
    for (int round = 0; round < 3; round++) {
#pragma omp parallel num_threads(3)
        {
            volatile int own = 0;
            if (racing) shared++;
#pragma omp for schedule(dynamic)
            for (int i = 0; i < 9; i++) own += i;
#pragma omp critical
            own++;
#pragma omp barrier
#pragma omp task
            ;
#pragma omp single
            own++;
        }
    }
    return 0;
}
