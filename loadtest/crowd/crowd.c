/* See crowd.h. */
#include "loadtest/crowd/crowd.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- the hall --- */

enum { BAR_CELLS = 20, HOPELESS = 2 };

/* The seventeen that were on sale on 31 August 2024. */
static const char *const names[] = {
    "Cardiff, 4 July",     "Cardiff, 5 July",     "Manchester, 11 July",  "Manchester, 12 July",
    "Manchester, 16 July", "Manchester, 19 July", "Manchester, 20 July",  "London, 25 July",
    "London, 26 July",     "London, 30 July",     "London, 2 August",     "London, 3 August",
    "Edinburgh, 8 August", "Edinburgh, 9 August", "Edinburgh, 12 August", "Dublin, 16 August",
    "Dublin, 17 August",
};

void hall_init(struct hall *hall, int64_t first_product, size_t nights, int64_t tickets)
{
    *hall = (struct hall){.count = nights, .open_count = nights, .tickets = tickets};
    for (size_t i = 0; i < nights; i++) {
        int64_t each = tickets / (int64_t)nights;
        bool more = (int64_t)i < tickets % (int64_t)nights;
        hall->nights[i] =
            (struct night){.product = first_product + (int64_t)i, .tickets = each + more};
        hall->open[i] = i;
    }
}

void hall_close(struct hall *hall, struct night *night)
{
    if (night->gone)
        return;
    night->gone = true;
    size_t number = (size_t)(night - hall->nights);
    for (size_t i = 0; i < hall->open_count; i++) {
        if (hall->open[i] == number)
            hall->open[i] = hall->open[--hall->open_count];
    }
}

void hall_sell(struct hall *hall, struct night *night, int64_t tickets)
{
    night->sold += tickets;
    hall->sold += tickets;
    if (night->sold >= HOPELESS * night->tickets)
        hall_close(hall, night);
}

void hall_name(const struct hall *hall, const struct night *night, char *out, size_t size)
{
    size_t number = (size_t)(night - hall->nights);
    if (number < sizeof names / sizeof names[0])
        snprintf(out, size, "%s", names[number]);
    else
        snprintf(out, size, "Night %zu", number + 1);
}

