/* See mix.h. */
#include "loadtest/ledger/record/mix.h"

#include "base/clock.h"
#include "loadtest/base/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In a hundred operations: so many buys, repeats of a key, cancels and restocks; the rest reads. */
enum { BUYS = 66, REPEATS = 12, CANCELS = 8, RESTOCKS = 4 };
enum { KEYED = 75, QUANTITY_MAX = 3 }; /* of a hundred buys; units of one */
enum { REMEMBERED = 512, WAITING_MAX = 1 << 16, LOOK_AGAIN_US = 20000 };
/* Between two looks at what is held; until a buyer pays; how far from the end of the hold those pay
 * who pay late; and of a hundred operations, payments of whatever order. */
enum { LOOK_AT_HELD_US = 200000, PAY_US = 50000, AROUND_US = 150000, PAYMENTS = 2 };

/* A buy that somebody may come back to. */
struct bought {
    int64_t user, product, quantity, hold_s;
    char key[48];
    char order[LEDGER_ID_SIZE];
};

struct waiting {
    struct bought bought;
    int64_t due_us;
};

/* A ring: what came first is due first, or stands in the way of what is due for a moment. */
struct waiting_list {
    struct waiting items[WAITING_MAX];
    size_t at, count;
};

/* Orders wait for a decision, for the end of a hold, or for a time to pay. */
enum waiting_for { FOR_DECISION, FOR_END, TO_PAY, TO_PAY_LATE, WAITING_LISTS };

struct mix {
    const struct mix_plan *plan; /* borrowed */
    struct random random;
    int64_t keys;
    struct bought orders[REMEMBERED], repeats[REMEMBERED]; /* rings */
    size_t orders_count, repeats_count;                    /* ever */
    struct waiting_list waiting[WAITING_LISTS];
    size_t forgotten;
};

struct mix *mix_create(const struct mix_plan *plan)
{
    struct mix *mix = calloc(1, sizeof *mix);
    if (!mix)
        return NULL;
    mix->plan = plan;
    mix->random = random_begin(plan->seed, 0);
    return mix;
}

void mix_destroy(struct mix *mix)
{
    free(mix);
}

size_t mix_waiting(const struct mix *mix)
{
    return mix->waiting[FOR_DECISION].count + mix->waiting[FOR_END].count;
}

size_t mix_forgotten(const struct mix *mix)
{
    return mix->forgotten;
}

static void remember(struct bought *ring, size_t *count, const struct bought *bought)
{
    ring[(*count)++ % REMEMBERED] = *bought;
}

/* NULL: there is none yet. */
static const struct bought *recall(struct mix *mix, const struct bought *ring, size_t count)
{
    size_t there = count < REMEMBERED ? count : REMEMBERED;
    return there ? &ring[random_pick(&mix->random, (int64_t)there)] : NULL;
}

static void fill(struct ledger_asked *asked, enum ledger_kind kind, const struct bought *bought)
{
    struct ledger_op *op = &asked->op;
    bool buys = kind == LEDGER_BUY;
    op->kind = kind;
    op->product = bought->product;
    op->quantity = buys ? bought->quantity : 0;
    op->hold_s = buys ? bought->hold_s : 0;
    snprintf(asked->user, sizeof asked->user, "%" PRId64, bought->user);
    memcpy(asked->key, bought->key, sizeof asked->key);
    memcpy(asked->order, bought->order, sizeof asked->order);
    op->user = asked->user;
    op->key = buys && *asked->key ? asked->key : NULL;
    op->order = buys ? NULL : asked->order;
}

static void next_buy(struct mix *mix, struct ledger_asked *asked)
{
    struct bought bought = {
        .user = 1 + random_pick(&mix->random, mix->plan->users),
        .product = mix->plan->first_product + random_pick(&mix->random, mix->plan->products),
        .quantity =
            1 + (random_pick(&mix->random, 4) == 0 ? random_pick(&mix->random, QUANTITY_MAX) : 0)};
    if (mix->plan->holds > 0 && random_happens(&mix->random, mix->plan->holds))
        bought.hold_s = mix->plan->hold_s;
    if (random_happens(&mix->random, KEYED)) {
        snprintf(bought.key, sizeof bought.key, "%" PRId64 "-%" PRId64, mix->plan->seed,
                 ++mix->keys);
        remember(mix->repeats, &mix->repeats_count, &bought);
    }
    fill(asked, LEDGER_BUY, &bought);
}

static void next_restock(struct mix *mix, struct ledger_op *op)
{
    op->kind = LEDGER_RESTOCK;
    op->product = mix->plan->first_product + random_pick(&mix->random, mix->plan->products);
    op->quantity = 1 + random_pick(&mix->random, QUANTITY_MAX);
}

static bool next_waiting(struct mix *mix, enum waiting_for what, int64_t now_us,
                         enum ledger_kind kind, struct ledger_asked *asked)
{
    struct waiting_list *list = &mix->waiting[what];
    const struct waiting *first = &list->items[list->at];
    if (list->count == 0 || first->due_us > now_us)
        return false;
    list->at = (list->at + 1) % WAITING_MAX;
    list->count--;
    fill(asked, kind, &first->bought);
    return true;
}

