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
#include "loadtest/base/pool.h"
#include "loadtest/judge/claims/claims.h"
#include "loadtest/shop/fill.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One line of "outcome". Whatever is given must hold. */
struct shop_rule {
    enum shop_meaning meaning;
    int status_from, status_to; /* 0: any status */
    const char *pointer;        /* RFC 6901; NULL: the body is not looked at as JSON */
    const char *equals;         /* the value there as JSON text; NULL: it must only exist */
    const char *contains;       /* in the body as it came; NULL: any */
    const char *order;          /* pointer to the order's id in the answer; NULL: none */
};

/* A header, whose value is a text with fields. */
struct shop_pair {
    const char *name, *value;
};

/* A field, and where what is taken into it stands in an answer. */
struct shop_take {
    const char *name;
    enum shop_source { SHOP_BODY, SHOP_HEADER, SHOP_COOKIE } from;
    const char *at; /* a JSON pointer, or the header's or cookie's name */
};

struct shop_request {
    const char *method;
    const char *url; /* a text with fields; whole: scheme, host, path */
    struct shop_pair *headers;
    size_t header_count;
    const char *body; /* a text with fields; NULL: none */
    enum fill_form body_form;
    bool chunked, closes;
    int64_t expect; /* the status that a step must have; 0: 200 to 299 */
    /* What its answers mean, of the purchase as "outcome" says. Of a step: a no of it, which ends
     * the purchase there. Of "poll": one that is `accepted` asks again. */
    struct shop_rule *rules;
    size_t rule_count;
    struct shop_take *takes; /* of a step */
    size_t take_count;
    int64_t every_us, within_us; /* of "poll" */
};

/* Rows by SQL on the target's database, or by a command's standard output: JSON, an array of rows
 * that are arrays, or one value. Exactly one of the two; both NULL: it is not given. */
struct shop_query {
    const char *sql;     /* may name {product} and {stock} */
    const char *command; /* for sh -c, with PRODUCT and STOCK in its environment */
    int64_t within_us;   /* of "quiet" */
};

/* Its texts and arrays are its pool's. */
struct target {
    struct pool pool;
    const char *path, *name;    /* of the file; of the shop */
    const char *server;         /* its URL, without a slash at its end */
    const char *database;       /* conninfo for SQL; NULL: none. Never printed. */
    int64_t product;            /* {product} */
    int64_t stock;              /* units at the start */
    int64_t limit;              /* units a user may have; 0: any */
    int64_t user_from, user_to; /* when neither of the next two is given */
    const char *users_csv;      /* the first line names the fields; one must be "user" */
    const char *users_command;  /* prints such a file */
    double repeats;             /* 0 .. 1: this share is sent a second time with the same key */
    struct shop_request *steps; /* before each purchase, of the same user */
    size_t step_count;
    struct shop_request purchase;
    struct shop_request poll; /* method NULL: nothing is accepted, or nobody asks */
    struct shop_query reset;
    struct shop_query quiet;         /* true or a number > 0: nothing is under way any more */
    struct shop_query stock_left;    /* one number */
    struct shop_query orders;        /* rows: id, user, units (1 where it is not given) */
    bool claims[FINDING_KIND_COUNT]; /* to be judged: all that there are, unless it lists them */
};

/* Whether a text of the request names the field. */
bool shop_request_names(const struct shop_request *request, const char *name);
/* The value of a header, in whatever letters its name is; NULL: the request has none. */
const char *shop_request_header(const struct shop_request *request, const char *name);
bool shop_query_is_given(const struct shop_query *query);

/* False: `error` says file, line, field, what is wrong and what would be right: "FILE:12:
 * outcome[2].sold: "2000" is no status: a number from 100 to 599, …". A field that nobody knows is
 * an error, with the nearest name. ${NAME} in a value is the environment's, so that no password
 * need stand in a file; no error repeats a value that may hold one. */
bool target_read(const char *path, struct target *out, struct error *error);
void target_fini(struct target *target); /* a zeroed one is allowed */

#endif
