/*
 * A great sale of many nights: how many tickets each night has, and how many its buyers were told
 * that they had got. The rows have the last word (judge/); this is what the crowd knows, and what
 * is shown while the hall empties.
 *
 * One buyer of it looks at the night's page, perhaps more than once, asks for one to four tickets
 * under a key, and perhaps presses the button twice, asks with the same key again, or comes back
 * for more than anybody may have. What a buyer does is drawn when it arrives; what it does next
 * follows from the answers. Told "sold out", it asks for one ticket less, then for another night;
 * told that nothing was done, or nothing at all, it asks again with the same key. No I/O here.
 */
#ifndef SECKILL_LOADTEST_CROWD_CROWD_H
#define SECKILL_LOADTEST_CROWD_CROWD_H

#include "loadtest/base/random.h"
#include "loadtest/engine/answer.h"
#include "loadtest/engine/http_request.h"

#include <stdbool.h>

enum { HALL_NIGHTS_MAX = 1000 };

struct night {
    int64_t product;
    int64_t tickets; /* on sale */
    int64_t sold;    /* told to buyers */
    bool gone;       /* somebody was refused a single ticket */
};

struct hall {
    struct night nights[HALL_NIGHTS_MAX];
    size_t count;
    size_t open[HALL_NIGHTS_MAX]; /* the nights that are not gone, in no order */
    size_t open_count;
    int64_t tickets, sold; /* of all nights */
};

/* `nights` of them, products `first_product` and on, with `tickets` in all: as many each, and one
 * more for the first ones where they cannot be shared out evenly. */
void hall_init(struct hall *hall, int64_t first_product, size_t nights, int64_t tickets);

/* Told to a buyer. A night that has told twice what it has ends too: what protects nothing might
 * never say that it is sold out. */
void hall_sell(struct hall *hall, struct night *night, int64_t tickets);
void hall_close(struct hall *hall, struct night *night);

/* What a page calls the night: "Cardiff, 4 July". */
void hall_name(const struct hall *hall, const struct night *night, char *out, size_t size);

/* A figure as people read it, "1,400,000". Returns `out`. */
enum { HALL_FIGURE_SIZE = 32 };
const char *hall_figure(int64_t figure, char out[HALL_FIGURE_SIZE]);

/* "[######    ] 840,000 left, 560,000 sold, 9,120 orders/s, 61 s": as full as the hall is for sale.
 */
void hall_line(const struct hall *hall, double orders_per_s, int64_t seconds, char *out,
               size_t size);

enum { BUYER_LIMIT = 4, BUYER_KEY_SIZE = 48, BUYER_ORDER_SIZE = 37 };

enum buyer_step {
    BUYER_LOOKS,      /* at the night: GET /products/ID */
    BUYER_BUYS,       /* POST /orders, with a key of its own */
    BUYER_REPEATS,    /* the same with the same key, and it has an order */
    BUYER_COMES_BACK, /* for so many that it would have one too many */
    BUYER_GOES
};

struct buyer {
    int64_t user;
    struct night *night; /* borrowed: the hall's */
    enum buyer_step step;
    int64_t quantity;
    int looks; /* still to come */
    bool late; /* it came when all nights were gone */
    bool presses_twice, repeats, comes_back;
    int keys;                     /* that it has used */
    char key[BUYER_KEY_SIZE];     /* of the order that it asks for */
    char order[BUYER_ORDER_SIZE]; /* "": none yet */
};

/* What a crowd was told. Orders, but for `tickets` and `looks`. */
struct crowd_tally {
    int64_t looks;
    int64_t bought;
    int64_t sold_out;              /* refusals */
    int64_t repeated;              /* keys that were sent again, or twice at once */
    int64_t repeated_wrongly;      /* and were answered with another order, or refused */
    int64_t came_back, over_limit; /* for more; and got it */
    int64_t late, late_sold;       /* came when all was gone; and got a ticket */
    int64_t sent_again;            /* nothing was done, or there was no answer */
    int64_t unexpected;            /* answers that no buyer can do anything with */
    int64_t began_us, emptied_us;  /* CLOCK_MONOTONIC; the last night was gone, 0: it was not */
};

/* An answer, or none (status 0). */
struct buyer_reply {
    int status;
    bool sold_out, limit_reached; /* of a 409 */
    char order[BUYER_ORDER_SIZE]; /* "": it names none */
};
void buyer_read(struct buyer_reply *reply, const struct answer *answer);

/* While a night is open it is one of the open ones. */
void buyer_arrive(struct buyer *buyer, struct hall *hall, int64_t user, struct random *random);

/* The request of its step. `query` stands behind "strategy=NAME". */
void buyer_ask(const struct buyer *buyer, const char *strategy, const char *query,
               struct http_request *out);

/* Takes the next step. `second` is what the second press of the button got; NULL: there was none.
 * False: the same has to be asked again, after a moment. */
bool buyer_learn(struct buyer *buyer, struct hall *hall, struct crowd_tally *tally,
                 const struct buyer_reply *reply, const struct buyer_reply *second,
                 struct random *random);

#endif
