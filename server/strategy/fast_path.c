/* One table under one mutex, which is held for a few loads or stores and for no I/O. */
#include "strategy/fast_path.h"

#include <pthread.h>

enum { SLOTS = 16384 };

static struct {
    pthread_mutex_t mutex;
    struct slot {
        int64_t product_id; /* the last one noted of those whose place this is; 0: none */
        int64_t epoch;
        bool unfit; /* one statement cannot sell it */
    } slots[SLOTS];
} table = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static struct slot *slot_of(int64_t product_id)
{
    return &table.slots[(uint64_t)product_id % SLOTS];
}

void fast_path_note(int64_t product_id, int64_t epoch, bool fits)
{
    struct slot *slot = slot_of(product_id);

    pthread_mutex_lock(&table.mutex);
    *slot = (struct slot){.product_id = product_id, .epoch = epoch, .unfit = !fits};
    pthread_mutex_unlock(&table.mutex);
}

void fast_path_note_epoch(int64_t product_id, int64_t epoch)
{
    struct slot *slot = slot_of(product_id);

    pthread_mutex_lock(&table.mutex);
    if (slot->product_id != product_id || slot->epoch != epoch)
        *slot = (struct slot){.product_id = product_id, .epoch = epoch};
    pthread_mutex_unlock(&table.mutex);
}

int64_t fast_path_epoch(int64_t product_id)
{
    const struct slot *slot = slot_of(product_id);

    pthread_mutex_lock(&table.mutex);
    int64_t epoch = slot->product_id == product_id ? slot->epoch : 0;
    pthread_mutex_unlock(&table.mutex);
    return epoch;
}

bool fast_path_fits(int64_t product_id)
{
    const struct slot *slot = slot_of(product_id);

    pthread_mutex_lock(&table.mutex);
    bool unfit = slot->product_id == product_id && slot->unfit;
    pthread_mutex_unlock(&table.mutex);
    return !unfit;
}
