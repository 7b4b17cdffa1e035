/* See mix.h. */
#include "loadtest/ledger/mix.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In a hundred operations: so many buys, repeats of a key, cancels and restocks; the rest reads. */
enum { BUYS = 66, REPEATS = 12, CANCELS = 8, RESTOCKS = 4 };
enum { KEYED = 75, QUANTITY_MAX = 3 }; /* of a hundred buys; units of one */
enum { REMEMBERED = 512, WAITING_MAX = 1 << 16, LOOK_AGAIN_US = 20000 };

/* A buy that somebody may come back to. */
struct bought {
    int64_t user, product, quantity;
    char key[48];
    char order[LEDGER_ID_SIZE];
};

struct waiting {
    struct bought bought;
    int64_t due_us;
};

struct mix {
    const struct mix_plan *plan; /* borrowed */
    unsigned short random[3];
    int64_t keys;
    struct bought orders[REMEMBERED], repeats[REMEMBERED]; /* rings */
    size_t orders_count, repeats_count;                    /* ever */
    struct waiting *waiting; /* owned: a ring, those that are due first in front */
    size_t waiting_at, waiting_count, forgotten;
};

struct mix *mix_create(const struct mix_plan *plan)
{
    struct mix *mix = calloc(1, sizeof *mix);
    if (!mix)
        return NULL;
    mix->plan = plan;
    mix->random[0] = (unsigned short)plan->seed;
    mix->random[1] = (unsigned short)(plan->seed >> 16);
    mix->waiting = calloc(WAITING_MAX, sizeof *mix->waiting);
    if (mix->waiting)
        return mix;
    free(mix);
    return NULL;
}

void mix_destroy(struct mix *mix)
{
    if (!mix)
        return;
    free(mix->waiting);
    free(mix);
}

size_t mix_waiting(const struct mix *mix)
{
    return mix->waiting_count;
}

size_t mix_forgotten(const struct mix *mix)
{
    return mix->forgotten;
}

static int64_t pick(struct mix *mix, int64_t below)
{
    return (int64_t)(erand48(mix->random) * (double)below);
}

static void remember(struct bought *ring, size_t *count, const struct bought *bought)
{
    ring[(*count)++ % REMEMBERED] = *bought;
}

/* NULL: there is none yet. */
static const struct bought *recall(struct mix *mix, const struct bought *ring, size_t count)
{
    size_t there = count < REMEMBERED ? count : REMEMBERED;
    return there ? &ring[pick(mix, (int64_t)there)] : NULL;
}

/* The key's copy is the operation's; false: no memory. */
static bool fill(struct ledger_op *op, enum ledger_kind kind, const struct bought *bought)
{
    op->kind = kind;
    op->user = bought->user;
    op->product = bought->product;
    op->quantity = kind == LEDGER_BUY ? bought->quantity : 0;
    if (kind != LEDGER_BUY)
        memcpy(op->order, bought->order, sizeof op->order);
    op->key = kind == LEDGER_BUY && *bought->key ? strdup(bought->key) : NULL;
    return kind != LEDGER_BUY || !*bought->key || op->key;
}

static bool next_buy(struct mix *mix, struct ledger_op *op)
{
    struct bought bought = {.user = 1 + pick(mix, mix->plan->users),
                            .product = mix->plan->first_product + pick(mix, mix->plan->products),
                            .quantity = 1 + (pick(mix, 4) == 0 ? pick(mix, QUANTITY_MAX) : 0)};
    if (pick(mix, 100) < KEYED) {
        snprintf(bought.key, sizeof bought.key, "%" PRId64 "-%" PRId64, mix->plan->seed,
                 ++mix->keys);
        remember(mix->repeats, &mix->repeats_count, &bought);
    }
    return fill(op, LEDGER_BUY, &bought);
}

static bool next_restock(struct mix *mix, struct ledger_op *op)
{
    op->kind = LEDGER_RESTOCK;
    op->product = mix->plan->first_product + pick(mix, mix->plan->products);
    op->quantity = 1 + pick(mix, QUANTITY_MAX);
    return true;
}

static bool next_wait(struct mix *mix, int64_t now_us, struct ledger_op *op)
{
    const struct waiting *first = &mix->waiting[mix->waiting_at];
    if (mix->waiting_count == 0 || first->due_us > now_us)
        return false;
    mix->waiting_at = (mix->waiting_at + 1) % WAITING_MAX;
    mix->waiting_count--;
    return fill(op, LEDGER_READ, &first->bought);
}

/* What there is nothing of yet becomes a buy. */
bool mix_next(struct mix *mix, int64_t now_us, bool reads, struct ledger_op *op)
{
    *op = (struct ledger_op){.end_us = LEDGER_NEVER};
    snprintf(op->strategy, sizeof op->strategy, "%s", mix->plan->strategy);
    if (reads)
        return next_wait(mix, now_us, op);
    const struct bought *bought = NULL;
    int64_t which = pick(mix, 100);
    if (which < BUYS)
        return next_buy(mix, op);
    if (which < BUYS + REPEATS) {
        bought = recall(mix, mix->repeats, mix->repeats_count);
        return bought ? fill(op, LEDGER_BUY, bought) : next_buy(mix, op);
    }
    if (which < BUYS + REPEATS + CANCELS) {
        bought = recall(mix, mix->orders, mix->orders_count);
        return bought ? fill(op, LEDGER_CANCEL, bought) : next_buy(mix, op);
    }
    if (which < BUYS + REPEATS + CANCELS + RESTOCKS)
        return next_restock(mix, op);
    if (next_wait(mix, now_us, op))
        return true;
    bought = recall(mix, mix->orders, mix->orders_count);
    return bought ? fill(op, LEDGER_READ, bought) : next_buy(mix, op);
}

/* It is looked at again in a while. */
static void wait_for(struct mix *mix, int64_t now_us, const struct bought *bought)
{
    if (mix->waiting_count == WAITING_MAX) {
        mix->forgotten++;
        return;
    }
    size_t at = (mix->waiting_at + mix->waiting_count++) % WAITING_MAX;
    mix->waiting[at] = (struct waiting){*bought, now_us + LOOK_AGAIN_US};
}

void mix_learn(struct mix *mix, int64_t now_us, const struct ledger_op *op)
{
    struct bought bought = {.user = op->user, .product = op->product, .quantity = op->quantity};
    memcpy(bought.order, op->order, sizeof bought.order);
    if (!*op->order || op->kind == LEDGER_CANCEL)
        return;
    if (op->kind == LEDGER_BUY && op->result == LEDGER_OK)
        remember(mix->orders, &mix->orders_count, &bought);
    /* One whose read showed nothing is as unknown as before. */
    if (op->state == LEDGER_QUEUED ||
        (op->kind == LEDGER_READ && op->result != LEDGER_OK && op->status != 404))
        wait_for(mix, now_us, &bought);
}
