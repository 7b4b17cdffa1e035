/*
 * The witness: the harness's own connection to PostgreSQL. It reads the rows with its own SQL,
 * which nobody shares with the server, so that a fault in the server's audit cannot hide one in its
 * strategies. Its session is read-only.
 */
#ifndef SECKILL_LOADTEST_JUDGE_WITNESS_H
#define SECKILL_LOADTEST_JUDGE_WITNESS_H

#include "base/error.h"
#include "loadtest/judge/verdict.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct witness;

/* `conninfo` "": libpq's PG* variables; `schema`: of the servers' tables, as --schema takes it.
 * NULL with the error when the database is out of reach. */
struct witness *witness_create(const char *conninfo, const char *schema, struct error *error);
/* The databases of a shop's cells, where there are several, each of which has products of its own:
 * sums are over all of them, in the order of the cells, and what is asked of a database itself is
 * asked of the first. */
struct witness *witness_create_cells(const char *const *conninfos, size_t count, const char *schema,
                                     struct error *error);
void witness_destroy(struct witness *witness);

/* Where the tables are, as an identifier. */
const char *witness_schema(const struct witness *witness);

/* Calls `each` for every product from `first` to `last`, in id order, all from one snapshot; cell
 * after cell. */
struct witness_product {
    size_t cell; /* whose database has it; 0: there are no cells */
    int64_t id, epoch;
    int64_t limit;      /* units that a user may have; 0: any number */
    struct books audit; /* computed */
};
bool witness_audit(struct witness *witness, int64_t first, int64_t last,
                   void (*each)(void *context, const struct witness_product *product),
                   void *context, struct error *error);
/* The same, together. */
bool witness_sum(struct witness *witness, int64_t first, int64_t last, struct books *sum,
                 struct error *error);

/* What the databases of cells must not show beside each other, however good each one's own books
 * are: a product is sold in one of them, an order in the one that its id names, and a user's
 * Idempotency-Key has one order in all of them. Only sales that run now count. Writes a line for
 * each thing that is wrong, the first few of a kind, and counts all of them. */
bool witness_audit_cells(struct witness *witness, int64_t first, int64_t last, FILE *to,
                         int64_t *wrong, struct error *error);

/* A few units of work that the harness waits for or asks about, for the products from `first` to
 * `last`. */
struct witness_state {
    int64_t stock;     /* left in all */
    int64_t orders;    /* rows of the sales that run now */
    int64_t queued;    /* of them not decided */
    int64_t leftovers; /* so many databases have rows of earlier sales still */
};
bool witness_look(struct witness *witness, int64_t first, int64_t last, struct witness_state *state,
                  struct error *error);

/* Remembers the sales of the products from `first` to `last`; `epoch`: of the last, as the PUT
 * answered, or 0. The other says later whether all of them still are what they were: false, with
 * the error, once somebody has put one on sale again, whose rows are then of another sale. */
bool witness_remember(struct witness *witness, int64_t first, int64_t last, int64_t epoch,
                      struct error *error);
bool witness_same_sales(struct witness *witness, struct error *error);

/* The buyers' units of the products from `first` to `last` together, by the confirmed orders; of
 * one database alone. */
struct witness_holdings {
    int64_t orders, buyers;
    int64_t most; /* units of the one who has the most */
};
bool witness_holds(struct witness *witness, int64_t first, int64_t last,
                   struct witness_holdings *holdings, struct error *error);

/* Sold orders of the products from `first` to `last` that have an Idempotency-Key, `most` of them,
 * by the ends of their ids: as good as drawn, and the same each time. Goes on while `each` is true;
 * what ends it has set the error. */
struct witness_order {
    const char *id, *key; /* borrowed */
    int64_t product, user, quantity;
};
struct witness_sample {
    int64_t first, last, most;
};
bool witness_keyed(struct witness *witness, const struct witness_sample *sample,
                   bool (*each)(void *context, const struct witness_order *order), void *context,
                   struct error *error);
/* How many sold orders have none. */
bool witness_count_keyless(struct witness *witness, int64_t first, int64_t last, int64_t *count,
                           struct error *error);

bool witness_epoch(struct witness *witness, int64_t product, int64_t *epoch, struct error *error);

/* The oldest transaction that somebody's snapshot may still be before, so that rows which have died
 * since it stay; "": nobody keeps any. The same one later proves that it was kept all the time. */
enum { WITNESS_NUMBER_SIZE = 24 };
bool witness_oldest_held(struct witness *witness, char out[WITNESS_NUMBER_SIZE],
                         struct error *error);

/* PostgreSQL's clock `after_us` from now, as the API writes times. */
bool witness_time(struct witness *witness, int64_t after_us, char *out, size_t size,
                  struct error *error);

/* What a reader of the results wants to know of the database: "15.20", and a setting's value. */
bool witness_setting(struct witness *witness, const char *name, char *out, size_t size,
                     struct error *error);

#endif
