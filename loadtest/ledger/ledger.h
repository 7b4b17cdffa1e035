/*
 * A ledger: what a crowd of clients asked for and what it was told, operation by operation, with
 * monotonic times. docs/JUDGING.md has the file's format; this is what a reader makes of it.
 *
 * Every operation was written down before it was sent and again when it was answered. One that has
 * no answer may have happened or not, at any time after it was sent: LEDGER_INFO.
 */
#ifndef SECKILL_LOADTEST_LEDGER_LEDGER_H
#define SECKILL_LOADTEST_LEDGER_LEDGER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LEDGER_CODE_SIZE = 32, LEDGER_NAME_SIZE = 32, LEDGER_ID_SIZE = 37, LEDGER_KEY_MAX = 255 };

/* When an operation ended that has no answer: later than everything. */
#define LEDGER_NEVER INT64_MAX

enum ledger_kind {
    LEDGER_BUY,
    LEDGER_CANCEL,
    LEDGER_RESTOCK,
    LEDGER_READ,
    LEDGER_PAY,
    LEDGER_KINDS
};

/* info: nobody knows whether it was done. ok: it was. fail: a definite no, nothing was done. */
enum ledger_result { LEDGER_INFO, LEDGER_OK, LEDGER_FAIL, LEDGER_RESULTS };

/* An order as an answer showed it. */
enum ledger_state {
    LEDGER_STATE_NONE, /* the answer showed no order */
    LEDGER_QUEUED,
    LEDGER_CONFIRMED,
    LEDGER_CANCELLED,
    LEDGER_FAILED,
    LEDGER_PENDING, /* taken, and to be paid before its hold is over */
    LEDGER_EXPIRED, /* nobody paid in time */
    LEDGER_STATES
};

/* Words of the file; "" for none. The second half is -1 for a word that it does not know. */
const char *ledger_kind_name(enum ledger_kind kind);
const char *ledger_result_name(enum ledger_result result);
const char *ledger_state_name(enum ledger_state state);
int ledger_kind_of(const char *name);
int ledger_result_of(const char *name);
int ledger_state_of(const char *name);

struct ledger_op {
    int64_t number; /* its name in the file; they rise */
    enum ledger_kind kind;
    int64_t start_us, end_us; /* LEDGER_NEVER: not answered */
    int64_t user;             /* 0: of a restock */
    int64_t product;
    int64_t quantity;
    int64_t hold_s; /* of a buy: until when it has to be paid; 0: it named none */
    char *key;      /* owned; NULL: none */
    char strategy[LEDGER_NAME_SIZE];

    enum ledger_result result;
    int status; /* HTTP's; 0: no answer */
    char code[LEDGER_CODE_SIZE];
    char order[LEDGER_ID_SIZE]; /* whose it is, or which one the answer named; "": none */
    enum ledger_state state;
    char named[LEDGER_ID_SIZE]; /* another order than was asked about, which the answer shows; "" */
    int64_t fence;              /* the lock's token under which it was done; 0: not recorded */
};

/* A product as it was put on sale before the first operation. */
struct ledger_product {
    int64_t id, stock;
    int64_t limit; /* units a user may have; 0: any */
    int64_t epoch; /* of its sale; 0: not known */
};

struct ledger {
    int64_t seed;
    struct ledger_product *products; /* owned; in the order of their ids once it is read */
    size_t products_count, products_size;
    struct ledger_op *ops; /* owned; in the order of their numbers */
    size_t ops_count, ops_size;
    bool done;      /* the recorder came to its end and said so */
    bool cut;       /* the last line was not whole; it is left out */
    size_t skipped; /* lines of a sort that this reader does not know */
};

/* A ledger begins as (struct ledger){0}. */
void ledger_fini(struct ledger *ledger);

/* False when there is no memory. The op's key becomes the ledger's, or is freed. */
bool ledger_add_product(struct ledger *ledger, const struct ledger_product *product);
bool ledger_add_op(struct ledger *ledger, const struct ledger_op *op);

/* `id`: the order that the answer to an operation on an order names. */
void ledger_take_named(struct ledger_op *op, const char *id);

/* NULL: there is none. */
struct ledger_op *ledger_find_op(const struct ledger *ledger, int64_t number);
const struct ledger_product *ledger_find_product(const struct ledger *ledger, int64_t id);

/* Puts the products in order, which ledger_find_product needs. False: one stands there twice. */
bool ledger_sort_products(struct ledger *ledger, struct error *error);

#endif
