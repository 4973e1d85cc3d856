/* A service that answers requests from a cache which all its threads share.
 *
 *   cache THREADS SHARDS REQUESTS
 *
 * Each thread answers REQUESTS requests: it decodes the request, finds the key in the cache (or computes
 * the answer and enters it), copies the answer, and encodes it. The cache keeps the order in which keys
 * were used, as a cache that evicts the oldest key would, so even a look-up changes the cache and needs
 * the lock. With one shard all threads meet at one lock, cache_lock; with more shards each key has the
 * lock of its shard. The digest of the answers does not depend on the order of requests. With CHECK in
 * the environment it is compared with the digest that one thread computes without the cache.
 *
 * A request takes about as long inside of the lock as outside, so two threads could nearly double the
 * speed of one. Under glibc's mutex, whose waiters sleep at once, they do not: a thread that releases
 * the lock takes it again before the thread that it woke runs.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 4096, BUCKETS = 1024, WORDS = 128, MOST_SHARDS = 64, MOST_THREADS = 1024, DECODE = 200 };

struct entry {
    struct entry *next;            /* the next entry in the same bucket */
    struct entry *newer, *older;   /* its neighbours in the order of use */
    uint32_t key;
    uint64_t uses, checksum;
    uint64_t answer[WORDS];
};

struct shard {
    struct entry *buckets[BUCKETS];
    struct entry *newest, *oldest;
    uint64_t hits, misses;
};

static pthread_mutex_t cache_lock[MOST_SHARDS] = {[0 ... MOST_SHARDS - 1] = PTHREAD_MUTEX_INITIALIZER};
static struct shard *shards;
static uint32_t n_shards, n_threads;
static uint64_t n_requests;

static uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void compute(uint32_t key, uint64_t *answer) {
    for (int i = 0; i < WORDS; i++) answer[i] = mix((uint64_t)key << 8 | (uint64_t)i);
}

/* The key that a request asks for: a few keys are asked for often. */
static uint32_t decode(uint64_t request) {
    uint64_t x = request;
    for (int i = 0; i < DECODE; i++) x = mix(x + (uint64_t)i);
    uint64_t small = x % KEYS, other = mix(x) % KEYS;
    return (uint32_t)(small < other ? small : other);
}

static uint64_t checksum_of(const uint64_t *answer) {
    uint64_t sum = 0;
    for (int i = 0; i < WORDS; i++) sum = mix(sum ^ answer[i]);
    return sum;
}

static uint64_t encode(const uint64_t *answer) {
    uint64_t sum = 0;
    for (int i = 0; i < WORDS; i++) sum = sum * 31 + answer[i];
    return sum;
}

static void unlink_entry(struct shard *shard, struct entry *entry) {
    *(entry->newer ? &entry->newer->older : &shard->newest) = entry->older;
    *(entry->older ? &entry->older->newer : &shard->oldest) = entry->newer;
}

static void make_newest(struct shard *shard, struct entry *entry) {
    entry->newer = NULL;
    entry->older = shard->newest;
    *(shard->newest ? &shard->newest->newer : &shard->oldest) = entry;
    shard->newest = entry;
}

/* Finds or computes the answer and copies it, under the lock of the key's shard. */
static void look_up(uint32_t key, uint64_t *answer) {
    uint32_t number = key % n_shards;
    struct shard *shard = &shards[number];
    pthread_mutex_lock(&cache_lock[number]);
    struct entry **bucket = &shard->buckets[key / n_shards % BUCKETS], *entry = *bucket;
    while (entry != NULL && entry->key != key) entry = entry->next;
    if (entry == NULL) {
        entry = calloc(1, sizeof *entry);
        if (entry == NULL) {
            perror("cache");
            exit(1);
        }
        entry->key = key;
        compute(key, entry->answer);
        entry->checksum = checksum_of(entry->answer);
        entry->next = *bucket;
        *bucket = entry;
        shard->misses++;
    } else {
        unlink_entry(shard, entry);
        shard->hits++;
    }
    make_newest(shard, entry);
    entry->uses++;
    if (checksum_of(entry->answer) != entry->checksum) {
        fprintf(stderr, "cache: the entry of key %u is damaged\n", key);
        exit(1);
    }
    memcpy(answer, entry->answer, sizeof entry->answer);
    pthread_mutex_unlock(&cache_lock[number]);
}

static uint64_t request_of(uint64_t thread, uint64_t number) {
    return thread << 40 | number;
}

static void *serve(void *argument) {
    uint64_t thread = (uint64_t)(uintptr_t)argument, digest = 0, answer[WORDS];
    for (uint64_t i = 0; i < n_requests; i++) {
        look_up(decode(request_of(thread, i)), answer);
        digest += encode(answer);
    }
    return (void *)(uintptr_t)digest;
}

/* Returns the digest that the answers of each thread must have. */
static uint64_t right_digest(void) {
    static uint64_t of_key[KEYS];
    uint64_t digest = 0, answer[WORDS];
    for (uint32_t key = 0; key < KEYS; key++) {
        compute(key, answer);
        of_key[key] = encode(answer);
    }
    for (uint64_t thread = 0; thread < n_threads; thread++)
        for (uint64_t i = 0; i < n_requests; i++) digest += of_key[decode(request_of(thread, i))];
    return digest;
}

int main(int argc, char **argv) {
    n_threads = argc == 4 ? (uint32_t)atoi(argv[1]) : 0;
    n_shards = argc == 4 ? (uint32_t)atoi(argv[2]) : 0;
    n_requests = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
    if (n_threads < 1 || n_threads > MOST_THREADS || n_shards < 1 || n_shards > MOST_SHARDS || n_requests < 1) {
        fprintf(stderr, "usage: cache THREADS SHARDS REQUESTS   (at most %d threads, %d shards)\n", MOST_THREADS, MOST_SHARDS);
        return 2;
    }
    shards = calloc(n_shards, sizeof *shards);
    if (shards == NULL) return 1;

    static pthread_t threads[MOST_THREADS];
    for (uint32_t i = 0; i < n_threads; i++)
        if (pthread_create(&threads[i], NULL, serve, (void *)(uintptr_t)i) != 0) {
            fprintf(stderr, "cache: cannot start %u threads\n", n_threads);
            return 1;
        }
    uint64_t digest = 0, hits = 0, misses = 0;
    for (uint32_t i = 0; i < n_threads; i++) {
        void *part;
        pthread_join(threads[i], &part);
        digest += (uint64_t)(uintptr_t)part;
    }
    for (uint32_t i = 0; i < n_shards; i++) {
        hits += shards[i].hits;
        misses += shards[i].misses;
    }
    if (getenv("CHECK") != NULL && digest != right_digest()) {
        fprintf(stderr, "cache: an answer is wrong\n");
        return 1;
    }
    printf("%llu requests, %llu hits, %llu misses: digest %016llx\n", (unsigned long long)(hits + misses), (unsigned long long)hits,
           (unsigned long long)misses, (unsigned long long)digest);
    return 0;
}
