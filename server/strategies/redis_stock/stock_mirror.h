/*
 * The mirror: a product's stock as Redis has it, less whatever is reserved.
 *
 * A mirror is loaded from the product's row, once for an epoch: by a PUT, else by the first order.
 * A missing one means "not loaded", never 0 and never infinite. Whoever loads holds the row's lock,
 * so no commit falls between the figure and its loading, and subtracts what waits for PostgreSQL's
 * decision. Each loading gives the mirror a generation of its own. What corrects a mirror after a
 * commit names the generation it saw before; when that is gone it unloads the mirror instead, so
 * that nothing is counted twice and nothing is forgotten.
 *
 * Keys, all under "{SYSTEM}:stock": mirror:PRODUCT (a hash), users:PRODUCT:GENERATION (units a user
 * holds, with a limit), loaded (a set of products), units (PRODUCT:EPOCH: reserved; "orders": how
 * many wait in all), key:USER:KEY, call:WORKER (its last answer); and orders (the stream), waiting
 * and partly (stock_waiting.h).
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_STOCK_MIRROR_H
#define SECKILL_STRATEGIES_REDIS_STOCK_STOCK_MIRROR_H

#include "postgres/pg.h"
#include "redis/redis.h"
#include "settings/settings.h"

enum { STOCK_KEY_MAX = 192, STOCK_GENERATION_MAX = 24, STOCK_NUMBER_MAX = 24 };

/* How to reach both stores, for the length of one call, and until when. It belongs to one thread,
 * as its sessions do. */
struct stock_link {
    const struct settings *settings;
    struct pg *pg;       /* connected and idle */
    struct redis *redis; /* connected */
    int64_t until_us;
};

enum stock_result {
    STOCK_DONE,
    STOCK_ABSENT,      /* there is no such product */
    STOCK_HELD,        /* somebody held the product's row for as long as was waited for it */
    STOCK_UNREACHABLE, /* one of the stores; the log has said which */
    STOCK_STALE        /* another generation than the one named, or not loaded */
};

/* "{SYSTEM}:stock" and, if `name` is not NULL, ":NAME"; with `id` ≥ 0 ":ID" as well. */
void stock_key(const struct settings *settings, const char *name, int64_t id,
               char out[STOCK_KEY_MAX]);
/* Adds to the end of it. */
void stock_key_add(char key[STOCK_KEY_MAX], const char *more);
void stock_number(int64_t n, char out[STOCK_NUMBER_MAX]);
/* Logs what the session says and answers STOCK_UNREACHABLE. */
enum stock_result stock_redis_failed(struct redis *redis);

/* Loads the mirror if it is not loaded; `anew`: whatever is loaded is thrown away first. Waits for
 * the row until link->until_us; what follows may take seconds more. */
enum stock_result stock_mirror_load(struct stock_link *link, int64_t product_id, bool anew);
/* Unloads `count` mirrors from `first` on; *gone is how many there were. */
enum stock_result stock_mirror_forget(struct stock_link *link, int64_t first, int64_t count,
                                      int64_t *gone);

/* Unloads the mirror if it is of this sale, which has ended; *gone says whether it was. */
enum stock_result stock_mirror_forget_ended(struct stock_link *link, int64_t product_id,
                                            int64_t epoch, int64_t *gone);

/* The mirror's generation, "" when it is not loaded. */
enum stock_result stock_mirror_generation(struct stock_link *link, int64_t product_id,
                                          char out[STOCK_GENERATION_MAX]);
/* After a commit that added `units` to the row, `generation` being what was seen before it began:
 * adds them to the mirror, or unloads it. `user_id` 0: nobody's units go back. */
enum stock_result stock_mirror_correct(struct stock_link *link, int64_t product_id,
                                       const char *generation, int64_t units, int64_t user_id);

struct stock_look {
    bool loaded;
    int64_t epoch;
    int64_t stock;
    int64_t units;  /* reserved under that epoch */
    bool untouched; /* since it was loaded: others sell this product */
};
enum stock_result stock_mirror_look(struct stock_link *link, int64_t product_id,
                                    struct stock_look *out);

#endif
