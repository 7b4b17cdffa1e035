/*
 * A ledger: what a crowd of clients asked for and what it was told, operation by operation, with
 * monotonic times; of somebody's shop also how the load went, and what the shop's books said then.
 * docs/JUDGING.md has the file's format; this is what a reader makes of it.
 *
 * Every operation was written down before it was sent and again when it was answered. One that has
 * no answer may have happened or not, at any time after it was sent: LEDGER_INFO.
 *
 * Users, keys and ids are texts, since no two shops have the same.
 */
#ifndef SECKILL_LOADTEST_LEDGER_LEDGER_H
#define SECKILL_LOADTEST_LEDGER_LEDGER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- the words of its file: what is done, how it ended, what an answer showed or meant --- */

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

/* What a shop's answer means. The first that matches is taken; an answer that none matches is
 * unknown, as is one that did not come. */
enum shop_meaning {
    SHOP_UNKNOWN,
    SHOP_SOLD,
    SHOP_ACCEPTED, /* it will be sold or refused: `poll` tells */
    SHOP_SOLD_OUT, /* refused, since nothing is left */
    SHOP_REFUSED,  /* a definite no for another reason: bought already, closed */
    SHOP_SHED,     /* turned away, nothing was decided: too busy */
    SHOP_MEANINGS
};

/* "" for none. The second half is -1 for a word that it does not know. */
const char *ledger_kind_name(enum ledger_kind kind);
const char *ledger_result_name(enum ledger_result result);
const char *ledger_state_name(enum ledger_state state);
const char *shop_meaning_name(enum shop_meaning meaning);
int ledger_kind_of(const char *name);
int ledger_result_of(const char *name);
int ledger_state_of(const char *name);
int shop_meaning_named(const char *name);

/* --- what is asked for and answered --- */

enum { LEDGER_CODE_SIZE = 32, LEDGER_NAME_SIZE = 32, LEDGER_ID_SIZE = 37, LEDGER_KEY_MAX = 255 };

/* When an operation ended that has no answer: later than everything. */
#define LEDGER_NEVER INT64_MAX

struct ledger_op {
    int64_t number; /* its name in the file; they rise. The first member: rows_find */
    enum ledger_kind kind;
    int64_t due_us;           /* when its user meant to buy; 0: not told */
    int64_t start_us, end_us; /* LEDGER_NEVER: not answered */
    char *user;               /* NULL: none, as of a restock; the texts are the ledger's */
    int64_t product;
    int64_t quantity;
    int64_t hold_s; /* of a buy: until when it has to be paid; 0: it named none */
    char *key;      /* NULL: none */
    char *order;    /* whose it is, or which one the answer named; NULL: none */
    char *named;    /* another order than was asked about, which the answer shows; NULL */
    char strategy[LEDGER_NAME_SIZE];
    bool repeat;  /* its key was sent before */
    bool unasked; /* a step before it ended it, so the shop was never asked to sell */

    enum ledger_result result;
    int status; /* HTTP's; 0: no answer */
    char code[LEDGER_CODE_SIZE];
    enum ledger_state state;
    int64_t fence; /* the lock's token under which it was done; 0: not recorded */
    bool means; /* a shop's: what the answer meant, and became after polling if it was accepted */
    enum shop_meaning first, last;
};

/* The answer of a shop: what the operation's result, code and state are then. */
void ledger_op_means(struct ledger_op *op, enum shop_meaning meaning);

/* An operation under way: the texts that it names stand in it. */
struct ledger_asked {
    struct ledger_op op;
    char user[24], key[48], order[LEDGER_ID_SIZE], named[LEDGER_ID_SIZE];
};

/* --- the books ---
 *
 * What they hold of a ledger's products: our database's, from one snapshot (products and orders of
 * the present sale, and what stands about that should not), or a shop's own, as its target says how
 * to get at them (the units left, and orders). Rows that only say that something was not done
 * (tombstones) are left out.
 */

/* Within these no sum of what a shop's books say leaves 64 bits: a target's stock is a billion at
 * most, and what is left of it may be below 0. */
#define ROWS_UNITS_MAX INT64_C(1000000000)
#define ROWS_LEFT_MAX  INT64_C(1000000000000)

struct row_product {
    int64_t id, epoch;      /* the id first: rows_find */
    int64_t initial, stock; /* its buckets are in it */
    int64_t restocked;      /* in all */
    int64_t limit;          /* 0: none */
    int cell;               /* whose database has it; 0: there are no cells */
};

struct row_order {
    char *id, *user; /* owned; NULL: not named, which shops alone do */
    int64_t product, quantity;
    enum ledger_state state; /* never LEDGER_STATE_NONE */
    bool overdue;            /* pending, and its hold has been over for 10 s, or has no end */
    char *key;               /* owned; NULL: none */
    int cell;                /* whose database has it; 0: there are no cells */
    bool lost;               /* failed, because the stock's Redis has lost it */
    enum ledger_state told;  /* the feed's last word, where it is another; else LEDGER_STATE_NONE */
};

