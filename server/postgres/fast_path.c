/* One table under one mutex, which is held for a few loads or stores and for no I/O. */
#include "postgres/fast_path.h"

#include "postgres/pg_internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 16384 };

struct fast_path {
    pthread_mutex_t mutex;
    unsigned doubts; /* of the store's, how many this table has seen */
    struct slot {
        int64_t product_id; /* the last one noted of those whose place this is; 0: none */
        int64_t epoch;
        bool unfit;   /* one statement cannot sell it */
        int64_t over; /* an order of so many units was too many; 0: nobody knows */
        struct mark {
            int64_t server; /* 0: nobody knows */
            int64_t epoch_base;
            int64_t epoch; /* of the sale that is marked */
        } early;
    } slots[SLOTS];
};

struct fast_path *fast_path_create(void)
{
    struct fast_path *table = calloc(1, sizeof *table);

    if (table)
        pthread_mutex_init(&table->mutex, NULL);
    return table;
}

void fast_path_destroy(struct fast_path *table)
{
    if (table)
        pthread_mutex_destroy(&table->mutex);
    free(table);
}

/* Locks the table. After a doubt the database may be another one: everything is forgotten. */
static struct fast_path *lock(struct pg *pg)
{
    struct fast_path *table = pg->store->fast_path;

    pthread_mutex_lock(&table->mutex);
    unsigned doubts = store_doubts(pg->store);
    if (doubts != table->doubts)
        memset(table->slots, 0, sizeof table->slots);
    table->doubts = doubts;
    return table;
}

static struct slot *slot_of(struct fast_path *table, int64_t product_id)
{
    return &table->slots[(uint64_t)product_id % SLOTS];
}

static void note(struct slot *slot, int64_t product_id, int64_t epoch)
{
    bool same = slot->product_id == product_id;
    struct mark early = same ? slot->early : (struct mark){0};
    int64_t over = same && slot->epoch == epoch ? slot->over : 0;

    *slot = (struct slot){.product_id = product_id, .epoch = epoch, .over = over, .early = early};
}

void fast_path_note(struct pg *pg, int64_t product_id, int64_t epoch, bool fits)
{
    struct fast_path *table = lock(pg);
    struct slot *slot = slot_of(table, product_id);

    note(slot, product_id, epoch);
    slot->unfit = !fits;
    pthread_mutex_unlock(&table->mutex);
}

void fast_path_note_epoch(struct pg *pg, int64_t product_id, int64_t epoch)
{
    struct fast_path *table = lock(pg);
    struct slot *slot = slot_of(table, product_id);

    if (slot->product_id != product_id || slot->epoch != epoch)
        note(slot, product_id, epoch);
    pthread_mutex_unlock(&table->mutex);
}

int64_t fast_path_epoch(struct pg *pg, int64_t product_id)
{
    struct fast_path *table = lock(pg);
    const struct slot *slot = slot_of(table, product_id);

    int64_t epoch = slot->product_id == product_id ? slot->epoch : 0;
    pthread_mutex_unlock(&table->mutex);
    return epoch;
}

bool fast_path_fits(struct pg *pg, int64_t product_id)
{
    struct fast_path *table = lock(pg);
    const struct slot *slot = slot_of(table, product_id);

    bool unfit = slot->product_id == product_id && slot->unfit;
    pthread_mutex_unlock(&table->mutex);
    return !unfit;
}

void fast_path_note_left(struct pg *pg, int64_t product_id, int64_t units)
{
    struct fast_path *table = lock(pg);
    struct slot *slot = slot_of(table, product_id);

    if (slot->product_id == product_id)
        slot->over = units + 1;
    pthread_mutex_unlock(&table->mutex);
}

int64_t fast_path_over(struct pg *pg, int64_t product_id)
{
    struct fast_path *table = lock(pg);
    const struct slot *slot = slot_of(table, product_id);

    int64_t over = slot->product_id == product_id ? slot->over : 0;
    pthread_mutex_unlock(&table->mutex);
    return over > 0 ? over : INT64_MAX;
}

/* Another database has another base; and a standby that was promoted may lack the mark. */
static bool is_marked(const struct pg *pg, const struct slot *slot)
{
    return slot->epoch != 0 && slot->early.epoch == slot->epoch && slot->early.server != 0 &&
           slot->early.server == pg_server(pg) && slot->early.epoch_base == pg_epoch_base(pg);
}

void fast_path_note_early(struct pg *pg, int64_t product_id, int64_t epoch)
{
    struct fast_path *table = lock(pg);
    struct slot *slot = slot_of(table, product_id);

    if (slot->product_id != product_id || slot->epoch != epoch)
        note(slot, product_id, epoch);
    slot->early =
        (struct mark){.server = pg_server(pg), .epoch_base = pg_epoch_base(pg), .epoch = epoch};
    pthread_mutex_unlock(&table->mutex);
}

int64_t fast_path_early_epoch(struct pg *pg, int64_t product_id)
{
    struct fast_path *table = lock(pg);
    const struct slot *slot = slot_of(table, product_id);

    int64_t epoch = slot->product_id == product_id && is_marked(pg, slot) ? slot->epoch : 0;
    pthread_mutex_unlock(&table->mutex);
    return epoch;
}
