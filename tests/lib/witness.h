/*
 * The witness: looks at PostgreSQL's rows through libpq, and shares no code with the server.
 *
 * Answers alone prove little: a sale is judged by what was committed. Every function ends the test
 * when PostgreSQL does not do as it is told.
 */
#ifndef SECKILL_TESTS_LIB_WITNESS_H
#define SECKILL_TESTS_LIB_WITNESS_H

#include <stdbool.h>
#include <stdint.h>

struct witness;

/* The advisory lock under which servers make the schema (schema_text.h). */
#define SCHEMA_LOCK "32476585539202156"

struct witness *witness_open(const char *conninfo);
void witness_close(struct witness *witness); /* NULL is allowed */

void witness_run(struct witness *witness, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The first column of the first row; no row ends the test. */
int64_t witness_number(struct witness *witness, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A statement that may have to wait for others: begins it; expects it to have ended well by then.
 */
void witness_send(struct witness *witness, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void witness_await(struct witness *witness, int64_t until_us);

/* Holds the product's row, on a connection of its own, so that all its other writers wait for as
 * long as the test wants. */
struct witness *witness_hold(const char *conninfo, int64_t product);
void witness_release(struct witness *holder);
/* How many sessions of this database stand still before a lock of PostgreSQL's. */
int64_t witness_blocked(struct witness *witness);
/* Waits until there are so many. */
void witness_wait_blocked(struct witness *witness, int64_t least);

/* A product as its rows are now, in its present epoch, in one snapshot. */
struct sale {
    int64_t stock;
    int64_t initial_stock;
    int64_t epoch;
    int64_t restocked;  /* units */
    int64_t orders;     /* confirmed rows */
    int64_t sold;       /* units of these */
    int64_t cancelled;  /* rows */
    int64_t over_limit; /* users who hold more than the limit */
    int64_t repeated;   /* rows beyond the first of a (user, key) */
    int64_t pending;    /* rows that wait to be paid */
    int64_t held;       /* units of these */
    int64_t expired;    /* rows */
};
struct sale witness_sale(struct witness *witness, int64_t product);

/* Every unit is somewhere, and nothing sold or held twice, no update lost, no limit passed, no key
 * used twice. */
bool sale_is_exact(const struct sale *sale);
void witness_expect_exact(struct witness *witness, int64_t product);

#endif
