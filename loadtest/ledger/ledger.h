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
#include "loadtest/ledger/rows.h"
#include "loadtest/ledger/words.h"

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

/* False, or NULL, when there is no memory. The op's texts become the ledger's, or are freed. The op
 * that is returned is valid until the next. */
bool ledger_add_product(struct ledger *ledger, const struct ledger_product *product);
struct ledger_op *ledger_add_op(struct ledger *ledger, const struct ledger_op *op);

/* NULL: there is none. */
struct ledger_op *ledger_find_op(const struct ledger *ledger, int64_t number);
const struct ledger_product *ledger_find_product(const struct ledger *ledger, int64_t id);

/* Puts the products in order, which ledger_find_product needs. False: one stands there twice. */
bool ledger_sort_products(struct ledger *ledger, struct error *error);

#endif