const char *hall_figure(int64_t figure, char out[HALL_FIGURE_SIZE])
{
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRId64, figure), used = 0;
    for (size_t i = 0; i < length; i++) {
        size_t left = length - i;
        if (i > 0 && left % 3 == 0 && digits[i - 1] != '-')
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

void hall_line(const struct hall *hall, double orders_per_s, int64_t seconds, char *out,
               size_t size)
{
    char bar[BAR_CELLS + 1], left[HALL_FIGURE_SIZE], sold[HALL_FIGURE_SIZE];
    char rate[HALL_FIGURE_SIZE];
    int64_t rest = hall->tickets > hall->sold ? hall->tickets - hall->sold : 0;
    size_t full = (size_t)((rest * BAR_CELLS + hall->tickets - 1) / hall->tickets);
    memset(bar, '#', full);
    memset(bar + full, ' ', BAR_CELLS - full);
    bar[BAR_CELLS] = '\0';
    snprintf(out, size, "[%s] %s left, %s sold, %s orders/s, %" PRId64 " s", bar,
             hall_figure(rest, left), hall_figure(hall->sold, sold),
             hall_figure((int64_t)orders_per_s, rate), seconds);
}

/* --- a buyer --- */

/* Of a hundred buyers, how many look first, and how many of those look once more; how many press
 * twice at once, repeat with the same key, and come back for more. */
enum { LOOK = 40, LOOK_AGAIN = 50, PRESS_TWICE = 5, REPEAT = 10, COME_BACK = 5 };

static void take_key(struct buyer *buyer)
{
    snprintf(buyer->key, sizeof buyer->key, "ticket-%" PRId64 "-%d", buyer->user, ++buyer->keys);
}

static void choose_night(struct buyer *buyer, struct hall *hall, struct random *random)
{
    size_t number = hall->open_count > 0
                        ? hall->open[random_pick(random, (int64_t)hall->open_count)]
                        : (size_t)random_pick(random, (int64_t)hall->count);
    buyer->night = &hall->nights[number];
}

void buyer_arrive(struct buyer *buyer, struct hall *hall, int64_t user, struct random *random)
{
    *buyer = (struct buyer){
        .user = user,
        .late = hall->open_count == 0,
        .quantity = 1 + random_pick(random, BUYER_LIMIT),
        .looks = random_happens(random, LOOK) ? 1 + random_happens(random, LOOK_AGAIN) : 0,
        .presses_twice = random_happens(random, PRESS_TWICE),
        .repeats = random_happens(random, REPEAT),
        .comes_back = random_happens(random, COME_BACK)};
    choose_night(buyer, hall, random);
    take_key(buyer);
    buyer->step = buyer->looks > 0 ? BUYER_LOOKS : BUYER_BUYS;
    if (buyer->late) { /* a single ticket is the least that may be left */
        buyer->step = BUYER_BUYS;
        buyer->quantity = 1;
    }
}

void buyer_ask(const struct buyer *buyer, const char *strategy, const char *query,
               struct http_request *out)
{
    const struct http_order order = {
        .product = buyer->night->product, .user = buyer->user, .quantity = buyer->quantity};
    *out = (struct http_request){.method = buyer->step == BUYER_LOOKS ? "GET" : "POST"};
    if (buyer->step == BUYER_LOOKS) {
        snprintf(out->target, sizeof out->target, "/products/%" PRId64, buyer->night->product);
        return;
    }
    http_request_order_target(out->target, sizeof out->target, strategy, query);
    http_request_order_body(out->body, &order);
    snprintf(out->key, sizeof out->key, "%s", buyer->key);
}

void buyer_read(struct buyer_reply *reply, const struct answer *answer)
{
    struct answer_fields fields;
    answer_fields(answer, &fields);
    *reply = (struct buyer_reply){.status = answer->status,
                                  .sold_out = strcmp(fields.code, "sold_out") == 0,
                                  .limit_reached = strcmp(fields.code, "limit_reached") == 0};
    if (answer->status / 100 == 2 && strlen(fields.id) < sizeof reply->order)
        snprintf(reply->order, sizeof reply->order, "%.36s", fields.id);
}

static bool is_sold(const struct buyer_reply *reply)
{
    return *reply->order != '\0';
}

/* Nothing was done, or nobody knows: the same key finds out. */
static bool is_open(const struct buyer_reply *reply)
{
    return reply->status == 0 || reply->status == 503 || reply->status == 504;
}

/* It is no use to ask for that again. */
static void give_up(struct buyer *buyer, struct crowd_tally *tally)
{
    tally->unexpected++;
    buyer->step = BUYER_GOES;
}

/* Two answers to one key. One order, or twice the same no. */
static void compare(struct crowd_tally *tally, const struct buyer_reply *first,
                    const struct buyer_reply *second)
{
    if (is_open(first) || is_open(second))
        return;
    tally->repeated++;
    tally->repeated_wrongly += strcmp(first->order, second->order) != 0;
}

/* After the order, and what came of a repeat of it. */
static void go_on(struct buyer *buyer)
{
    if (buyer->repeats) {
        buyer->repeats = false;
        buyer->step = BUYER_REPEATS;
    } else if (buyer->comes_back) {
        buyer->comes_back = false;
        buyer->step = BUYER_COMES_BACK;
        buyer->quantity = BUYER_LIMIT + 1 - buyer->quantity;
        take_key(buyer);
    } else {
        buyer->step = BUYER_GOES;
    }
}

/* One ticket less, then another night, then home. */
static void ask_for_less(struct buyer *buyer, struct hall *hall, struct crowd_tally *tally,
                         struct random *random)
{
    tally->sold_out++;
    if (buyer->late) {
        buyer->step = BUYER_GOES;
        return;
    }
    take_key(buyer);
    if (buyer->quantity > 1) {
        buyer->quantity--;
        return;
    }
    hall_close(hall, buyer->night);
    choose_night(buyer, hall, random);
    if (hall->open_count == 0)
        buyer->step = BUYER_GOES;
}

static void learn_order(struct buyer *buyer, struct hall *hall, struct crowd_tally *tally,
                        const struct buyer_reply *reply, struct random *random)
{
    tally->late += buyer->late;
    if (is_sold(reply)) {
        memcpy(buyer->order, reply->order, sizeof buyer->order);
        tally->bought++;
        tally->late_sold += buyer->late;
        hall_sell(hall, buyer->night, buyer->quantity);
        go_on(buyer);
    } else if (reply->sold_out) {
        ask_for_less(buyer, hall, tally, random);
    } else {
        give_up(buyer, tally);
    }
}

static void learn_return(struct buyer *buyer, struct hall *hall, struct crowd_tally *tally,
                         const struct buyer_reply *reply)
{
    tally->came_back++;
    buyer->step = BUYER_GOES;
    if (is_sold(reply)) {
        tally->over_limit++;
        hall_sell(hall, buyer->night, buyer->quantity);
    } else if (!reply->limit_reached && !reply->sold_out) {
        give_up(buyer, tally);
    }
}

bool buyer_learn(struct buyer *buyer, struct hall *hall, struct crowd_tally *tally,
                 const struct buyer_reply *reply, const struct buyer_reply *second,
                 struct random *random)
{
    if (buyer->step == BUYER_LOOKS) {
        tally->looks++;
        buyer->step = --buyer->looks > 0 ? BUYER_LOOKS : BUYER_BUYS;
        return true;
    }
    if (second) {
        compare(tally, reply, second);
        buyer->presses_twice = false;
        reply = is_sold(second) && !is_sold(reply) ? second : reply;
    }
    if (is_open(reply)) {
        tally->sent_again++;
        return false;
    }
    if (buyer->step == BUYER_COMES_BACK) {
        learn_return(buyer, hall, tally, reply);
    } else if (buyer->step == BUYER_BUYS) {
        learn_order(buyer, hall, tally, reply, random);
    } else {
        tally->repeated++;
        tally->repeated_wrongly += strcmp(reply->order, buyer->order) != 0;
        go_on(buyer);
    }
    return true;
}