static bool next_look(struct mix *mix, int64_t now_us, struct ledger_asked *asked)
{
    return next_waiting(mix, FOR_DECISION, now_us, LEDGER_READ, asked) ||
           next_waiting(mix, FOR_END, now_us, LEDGER_READ, asked);
}

static bool next_payment(struct mix *mix, int64_t now_us, struct ledger_asked *asked)
{
    return next_waiting(mix, TO_PAY, now_us, LEDGER_PAY, asked) ||
           next_waiting(mix, TO_PAY_LATE, now_us, LEDGER_PAY, asked);
}

/* Anything to one that was bought; a buy where there is none yet. */
static void next_to(struct mix *mix, enum ledger_kind kind, const struct bought *bought,
                    struct ledger_asked *asked)
{
    if (bought)
        fill(asked, kind, bought);
    else
        next_buy(mix, asked);
}

static void next_to_order(struct mix *mix, enum ledger_kind kind, struct ledger_asked *asked)
{
    next_to(mix, kind, recall(mix, mix->orders, mix->orders_count), asked);
}

/* By chance. What there is nothing of yet becomes a buy. */
static void next_any(struct mix *mix, int64_t now_us, struct ledger_asked *asked)
{
    int64_t which = random_pick(&mix->random, 100);
    if (which < BUYS)
        next_buy(mix, asked);
    else if (which < BUYS + REPEATS)
        next_to(mix, LEDGER_BUY, recall(mix, mix->repeats, mix->repeats_count), asked);
    else if (which < BUYS + REPEATS + CANCELS)
        next_to_order(mix, LEDGER_CANCEL, asked);
    else if (which < BUYS + REPEATS + CANCELS + RESTOCKS)
        next_restock(mix, &asked->op);
    else if (mix->plan->holds > 0 && which < BUYS + REPEATS + CANCELS + RESTOCKS + PAYMENTS)
        next_to_order(mix, LEDGER_PAY, asked);
    else if (!next_look(mix, now_us, asked))
        next_to_order(mix, LEDGER_READ, asked);
}

bool mix_next(struct mix *mix, int64_t now_us, bool reads, struct ledger_asked *asked)
{
    *asked = (struct ledger_asked){.op = {.end_us = LEDGER_NEVER}};
    snprintf(asked->op.strategy, sizeof asked->op.strategy, "%s", mix->plan->strategy);
    if (next_payment(mix, now_us, asked))
        return true;
    if (reads)
        return next_look(mix, now_us, asked);
    next_any(mix, now_us, asked);
    return true;
}

static void wait_for(struct mix *mix, enum waiting_for what, int64_t due_us,
                     const struct bought *bought)
{
    struct waiting_list *list = &mix->waiting[what];
    if (list->count == WAITING_MAX) {
        mix->forgotten++;
        return;
    }
    size_t at = (list->at + list->count++) % WAITING_MAX;
    list->items[at] = (struct waiting){*bought, due_us};
}

/* Whether it is to be paid, and when, is decided when it is bought. */
static void plan_payment(struct mix *mix, int64_t now_us, const struct bought *bought)
{
    const struct mix_plan *plan = mix->plan;
    int64_t fate = random_pick(&mix->random, 100),
            around_us = random_pick(&mix->random, 2 * (int64_t)AROUND_US);
    if (fate < plan->paid)
        wait_for(mix, TO_PAY, now_us + PAY_US, bought);
    else if (fate < plan->paid + plan->paid_late)
        wait_for(mix, TO_PAY_LATE, now_us + plan->hold_s * CLOCK_US_PER_S - AROUND_US + around_us,
                 bought);
}

void mix_learn(struct mix *mix, int64_t now_us, const struct ledger_op *op)
{
    struct bought bought = {.product = op->product, .quantity = op->quantity};
    bool bought_now = op->kind == LEDGER_BUY && op->result == LEDGER_OK;
    if (!op->order || op->kind == LEDGER_CANCEL || op->kind == LEDGER_PAY)
        return;
    bought.user = strtoll(op->user, NULL, 10);
    snprintf(bought.order, sizeof bought.order, "%s", op->order);
    if (bought_now)
        remember(mix->orders, &mix->orders_count, &bought);
    if (bought_now && op->hold_s && op->status != 200)
        plan_payment(mix, now_us, &bought);
    /* One whose read showed nothing is as unknown as before. */
    if (op->state == LEDGER_QUEUED ||
        (op->kind == LEDGER_READ && op->result != LEDGER_OK && op->status != 404))
        wait_for(mix, FOR_DECISION, now_us + LOOK_AGAIN_US, &bought);
    if (op->state == LEDGER_PENDING)
        wait_for(mix, FOR_END, now_us + LOOK_AT_HELD_US, &bought);
}
