/* Doacross loops under each schedule: a recurrence over one, two, three and seven dimensions, of signed and unsigned numbers.
   It checks itself against the same loops without threads. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

#define N 37
#define M 11
static long line[2][N + 1], plane[2][N + 1][M + 1], deep[2][N + 1][M + 1][4];
static int order[N], at, wrong;
static volatile unsigned long long rows_there = N;

#define PRAGMA(...) _Pragma(#__VA_ARGS__)
#define LOOPS(NAME, ...) \
    static void NAME(int t, int threads) { \
        unsigned long long rows = rows_there; \
        _Pragma("omp parallel num_threads(threads)") { \
            PRAGMA(omp for __VA_ARGS__ ordered(1)) \
            for (int i = 1; i <= N; i++) { \
                long own = i * 7 % 5; \
                _Pragma("omp ordered depend(sink: i - 1)") \
                line[t][i] = line[t][i - 1] * 3 + own; \
                _Pragma("omp ordered depend(source)") \
            } \
            PRAGMA(omp for __VA_ARGS__ ordered(2)) \
            for (unsigned long long i = 1; i <= rows; i++) \
                for (unsigned long long j = 1; j <= M; j++) { \
                    _Pragma("omp ordered depend(sink: i - 1, j) depend(sink: i, j - 1)") \
                    plane[t][i][j] = plane[t][i - 1][j] + 2 * plane[t][i][j - 1] + i * j % 7; \
                    _Pragma("omp ordered depend(source)") \
                } \
            PRAGMA(omp for __VA_ARGS__ ordered(3)) \
            for (int i = N; i >= 1; i--) \
                for (int j = 1; j <= M; j += 2) \
                    for (int k = 0; k < 3; k++) { \
                        _Pragma("omp ordered depend(sink: i + 1, j - 2, k + 1)") \
                        deep[t][i][j][k] = (i < N && j > 1 ? deep[t][i + 1][j - 2][k + 1] : 1) * 5 + k; \
                        _Pragma("omp ordered depend(source)") \
                    } \
        } \
    }

LOOPS(by_block, schedule(static))
LOOPS(by_chunk, schedule(static, 3))
LOOPS(by_one, schedule(dynamic))
LOOPS(by_four, schedule(dynamic, 4))
LOOPS(by_guide, schedule(guided, 2))
LOOPS(by_runtime, schedule(runtime))

static void check(const char *name, void (*loops)(int, int), int threads) {
    memset(line, 0, sizeof line), memset(plane, 0, sizeof plane), memset(deep, 0, sizeof deep);
    for (int i = 1; i <= N; i++) line[0][i] = line[0][i - 1] * 3 + i * 7 % 5;
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= M; j++) plane[0][i][j] = plane[0][i - 1][j] + 2 * plane[0][i][j - 1] + i * j % 7;
    for (int i = N; i >= 1; i--)
        for (int j = 1; j <= M; j += 2)
            for (int k = 0; k < 3; k++) deep[0][i][j][k] = (i < N && j > 1 && k < 2 ? deep[0][i + 1][j - 2][k + 1] : i < N && j > 1 ? 0 : 1) * 5 + k;
    loops(1, threads);
    int good = !memcmp(line[0], line[1], sizeof line[0]) && !memcmp(plane[0], plane[1], sizeof plane[0]);
    good = good && !memcmp(deep[0], deep[1], sizeof deep[0]);
    printf("%s, %d threads: %s\n", name, threads, good ? "right" : "WRONG");
    wrong |= !good;
}

/* More dimensions than a call has registers for. */
static void seven(void) {
    #pragma omp parallel num_threads(3)
    #pragma omp for ordered(7) schedule(dynamic)
    for (int a = 0; a < N; a++)
        for (int b = 0; b < 1; b++)
            for (int c = 0; c < 2; c++)
                for (int d = 0; d < 1; d++)
                    for (int e = 0; e < 1; e++)
                        for (int f = 0; f < 1; f++)
                            for (int g = 0; g < 2; g++) {
                                #pragma omp ordered depend(sink: a - 1, b, c, d, e, f, g)
                                if (c == 1 && g == 1) order[at++] = a;
                                #pragma omp ordered depend(source)
                            }
    int good = at == N;
    for (int a = 0; a < N; a++) good = good && order[a] == a;
    printf("seven dimensions: %s\n", good ? "right" : "WRONG");
    wrong |= !good;
}

int main(void) {
    for (int threads = 1; threads <= 4; threads++) {
        check("static", by_block, threads);
        check("static, 3", by_chunk, threads);
        check("dynamic", by_one, threads);
        check("dynamic, 4", by_four, threads);
        check("guided", by_guide, threads);
        check("runtime", by_runtime, threads);
    }
    seven();
    return wrong;
}
