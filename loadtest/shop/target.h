/*
 * A target: somebody's shop, as a YAML file says it: how a purchase is asked for, what an answer
 * means, how the shop is put back to its start, and where its own books are. docs/JUDGING.md has
 * the format for readers; this is what is made of it.
 *
 * Texts may name fields, {product}, {user}, {key}, {order}, a column of the users' file or what a
 * step before has taken: they are filled in for each purchase, by fill.h, and no other brace needs
 * care. The reader has checked that each name exists where it is used.
 *
 * Not touched after target_read, so any thread may read it.
 */
#ifndef SECKILL_LOADTEST_SHOP_TARGET_H
#define SECKILL_LOADTEST_SHOP_TARGET_H

#include "base/error.h"
#include "loadtest/shop/fill.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an answer means. The first that matches is taken; an answer that none matches is unknown,
 * as is one that did not come. */
enum shop_meaning {
    SHOP_UNKNOWN,
    SHOP_SOLD,
    SHOP_ACCEPTED, /* it will be sold or refused: `poll` tells */
    SHOP_SOLD_OUT, /* refused, since nothing is left */
    SHOP_REFUSED,  /* a definite no for another reason: bought already, closed */
    SHOP_SHED,     /* turned away, nothing was decided: too busy */
    SHOP_MEANINGS
};

/* One line of "outcome". Whatever is given must hold. */
struct shop_rule {
    enum shop_meaning meaning;
    int status_from, status_to; /* 0: any status */
    char *pointer;              /* owned; RFC 6901; NULL: the body is not looked at as JSON */
    char *equals;               /* owned; the value there as JSON text; NULL: it must only exist */
    char *contains;             /* owned; in the body as it came; NULL: any */
    char *order;                /* owned; pointer to the order's id in the answer; NULL: none */
};

struct shop_header {
    char *name, *value; /* owned; the value is a text with fields */
};

/* From an answer into a field. */
struct shop_take {
    char *field;   /* owned */
    char *pointer; /* owned; RFC 6901 */
};

struct shop_request {
    char *method;                /* owned */
    char *url;                   /* owned; a text with fields; whole: scheme, host, path */
    struct shop_header *headers; /* owned */
    size_t header_count;
    char *body; /* owned; a text with fields; NULL: none */
    enum fill_form body_form;
    bool chunked, closes;
    int expect;              /* the status that a step must have; 0: 200 to 299 */
    struct shop_rule *rules; /* owned; of a step: a no of it, which ends the purchase there */
    size_t rule_count;
    struct shop_take *takes; /* owned; of a step */
    size_t take_count;
};

/* Rows by SQL on the target's database, or by a command's standard output: JSON, an array of rows
 * that are arrays, or one value. Exactly one of the two; both NULL: it is not given. */
struct shop_query {
    char *sql;     /* owned; may name {product} and {stock} */
    char *command; /* owned; for sh -c, with PRODUCT and STOCK in its environment */
};

/* The claims that are to be judged; what the audit does not name makes one "not checked". */
enum shop_claim {
    SHOP_NEVER_OVERSOLD,      /* units in the orders <= stock */
    SHOP_ONE_A_USER,          /* no user has more units than `limit` */
    SHOP_SOLD_HAS_ITS_ROW,    /* every answer `sold` has its order: by id, else by user */
    SHOP_NOTHING_BEHIND_A_NO, /* no order of a user all of whose answers were refusals */
    SHOP_NOTHING_LEFT,        /* who was told "sold out" was told the truth: nothing is left */
    SHOP_CONSERVED,           /* stock at the start = stock left + units in the orders */
    SHOP_ONE_A_KEY,           /* a repeated key has one order at most */
    SHOP_CLAIMS
};

struct target {
    char *path, *name;          /* owned; of the file; of the shop */
    char *database;             /* owned; conninfo for SQL; NULL: none. Never printed. */
    int64_t product;            /* {product} */
    int64_t stock;              /* units at the start */
    int64_t limit;              /* units a user may have; 0: any */
    int64_t user_from, user_to; /* when neither of the next two is given */
    char *users_csv;            /* owned; the first line names the fields; one must be "user" */
    char *users_command;        /* owned; prints such a file */
    double repeats;             /* 0 .. 1: this share is sent a second time with the same key */
    struct shop_request *steps; /* owned; before each purchase, of the same user */
    size_t step_count;
    struct shop_request purchase;
    struct shop_rule *rules; /* owned */
    size_t rule_count;
    struct shop_request poll;     /* method NULL: nothing is accepted, or nobody asks */
    struct shop_rule *poll_rules; /* owned; one that is `accepted` asks again */
    size_t poll_rule_count;
    int64_t poll_every_us, poll_within_us;
    struct shop_query reset;
    struct shop_query quiet; /* true or a number > 0: nothing is under way any more */
    int64_t quiet_within_us;
    struct shop_query stock_left; /* one number */
    struct shop_query orders;     /* rows: id, user, units (1 where it is not given) */
    bool claims[SHOP_CLAIMS];     /* all, unless the file lists them */
};

/* The word of the file: "sold_out", "never_oversold" … */
const char *shop_meaning_name(enum shop_meaning meaning);
const char *shop_claim_name(enum shop_claim claim);

/* Whether a text of the request names the field. */
bool shop_request_names(const struct shop_request *request, const char *name);
bool shop_query_is_given(const struct shop_query *query);

/* False: `error` says file, line, field, what is wrong and what would be right: "FILE:12:
 * outcome[2].sold: "2000" is no status: a number from 100 to 599, …". A field that nobody knows is
 * an error, with the nearest name. ${NAME} in a value is the environment's, so that no password
 * need stand in a file; no error repeats a value that may hold one. */
bool target_read(const char *path, struct target *out, struct error *error);
void target_fini(struct target *target); /* a zeroed one is allowed */

#endif