/* redis-stock's copy of a product, where it was looked at. */
struct row_mirror {
    int64_t product;
    int64_t stock, reserved; /* left to reserve; reserved and not decided */
};

struct rows {
    bool has_left;   /* a shop's `left` was read, -ROWS_LEFT_MAX .. ROWS_LEFT_MAX */
    bool has_orders; /* the orders were read */
    int64_t left;
    struct row_product *products; /* owned; in the order of their ids */
    size_t products_count;
    struct row_product *strays; /* owned: further rows of these products, in other cells */
    size_t strays_count;
    struct row_order *orders; /* owned */
    size_t orders_count;
    /* Residue, of these databases: */
    int64_t idle_transactions;  /* sessions in a transaction that has done nothing for 5 s */
    int64_t prepared;           /* prepared transactions */
    int64_t waiting;            /* sessions that have waited for a lock for 5 s */
    struct row_mirror *mirrors; /* owned; redis_look.c */
    size_t mirrors_count;
    int64_t leaseless; /* locks in Redis without a lease */
};

/* Begin as (struct rows){0}. */
void rows_fini(struct rows *rows);

/* A new one, sold and else zeroed. Valid until the next. */
struct row_order *rows_add_order(struct rows *rows);

/* NULL: there is none. */
const struct row_product *rows_find_product(const struct rows *rows, int64_t id);

/* Of items that begin with their number, an int64_t: by it, as qsort takes it; and the one that has
 * it, of a list in their order, or NULL. */
int rows_compare(const void *a, const void *b);
void *rows_find(const void *items, size_t count, size_t item_bytes, int64_t number);

/* --- the ledger --- */

/* A product as it was put on sale before the first operation. */
struct ledger_product {
    int64_t id, stock; /* the id first: rows_find */
    int64_t limit;     /* units a user may have; 0: any */
    int64_t epoch;     /* of its sale; 0: not known */
};

/* How a shop's load was made and what it came to: told, and asked for by no claim. */
struct ledger_load {
    int64_t connections, rate_per_s;
    int64_t began_us, ended_us;
    int64_t
        late_us; /* so late began one purchase in a hundred, which was too late; 0: it was not */
    size_t answered;
    size_t failures;         /* visits that did not go as they should */
    char first_failure[400]; /* "": none */
};

/* Whose ledger is wanted: the other's is refused, and the error says who judges it. */
enum ledger_whose { LEDGER_OF_SERVERS, LEDGER_OF_SHOP };

struct ledger {
    int64_t seed;
    char *shop;              /* owned; its name; NULL: of our own servers */
    struct ledger_load load; /* of a shop, as the next */
    struct rows books;
    struct ledger_product *products; /* owned; in the order of their ids once it is read */
    size_t products_count;
    struct ledger_op *ops; /* owned; in the order of their numbers */
    size_t ops_count;
    bool done;      /* the recorder came to its end and said so */
    bool cut;       /* the last line was not whole; it is left out */
    size_t skipped; /* lines of a sort that this reader does not know */
};

/* A ledger begins as (struct ledger){0}. */
void ledger_fini(struct ledger *ledger);

/* The op's texts become the ledger's. The op that is returned is valid until the next. */
void ledger_add_product(struct ledger *ledger, const struct ledger_product *product);
struct ledger_op *ledger_add_op(struct ledger *ledger, const struct ledger_op *op);

/* NULL: there is none. */
struct ledger_op *ledger_find_op(const struct ledger *ledger, int64_t number);
const struct ledger_product *ledger_find_product(const struct ledger *ledger, int64_t id);

/* In another order: by this, then by that, then by their numbers; a text that is not there comes
 * first, and a payment before anything else. */
enum ledger_by {
    LEDGER_BY_NUMBER,
    LEDGER_BY_PRODUCT,
    LEDGER_BY_USER,
    LEDGER_BY_KEY,
    LEDGER_BY_ORDER,
    LEDGER_BY_PAYMENT,
    LEDGER_BY_START,
    LEDGER_BY_END
};
void ledger_sort(const struct ledger_op **ops, size_t count, enum ledger_by by,
                 enum ledger_by then);
/* Of a list in that order: where those end that are the same by it as the one at `from`. */
size_t ledger_run(const struct ledger_op *const *ops, size_t from, size_t count, enum ledger_by by);
int ledger_compare_texts(const char *a, const char *b);

/* Puts the products in order, which ledger_find_product needs. False: one stands there twice. */
bool ledger_sort_products(struct ledger *ledger, struct error *error);

#endif
