/*
 * Fast path: hints about the products of a database, which are remembered from the rows that were
 * read: the epoch (the present sale), whether one statement can sell the product, and how much of
 * it was left.
 *
 * Happy path: a strategy asks for the epoch and sends one statement that decides, writes and
 * commits, with that epoch in it.
 *
 * Failure modes:
 * - The epoch is out of date: the statement matches no row, and the strategy reads the row. So a
 *   statement that arrives late is harmless even after a PUT whose purge has deleted its order's
 *   tombstone. Only the row knows the present epoch.
 * - One statement cannot sell: the product has a limit per user, or too little is left. The
 *   statement matches no row. The strategy notes it here, and later orders take the longer way at
 *   once.
 * - The hint is wrong or was evicted by another product: an order costs one more round trip.
 *
 * Thread rule: any thread; a mutex guards the table.
 */
#ifndef SECKILL_POSTGRES_FAST_PATH_H
#define SECKILL_POSTGRES_FAST_PATH_H

#include <stdbool.h>
#include <stdint.h>

struct fast_path;
struct pg;

/* The table, a database's (struct store). NULL when out of memory. */
struct fast_path *fast_path_create(void);
void fast_path_destroy(struct fast_path *table); /* NULL is allowed */

/* `epoch` was read from the product's row, now or earlier. */
void fast_path_note(struct pg *pg, int64_t product_id, int64_t epoch, bool fits);
/* The same, where nothing is known but the epoch: of a new sale one statement is tried. */
void fast_path_note_epoch(struct pg *pg, int64_t product_id, int64_t epoch);
/* 0: not seen, or forgotten for another product. */
int64_t fast_path_epoch(struct pg *pg, int64_t product_id);
/* True, too, of a product that was never noted, or of which the epoch alone was. */
bool fast_path_fits(struct pg *pg, int64_t product_id);

/* So many units are left of a product that was just noted, whose stock stands in its row alone; 0
 * of one that is not on sale. */
void fast_path_note_left(struct pg *pg, int64_t product_id, int64_t units);
/* From so many units on the last look would refuse an order; INT64_MAX: nobody knows. */
int64_t fast_path_over(struct pg *pg, int64_t product_id);

/* The epoch, where the row of this session's database says that commits of that sale may be early
 * (drive/early_release.c); else 0. No hint: noted where it was read there, and flushed. */
void fast_path_note_early(struct pg *pg, int64_t product_id, int64_t epoch);
int64_t fast_path_early_epoch(struct pg *pg, int64_t product_id);

#endif
