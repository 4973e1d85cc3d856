// Busy threads that count on which CPUs they are: the test program of vm-sched in its guest.
//
//   turns SECONDS THREADS    prints a line for each thread: its milliseconds on each CPU, and those without one
//   turns as UID COMMAND…    runs a command as another user
//   turns policy PID         prints the scheduling class of a process
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CPUS = 8, THREADS = 64 };
// A thread is started, and placed by a policy, before its time counts.
static const double BEFORE = 0.5;
// A longer time between two looks at the clock was spent without a CPU: a look takes microseconds.
static const double PAUSE = 0.002;

static double end;
static struct turns { double on[CPUS], without; } turns[THREADS];

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void *busy(void *own)
{
	struct turns *turn = own;
	double before = now(), begin = before + BEFORE;
	int cpu = sched_getcpu();
	while (before < end) {
		double here = now();
		if (here > begin) {
			if (here - before < PAUSE)
				turn->on[cpu % CPUS] += here - before;
			else
				turn->without += here - before;
		}
		before = here;
		cpu = sched_getcpu();
	}
	return NULL;
}

int main(int count, char **words)
{
	if (count > 3 && !strcmp(words[1], "as")) {
		if (setgid(atoi(words[2])) || setuid(atoi(words[2])))
			return 1;
		execvp(words[3], words + 3);
		return 127;
	}
	if (count == 3 && !strcmp(words[1], "policy")) {
		printf("%d\n", sched_getscheduler(atoi(words[2])));
		return 0;
	}
	int threads = count == 3 ? atoi(words[2]) : 0;
	if (threads < 1 || threads > THREADS)
		return 2;
	end = now() + BEFORE + atof(words[1]);
	pthread_t all[THREADS];
	for (int at = 1; at < threads; at++)
		pthread_create(&all[at], NULL, busy, &turns[at]);
	busy(&turns[0]);
	for (int at = 1; at < threads; at++)
		pthread_join(all[at], NULL);
	for (int at = 0; at < threads; at++) {
		for (int cpu = 0; cpu < CPUS; cpu++)
			printf("%.0f ", 1000 * turns[at].on[cpu]);
		printf("%.0f\n", 1000 * turns[at].without);
	}
	return 0;
}
