/* An inverted index: for every word, the lines on which it stands.
 *
 *   index THREADS ROUNDS PATH...
 *
 * Each thread has an equal share of the files' text, splits it into words, and enters each word with its line into one hash
 * table that all share. It does so ROUNDS times, as a service that re-indexes. The result is checked against an index made by one thread.
 *
 * Its locks are pthread mutexes: one for each stripe of the table, and one for the totals. `baton profile` shows what each one costs.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <ftw.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STRIPES = 1, BUCKETS = 1 << 14, MOST_FILES = 4096, LONGEST = 63, SHARE = 4096 };

/* ---- memory: each thread cuts small pieces off large blocks, and all blocks are freed at once ---- */

struct arena {
    struct block *first;
    size_t left;
};

struct block {
    struct block *next;
    char bytes[1 << 20];
};

static void *cut(struct arena *arena, size_t size) {
    size = (size + 7) & ~(size_t)7;
    if (arena->left < size) {
        struct block *block = malloc(sizeof *block);
        if (block == NULL) {
            perror("index");
            exit(1);
        }
        block->next = arena->first;
        arena->first = block;
        arena->left = sizeof block->bytes;
    }
    arena->left -= size;
    return arena->first->bytes + arena->left;
}

static void clear(struct arena *arena) {
    while (arena->first != NULL) {
        struct block *next = arena->first->next;
        free(arena->first);
        arena->first = next;
    }
    arena->left = 0;
}

/* ---- the table ---- */

struct posting {
    struct posting *next;
    uint32_t file, line;
};

struct word {
    struct word *next;
    struct posting *postings;
    uint64_t count;
    uint32_t hash, length;
    char text[];
};

struct table {
    struct word *buckets[BUCKETS];
};

static void enter(struct table *table, struct arena *arena, const char *text, uint32_t length, uint32_t hash,
                  uint32_t file, uint32_t line) {
    struct word **bucket = &table->buckets[hash % BUCKETS];
    struct word *word = *bucket;
    while (word != NULL && (word->hash != hash || word->length != length || memcmp(word->text, text, length) != 0))
        word = word->next;
    if (word == NULL) {
        word = cut(arena, sizeof *word + length + 1);
        word->postings = NULL;
        word->count = 0;
        word->hash = hash;
        word->length = length;
        memcpy(word->text, text, length);
        word->text[length] = 0;
        word->next = *bucket;
        *bucket = word;
    }
    word->count++;
    struct posting *posting = cut(arena, sizeof *posting);
    posting->file = file;
    posting->line = line;
    posting->next = word->postings;
    word->postings = posting;
}

/* Returns a number that depends on every word, its count and its lines, but not on their order. */
static uint64_t digest(const struct table *table, uint64_t *words) {
    uint64_t sum = 0;
    *words = 0;
    for (int i = 0; i < BUCKETS; i++) {
        for (const struct word *word = table->buckets[i]; word != NULL; word = word->next) {
            uint64_t lines = 0;
            ++*words;
            for (const struct posting *p = word->postings; p != NULL; p = p->next)
                lines += ((uint64_t)p->file << 32 | p->line) * 0x9e3779b97f4a7c15u;
            sum += (lines ^ word->count * 0xff51afd7ed558ccdu) * (word->hash | 1);
        }
    }
    return sum;
}

/* ---- the text ---- */

struct file {
    char *name, *text;
    size_t length;
};

static struct file files[MOST_FILES];
static uint32_t n_files;

static int wanted(const char *path) {
    static const char *const ends[] = {".rs", ".md", ".c", ".h", ".toml", ".txt", ".css", ".js"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof ends / sizeof *ends; i++)
        if (strcmp(dot, ends[i]) == 0) return 1;
    return 0;
}

