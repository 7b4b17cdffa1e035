/*
 * A great sale of many nights: how many tickets each night has, and how many its buyers were told
 * that they had got. The rows have the last word (judge/); this is what the crowd knows, and what
 * is shown while the hall empties.
 */
#ifndef SECKILL_LOADTEST_CROWD_HALL_H
#define SECKILL_LOADTEST_CROWD_HALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
