/* A pipeline of three stages with bounded buffers between them; each buffer has a mutex and two condition variables.
   Argument: items. */
#include "common.h"

enum { PLACES = 16 };

struct buffer {
    pthread_mutex_t lock;
    pthread_cond_t not_full, not_empty;
    uint64_t items[PLACES];
    unsigned first, count;
};

static struct buffer buffers[2];
static unsigned items;
static uint64_t sum;

static void put(struct buffer *b, uint64_t item)
{
    pthread_mutex_lock(&b->lock);
    while (b->count == PLACES)
        pthread_cond_wait(&b->not_full, &b->lock);
    b->items[(b->first + b->count++) % PLACES] = item;
    pthread_cond_signal(&b->not_empty);
    pthread_mutex_unlock(&b->lock);
}

static uint64_t take(struct buffer *b)
{
    pthread_mutex_lock(&b->lock);
    while (b->count == 0)
        pthread_cond_wait(&b->not_empty, &b->lock);
    uint64_t item = b->items[b->first];
    b->first = (b->first + 1) % PLACES;
    b->count--;
    pthread_cond_signal(&b->not_full);
    pthread_mutex_unlock(&b->lock);
    return item;
}

static void *stage(void *number)
{
    switch ((uintptr_t)number) {
    case 0:
        for (unsigned i = 0; i < items; i++)
            put(&buffers[0], work(i + 1, 1500) | 1);
        break;
    case 1:
        for (unsigned i = 0; i < items; i++)
            put(&buffers[1], work(take(&buffers[0]), 2500) | 1);
        break;
    default:
        for (unsigned i = 0; i < items; i++)
            sum += work(take(&buffers[1]), 2000) != 0;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    items = argument(argc, argv, 1, 40000);
    for (int i = 0; i < 2; i++) {
        pthread_mutex_init(&buffers[i].lock, NULL);
        pthread_cond_init(&buffers[i].not_full, NULL);
        pthread_cond_init(&buffers[i].not_empty, NULL);
    }
    in_threads(3, stage);
    return expect("items", sum, items);
}
