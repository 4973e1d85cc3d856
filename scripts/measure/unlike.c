// Programs for CPUs that are alike, made unlike: each chunk of work is done RATIO times on a slow CPU. The kernel cannot see this kind of
// asymmetry, so it places threads as on equal CPUs. scripts/measure/sched-experiment builds and runs them.
//
//   unlike calibrate                        prints the loop's turns per microsecond
//   unlike lone                             one thread computes
//   unlike crowd THREADS                    threads compute until the stop file says so
//   unlike lock THREADS SECTIONS HOLD REST  threads hold one mutex by turns; one more thread, `free`, computes until they are through
//   unlike barrier THREADS ROUNDS           threads compute unequal shares between barriers
//   unlike bursts THREADS ROUNDS            threads compute and sleep
//
// The environment: TURNS (per microsecond), RATIO, SLOW (CPUs, such as 1,3), WORK (microseconds on a fast CPU), STOP (a file of one byte),
// SPANS (the file for what threads did: a line `THREAD START_NS END_NS CPU STATE` for each span, where STATE is `free`, `holds`, or `held`
// if others wait for the holder).
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK_US = 50, THREADS = 64, CPUS = 1024 };
// A longer time between two chunks was spent without a CPU.
static const int64_t PAUSE_NS = 2000000;

enum state { FREE, HOLDS, HELD };
static const char *const NAMES[] = { "free", "holds", "held" };

struct span { int64_t start, end; int cpu; enum state state; };
static struct thread { pthread_t id; struct span *spans; size_t count, room; int64_t left; } threads[THREADS];

static int64_t turns_per_us, ratio, work_us;
static bool slow[CPUS];
static atomic_char *stop;
static int count, rounds, hold_us, rest_us;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static atomic_int waiting, working;
static volatile uint64_t sink;

static int64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void loop(int64_t turns)
{
	uint64_t value = sink;
	for (int64_t turn = 0; turn < turns; turn++)
		value = value * 6364136223846793005 + 1442695040888963407;
	sink = value;
}

static void note(struct thread *self, int64_t start, int64_t end, int cpu, enum state state)
{
	struct span *last = self->count ? &self->spans[self->count - 1] : NULL;
	if (last && last->cpu == cpu && last->state == state && start - last->end < PAUSE_NS) {
		last->end = end;
		return;
	}
	if (self->count == self->room) {
		self->room = self->room ? 2 * self->room : 1024;
		self->spans = realloc(self->spans, self->room * sizeof *self->spans);
		if (!self->spans)
			abort();
	}
	self->spans[self->count++] = (struct span){ start, end, cpu, state };
}

// Computes for this many microseconds of a fast CPU.
static void compute(struct thread *self, int64_t us, bool holds)
{
	int64_t before = now();
	for (int64_t left = us; left > 0; left -= CHUNK_US) {
		int64_t turns = turns_per_us * (left < CHUNK_US ? left : CHUNK_US);
		int cpu = sched_getcpu() % CPUS;
		// Each time counts, so that a thread that comes to a fast CPU within a chunk repeats it no more.
		for (int64_t times = 1; loop(turns), times < ratio && slow[sched_getcpu() % CPUS]; times++)
			;
		int64_t after = now();
		int64_t start = after - before < PAUSE_NS ? before : after;
		note(self, start, after, cpu, !holds ? FREE : atomic_load(&waiting) ? HELD : HOLDS);
		before = after;
	}
}

// The next of a series that is the same in each run: 0 to 99.
static int drawn(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005 + 1442695040888963407;
	return (*seed >> 33) % 100;
}

static void *lone(void *self)
{
	compute(self, work_us, false);
	return NULL;
}

static void *crowd(void *self)
{
	while (!atomic_load(stop))
		compute(self, 1000, false);
	return NULL;
}

static void *locks(void *self)
{
	for (int round = 0; round < rounds; round++) {
		compute(self, rest_us, false);
		atomic_fetch_add(&waiting, 1);
		pthread_mutex_lock(&mutex);
		atomic_fetch_sub(&waiting, 1);
		compute(self, hold_us, true);
		pthread_mutex_unlock(&mutex);
	}
	atomic_fetch_sub(&working, 1);
	return NULL;
}

static void *beside(void *self)
{
	while (atomic_load(&working))
		compute(self, 1000, false);
	return NULL;
}

