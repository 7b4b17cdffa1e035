/*
 * What buyers were told, and what the shop's own books say: all that the claims are judged by.
 * Users, keys and ids are texts, since no two shops have the same.
 */
#ifndef SECKILL_LOADTEST_SHOP_HISTORY_H
#define SECKILL_LOADTEST_SHOP_HISTORY_H

#include "loadtest/shop/target.h"

/* One purchase that was asked for. */
struct shop_purchase {
    char *user, *key; /* owned; a key is the purchase's own, but of a repeat */
    bool repeat;      /* its key was sent before */
    bool asked;       /* false: a step before it ended it, so the shop was never asked to sell */
    int64_t due_us;   /* CLOCK_MONOTONIC; when its user meant to buy */
    int64_t start_us; /* of the purchase's request; 0: not sent */
    int64_t end_us;   /* when it was answered, by a step that said no or itself; 0: never */
    int status;       /* HTTP's, of that answer; 0: none */
    enum shop_meaning first; /* what that answer meant */
    enum shop_meaning last;  /* after polling, where `first` is SHOP_ACCEPTED; else the same */
    char *order;             /* owned; the id that was told; NULL: none */
};

struct shop_history {
    struct shop_purchase *items; /* owned */
    size_t count, room;
};

/* Within these no sum of what books say leaves 64 bits: a target's stock is a billion at most, and
 * what is left of it may be below 0. */
#define SHOP_UNITS_MAX INT64_C(1000000000)
#define SHOP_LEFT_MAX  INT64_C(1000000000000)

/* An order in the shop's books. */
struct shop_row {
    char *id, *user; /* owned; NULL: not named */
    int64_t units;   /* 0 .. SHOP_UNITS_MAX */
};

struct shop_books {
    bool has_left;         /* `left` was read */
    int64_t left;          /* -SHOP_LEFT_MAX .. SHOP_LEFT_MAX */
    bool has_rows;         /* the orders were read */
    struct shop_row *rows; /* owned */
    size_t count, room;
};

/* Begin as zeros. A new one, zeroed; NULL: out of memory. Valid until the next. */
struct shop_purchase *history_add(struct shop_history *history);
struct shop_row *shop_books_add(struct shop_books *books);

void history_fini(struct shop_history *history);
void shop_books_fini(struct shop_books *books);

#endif