static int load(const char *path, const struct stat *status, int kind, struct FTW *ftw) {
    (void)ftw;
    if (kind != FTW_F || !wanted(path) || n_files == MOST_FILES) return 0;
    FILE *in = fopen(path, "rb");
    char *text = malloc((size_t)status->st_size + 1);
    if (in == NULL || text == NULL) {
        perror(path);
        return 1;
    }
    size_t length = fread(text, 1, (size_t)status->st_size, in);
    fclose(in);
    files[n_files++] = (struct file){strdup(path), text, length};
    return 0;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

/* ---- the work ---- */

static pthread_mutex_t table_lock[STRIPES] = {PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t totals_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t total_words, total_lines;

/* What a thread indexes at a time: a part of a file, from the start of a line to the end of a line. */
struct part {
    const struct file *file;
    uint32_t number, line;
    size_t start, end, words;
    size_t owner; /* the number of the thread that indexes it */
};
static struct part *parts;
static size_t n_parts;

/* Divides the files into parts of about SHARE bytes. */
static void divide(void) {
    size_t room = 0;
    for (uint32_t f = 0; f < n_files; f++) {
        const struct file *file = &files[f];
        uint32_t line = 1;
        for (size_t start = 0, end; start < file->length; start = end) {
            end = start + SHARE < file->length ? start + SHARE : file->length;
            while (end < file->length && file->text[end - 1] != '\n') end++;
            if (n_parts == room) {
                room = room ? 2 * room : 256;
                parts = realloc(parts, room * sizeof *parts);
                if (parts == NULL) exit(1);
            }
            struct part *part = &parts[n_parts++];
            *part = (struct part){file, f, line, start, end, 0, 0};
            int inside = 0;
            for (size_t i = start; i < end; i++) {
                int letter = isalnum((unsigned char)file->text[i]) || file->text[i] == '_';
                part->words += letter && !inside;
                inside = letter;
                line += file->text[i] == '\n';
            }
        }
    }
}

/* Deals the parts out before the threads start, each to the thread with the fewest words so far. So each thread does the same
 * work under every lock, and a recorded run can be replayed under another lock. */
static int deal(size_t threads) {
    size_t *words = calloc(threads, sizeof *words);
    if (words == NULL) return 0;
    for (size_t i = 0; i < n_parts; i++) {
        size_t least = 0;
        for (size_t t = 1; t < threads; t++)
            if (words[t] < words[least]) least = t;
        parts[i].owner = least;
        words[least] += parts[i].words;
    }
    free(words);
    return 1;
}

/* Enters the words of a part; `shared` says whether other threads use the table at the same time. */
static void index_part(struct table *table, struct arena *arenas, const struct part *part, int shared) {
    uint64_t words = 0, lines = 0;
    uint32_t line = part->line;
    const char *text = part->file->text;
    for (size_t i = part->start; i < part->end;) {
        char word[LONGEST + 1];
        uint32_t length = 0, hash = 2166136261u;
        while (i < part->end && !isalnum((unsigned char)text[i]) && text[i] != '_') {
            line += text[i] == '\n';
            lines += text[i] == '\n';
            i++;
        }
        while (i < part->end && (isalnum((unsigned char)text[i]) || text[i] == '_')) {
            if (length < LONGEST) {
                word[length] = (char)tolower((unsigned char)text[i]);
                hash = (hash ^ (unsigned char)word[length++]) * 16777619u;
            }
            i++;
        }
        if (length == 0) continue;
        words++;
        uint32_t stripe = hash % BUCKETS % STRIPES;
        if (shared) pthread_mutex_lock(&table_lock[stripe]);
        enter(table, &arenas[stripe], word, length, hash, part->number, line);
        if (shared) pthread_mutex_unlock(&table_lock[stripe]);
    }
    if (shared) pthread_mutex_lock(&totals_lock);
    total_words += words;
    total_lines += lines;
    if (shared) pthread_mutex_unlock(&totals_lock);
}

static struct table table;
static struct arena arenas[STRIPES];

struct worker {
    pthread_t id;
    size_t number;
};

static void *worker(void *argument) {
    const struct worker *me = argument;
    for (size_t i = 0; i < n_parts; i++)
        if (parts[i].owner == me->number) index_part(&table, arenas, &parts[i], 1);
    return NULL;
}

static void restart(void) {
    memset(&table, 0, sizeof table);
    for (int i = 0; i < STRIPES; i++) clear(&arenas[i]);
    total_words = total_lines = 0;
}

int main(int argc, char **argv) {
    int threads = argc > 3 ? atoi(argv[1]) : 0, rounds = argc > 3 ? atoi(argv[2]) : 0;
    if (threads < 1 || threads > 1024 || rounds < 1) {
        fprintf(stderr, "usage: index THREADS ROUNDS PATH...\n");
        return 2;
    }
    for (int i = 3; i < argc; i++)
        if (nftw(argv[i], load, 16, FTW_PHYS) != 0) {
            fprintf(stderr, "index: cannot read %s\n", argv[i]);
            return 1;
        }
    qsort(files, n_files, sizeof *files, by_name);

    /* First makes the right index, by one thread and without locks. */
    uint64_t words, right_words, right;
    divide();
    restart();
    for (size_t i = 0; i < n_parts; i++) index_part(&table, arenas, &parts[i], 0);
    right = digest(&table, &right_words);
    uint64_t all_words = total_words, all_lines = total_lines;

    struct worker *workers = calloc((size_t)threads, sizeof *workers);
    if (workers == NULL || !deal((size_t)threads)) return 1;
    for (int round = 0; round < rounds; round++) {
        restart();
        for (int i = 0; i < threads; i++) {
            workers[i].number = (size_t)i;
            if (pthread_create(&workers[i].id, NULL, worker, &workers[i]) != 0) {
                fprintf(stderr, "index: cannot start %d threads\n", threads);
                return 1;
            }
        }
        for (int i = 0; i < threads; i++) pthread_join(workers[i].id, NULL);
        if (digest(&table, &words) != right || words != right_words || total_words != all_words || total_lines != all_lines) {
            fprintf(stderr, "index: round %d is wrong: %llu words\n", round, (unsigned long long)words);
            return 1;
        }
    }
    printf("%u files, %llu lines, %llu words, %llu different: digest %016llx\n", n_files, (unsigned long long)all_lines,
           (unsigned long long)all_words, (unsigned long long)right_words, (unsigned long long)right);
    return 0;
}