static void *meets(void *own)
{
	struct thread *self = own;
	uint64_t seed = self - threads + 1;
	for (int round = 0; round < rounds; round++) {
		compute(self, work_us * (10 + 18 * drawn(&seed) / 10) / 100, false);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void *bursts(void *own)
{
	struct thread *self = own;
	uint64_t seed = self - threads + 1;
	for (int round = 0; round < rounds; round++) {
		compute(self, work_us * (50 + drawn(&seed)) / 100, false);
		int64_t ns = work_us * 1000 * (50 + drawn(&seed)) / 100;
		nanosleep(&(struct timespec){ ns / 1000000000, ns % 1000000000 }, NULL);
	}
	return NULL;
}

static int64_t number(const char *name)
{
	const char *text = getenv(name);
	if (!text || atoll(text) <= 0) {
		fprintf(stderr, "unlike: %s: expected a number above 0\n", name);
		exit(2);
	}
	return atoll(text);
}

static void calibrate(void)
{
	int64_t best = INT64_MAX;
	for (int try = 0; try < 50; try++) {
		int64_t before = now();
		loop(1000000);
		int64_t took = now() - before;
		best = took < best ? took : best;
	}
	printf("%lld\n", (long long)(1000000 * INT64_C(1000) / best));
}

static void environment(void)
{
	turns_per_us = number("TURNS");
	ratio = number("RATIO");
	work_us = number("WORK");
	char *list = strdup(getenv("SLOW") ? getenv("SLOW") : "");
	for (char *word = strtok(list, ","); word; word = strtok(NULL, ","))
		slow[atoi(word) % CPUS] = true;
	free(list);
	int file = open(getenv("STOP") ? getenv("STOP") : "", O_RDWR);
	void *byte = file < 0 ? MAP_FAILED : mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (byte != MAP_FAILED)
		stop = byte;
}

static void run(void *(*work)(void *), int more)
{
	for (int at = 0; at < count + more; at++) {
		if (pthread_create(&threads[at].id, NULL, at < count ? work : beside, &threads[at]))
			abort();
		pthread_setname_np(threads[at].id, at < count ? "worker" : "free");
	}
	for (int at = 0; at < count + more; at++)
		pthread_join(threads[at].id, NULL);
}

static int tell(int64_t start, int64_t end)
{
	FILE *file = getenv("SPANS") ? fopen(getenv("SPANS"), "w") : stdout;
	if (!file)
		return 1;
	fprintf(file, "run %lld %lld\n", (long long)start, (long long)end);
	for (int at = 0; at < THREADS; at++)
		for (size_t i = 0; i < threads[at].count; i++) {
			struct span *span = &threads[at].spans[i];
			fprintf(file, "%d %lld %lld %d %s\n", at, (long long)span->start, (long long)span->end, span->cpu, NAMES[span->state]);
		}
	return fclose(file) != 0;
}

int main(int words, char **word)
{
	const char *kind = words > 1 ? word[1] : "";
	if (!strcmp(kind, "calibrate"))
		return calibrate(), 0;
	environment();
	count = words > 2 ? atoi(word[2]) : 1;
	rounds = words > 3 ? atoi(word[3]) : 1;
	hold_us = words > 5 ? atoi(word[4]) * 1000 : 0;
	rest_us = words > 5 ? atoi(word[5]) * 1000 : 0;
	if (count < 1 || count >= THREADS || rounds < 1)
		return fprintf(stderr, "unlike: expected 1 to %d threads, and at least one round\n", THREADS - 1), 2;
	void *(*work)(void *) = !strcmp(kind, "lone") ? lone : !strcmp(kind, "crowd") && stop ? crowd : !strcmp(kind, "lock") ? locks
		: !strcmp(kind, "barrier") ? meets : !strcmp(kind, "bursts") ? bursts : NULL;
	if (!work)
		return fprintf(stderr, "unlike: no kind `%s`, or no stop file\n", kind), 2;
	bool is_lock = work == locks;
	atomic_store(&working, count);
	pthread_barrier_init(&barrier, NULL, count);
	int64_t start = now();
	run(work, is_lock);
	int64_t end = now();
	if (stop && work != crowd)
		atomic_store(stop, 1);
	return tell(start, end);
}
