/* Indexes a folder: one thread finds files, THREADS count the words of files, and the first thread adds the counts up. Paths and
 * counts go through queues; the user chooses the algorithm of the queue of paths. index.cpp and rust/ do the same.
 *
 *   cc -O2 index.c $(pkg-config --cflags --libs baton) -lpthread -o index && ./index FOLDER [THREADS]
 *   baton run --queue ring=1024 -- ./index FOLDER [THREADS]
 */
#define _GNU_SOURCE
#include <baton.h>

#include <ctype.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A word and how often it was found. */
typedef struct {
    char *text;
    unsigned long count;
} word;

/* Words by their hash; `room` is a power of two. */
typedef struct {
    word *words;
    size_t used, room;
    unsigned long files, all;
} table;

static baton_choice *paths;
static table *table_places[4];
static baton_queue tables = BATON_QUEUE_INIT(table_places);

static atomic_int status; /* 1 if something could not be read */

static void failed(const char *path) {
    perror(path);
    status = 1;
}

static void *checked(void *memory) {
    if (memory == NULL) fputs("index: no memory\n", stderr), exit(1);
    return memory;
}

static table *new_table(void) {
    table *made = checked(calloc(1, sizeof *made));
    made->room = 1024;
    made->words = checked(calloc(made->room, sizeof *made->words));
    return made;
}

static void add(table *to, const char *text, size_t length, unsigned long count) {
    if (to->used * 2 == to->room) {
        table larger = {checked(calloc(to->room * 2, sizeof(word))), 0, to->room * 2, to->files, to->all};
        for (size_t i = 0; i < to->room; i++)
            if (to->words[i].text != NULL) {
                add(&larger, to->words[i].text, strlen(to->words[i].text), to->words[i].count);
                free(to->words[i].text);
            }
        free(to->words);
        *to = larger;
    }
    size_t at = 14695981039346656037u;
    for (size_t i = 0; i < length; i++) at = (at ^ (unsigned char)text[i]) * 1099511628211u;
    for (at &= to->room - 1; to->words[at].text != NULL; at = (at + 1) & (to->room - 1))
        if (strncmp(to->words[at].text, text, length) == 0 && to->words[at].text[length] == 0) break;
    if (to->words[at].text == NULL) {
        to->words[at].text = checked(strndup(text, length));
        to->used++;
    }
    to->words[at].count += count;
}

/* Counts the words of a file: letters of ASCII, of which upper and lower case are the same. */
static void count(table *own, const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        failed(path);
        return;
    }
    size_t length = 0, room = 256;
    char *text = checked(malloc(room));
    for (int c; (c = getc(file)) != EOF || length != 0;) {
        if (c != EOF && c < 128 && isalpha(c)) {
            if (length == room) text = checked(realloc(text, room *= 2));
            text[length++] = (char)tolower(c);
        } else if (length != 0) {
            add(own, text, length, 1);
            own->all++;
            length = 0;
        }
    }
    own->files++;
    free(text);
    fclose(file);
}

static void *count_files(void *unused) {
    table *own = new_table();
    for (char *path; baton_choice_get(paths, &path) == 0; free(path)) count(own, path);
    baton_queue_put(&tables, &own);
    return unused;
}

static int found(const char *path, const struct stat *about, int kind, struct FTW *unused) {
    (void)unused;
    char *copy;
    if (kind != FTW_F || !S_ISREG(about->st_mode)) return 0;
    copy = checked(strdup(path));
    return baton_choice_put(paths, &copy);
}

static void *find_files(void *folder) {
    if (nftw(folder, found, 16, FTW_PHYS) != 0) failed(folder);
    baton_choice_close(paths);
    return NULL;
}

static int by_count(const void *a, const void *b) {
    const word *one = a, *other = b;
    if (one->count != other->count) return one->count < other->count ? 1 : -1;
    return one->text == NULL ? other->text != NULL : other->text == NULL ? -1 : strcmp(one->text, other->text);
}

int main(int argc, char **argv) {
    int threads = argc > 2 ? atoi(argv[2]) : 4;
    if (argc < 2 || threads < 1 || threads > 64) return fputs("usage: index FOLDER [THREADS]\n", stderr), 2;
    paths = checked(baton_choice_new(BATON_MANY_TO_MANY, sizeof(char *), 64));
    pthread_t finder, counters[64];
    pthread_create(&finder, NULL, find_files, argv[1]);
    for (int i = 0; i < threads; i++) pthread_create(&counters[i], NULL, count_files, NULL);
    table *all = new_table(), *one;
    for (int i = 0; i < threads && baton_queue_get(&tables, &one) == 0; i++) {
        for (size_t at = 0; at < one->room; at++)
            if (one->words[at].text != NULL)
                add(all, one->words[at].text, strlen(one->words[at].text), one->words[at].count);
        all->files += one->files;
        all->all += one->all;
    }
    pthread_join(finder, NULL);
    for (int i = 0; i < threads; i++) pthread_join(counters[i], NULL);
    printf("%lu files, %lu words, %zu different ones\n", all->files, all->all, all->used);
    qsort(all->words, all->room, sizeof *all->words, by_count);
    for (size_t i = 0; i < 5 && i < all->used; i++) printf("%lu %s\n", all->words[i].count, all->words[i].text);
    baton_choice_free(paths);
    return status;
}
