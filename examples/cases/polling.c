/* Threads take tiles to draw. A thread that finds no tile asks under tiles_lock again and again whether all are drawn. Right answer: threads
   poll under tiles_lock, with acquisitions that find nothing. The cure waits at a condition variable. */
#include "cases.h"

enum { TILES = 200 };

static pthread_mutex_t tiles_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more_tiles = PTHREAD_COND_INITIALIZER;
static int given, drawn, made;

static int all_drawn(void)
{
    pthread_mutex_lock(&tiles_lock);
#ifdef CURE
    while (given == made && drawn < TILES)
        pthread_cond_wait(&more_tiles, &tiles_lock);
#endif
    int end = drawn == TILES;
    pthread_mutex_unlock(&tiles_lock);
    return end;
}

static int take_tile(void)
{
    pthread_mutex_lock(&tiles_lock);
    int tile = given < made ? given++ : -1;
    pthread_mutex_unlock(&tiles_lock);
    return tile;
}

static void finish_tile(void)
{
    pthread_mutex_lock(&tiles_lock);
    if (++drawn == TILES)
        pthread_cond_broadcast(&more_tiles);
    pthread_mutex_unlock(&tiles_lock);
}

static void *draw(void *number)
{
    uint64_t own = (uintptr_t)number;
    while (!all_drawn())
        if (take_tile() >= 0) {
            own = work(own, 20000);
            finish_tile();
        } else {
            own = work(own, 1000);
        }
    return NULL;
}

static void *make_tiles(void *number)
{
    uint64_t own = 1;
    for (int i = 0; i < TILES; i++) {
        own = work(own, 200000);
        pthread_mutex_lock(&tiles_lock);
        made++;
        pthread_cond_signal(&more_tiles);
        pthread_mutex_unlock(&tiles_lock);
    }
    return number;
}

static void *maker_or_drawer(void *number)
{
    return number == NULL ? make_tiles(number) : draw(number);
}

int main(int argc, char **argv)
{
    in_threads(4, maker_or_drawer, argc, argv);
    return drawn != TILES;
}
