/*
 * The mirror: a product's stock as Redis has it, less whatever is reserved.
 *
 * A mirror is loaded from the product's row, once for an epoch: by a PUT, else by the first order.
 * A missing mirror means "not loaded", never 0 and never infinite. The loading thread holds the
 * row's lock, so that no commit comes between the figure and its loading, and subtracts the orders
 * that wait for PostgreSQL's decision. Each loading gives the mirror a new generation. A correction
 * after a commit names the generation that it saw before the commit; if that is gone, the mirror is
 * unloaded instead, so that nothing is counted twice and nothing is forgotten.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_STOCK_MIRROR_H
#define SECKILL_STRATEGIES_REDIS_STOCK_STOCK_MIRROR_H

#include "strategies/redis_stock/stock_link.h"

/* Loads the mirror if it is not loaded; `anew`: whatever is loaded is thrown away first. Waits for
 * the row until link->until_us; what follows may take seconds more, until load_until_us (INT64_MAX:
 * as long as a load may take), and a second for what a failed load has left. */
enum stock_result stock_mirror_load(struct stock_link *link, int64_t product_id, bool anew,
                                    int64_t load_until_us);
/* Unloads those of `count` mirrors from `first` on that are in the link's shard, which is the
 * first's and comes again every `step` products; *gone is how many there were, or had been less
 * than STOCK_LEASE_US ago. */
enum stock_result stock_mirror_forget_run(struct stock_link *link, int64_t first, int64_t count,
                                          int64_t step, int64_t *gone);
/* Unloads one; *gone is 1 or 0 of it. */
enum stock_result stock_mirror_forget(struct stock_link *link, int64_t product_id, int64_t *gone);

/* Unloads a mirror after units have come back to the row, for a caller who had a session with Redis
 * and lost it: tries to have another until then. Less than STOCK_SOON_US is in vain where an
 * attempt of another thread has just failed. */
#define STOCK_SOON_US  INT64_C(400000)
#define STOCK_PAUSE_US INT64_C(20000)
enum stock_result stock_mirror_forget_late(struct stock_link *link, int64_t product_id,
                                           int64_t until_us);

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

/* A sale's terms, its limit and its window, as PostgreSQL has them: from three columns of the
 * result's row. A PATCH changes them and not the epoch. */
enum { STOCK_TERMS_MAX = 72 };
void stock_read_terms(const struct pg *pg, int column, char out[STOCK_TERMS_MAX]);
/* Unloads the mirror if it was loaded under other terms, or by a server that did not note them. */
enum stock_result stock_mirror_check_terms(struct stock_link *link, int64_t product_id,
                                           const char *terms);

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
