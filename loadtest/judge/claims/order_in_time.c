/*
 * What must not go back behind an answer that somebody had already: an order's state (A8), and the
 * tokens of a product's lock (A13). Both are one question: is there an operation whose value is
 * below that of one which had ended before it began? Walking the operations by their beginnings,
 * and the same by their ends a little behind, answers it.
 */
#include "loadtest/judge/claims/checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct sight {
    const struct ledger_op *op;
    int64_t value;
};

struct sights {
    const struct view *view;
    struct sight *by_start, *by_end; /* owned */
    size_t count;
    enum finding_kind kind;
};

/* How far an order had come in its life. A failed one is as far as a confirmed one, and what has
 * expired as far as what was cancelled. */
static int64_t rank_of(enum ledger_state state)
{
    static const int64_t ranks[LEDGER_STATES] = {
        [LEDGER_QUEUED] = 1, [LEDGER_PENDING] = 2,   [LEDGER_CONFIRMED] = 3,
        [LEDGER_FAILED] = 3, [LEDGER_CANCELLED] = 4, [LEDGER_EXPIRED] = 4};
    return ranks[state];
}

static int by_start(const void *a, const void *b)
{
    const struct ledger_op *left = ((const struct sight *)a)->op;
    const struct ledger_op *right = ((const struct sight *)b)->op;
    return (left->start_us > right->start_us) - (left->start_us < right->start_us);
}

static int by_end(const void *a, const void *b)
{
    const struct ledger_op *left = ((const struct sight *)a)->op;
    const struct ledger_op *right = ((const struct sight *)b)->op;
    return (left->end_us > right->end_us) - (left->end_us < right->end_us);
}

static bool has(const struct sight *one, const struct sight *two, enum ledger_state state)
{
    return one->op->state == state || two->op->state == state;
}

/* Sold, and then never decided for, or the other way round. An order that is both paid and expired
 * is found by check_payments. */
static bool states_contradict(const struct sight *first, const struct sight *then)
{
    if (has(first, then, LEDGER_EXPIRED) && has(first, then, LEDGER_CONFIRMED))
        return false;
    if (then->value < first->value)
        return true;
    if (has(first, then, LEDGER_EXPIRED) && has(first, then, LEDGER_CANCELLED))
        return true;
    return first->value > 1 && then->value > 1 &&
           (first->op->state == LEDGER_FAILED) != (then->op->state == LEDGER_FAILED);
}

static bool contradict(const struct sights *sights, const struct sight *first,
                       const struct sight *then)
{
    return sights->kind == FINDING_BACKWARDS ? states_contradict(first, then)
                                             : then->value < first->value;
}

static void tell(const struct sights *sights, const struct sight *first, const struct sight *then)
{
    struct finding *finding =
        sights->kind == FINDING_BACKWARDS
            ? findings_add(sights->view->findings, FINDING_BACKWARDS, then->op->product, 0,
                           "order %s was %s, and later %s", first->op->order,
                           ledger_state_name(first->op->state),
                           then->value ? ledger_state_name(then->op->state) : "not found")
            : findings_add(sights->view->findings, FINDING_FENCING, then->op->product, 0,
                           "done under token %" PRId64 ", after one under %" PRId64 " had ended",
                           then->value, first->value);
    finding_show(finding, first->op);
    finding_show(finding, then->op);
}

/* The sights from `from` until before `to` belong together. */
static void walk(const struct sights *sights, size_t from, size_t to)
{
    const struct sight *highest = NULL;
    size_t ended = from;
    qsort(&sights->by_start[from], to - from, sizeof *sights->by_start, by_start);
    memcpy(&sights->by_end[from], &sights->by_start[from], (to - from) * sizeof *sights->by_end);
    qsort(&sights->by_end[from], to - from, sizeof *sights->by_end, by_end);
    for (size_t i = from; i < to; i++) {
        const struct sight *then = &sights->by_start[i];
        for (; ended < to && sights->by_end[ended].op->end_us < then->op->start_us; ended++) {
            if (!highest || sights->by_end[ended].value > highest->value)
                highest = &sights->by_end[ended];
        }
        if (highest && contradict(sights, highest, then))
            tell(sights, highest, then);
    }
}

static int by_order(const void *a, const void *b)
{
    return strcmp(((const struct sight *)a)->op->order, ((const struct sight *)b)->op->order);
}

static int by_product(const void *a, const void *b)
{
    int64_t left = ((const struct sight *)a)->op->product;
    int64_t right = ((const struct sight *)b)->op->product;
    return (left > right) - (left < right);
}

static void walk_groups(struct sights *sights, int (*compare)(const void *, const void *))
{
    if (sights->count == 0)
        return;
    qsort(sights->by_start, sights->count, sizeof *sights->by_start, compare);
    for (size_t from = 0, to = 1; from < sights->count; to++) {
        if (to < sights->count && compare(&sights->by_start[from], &sights->by_start[to]) == 0)
            continue;
        walk(sights, from, to);
        from = to;
    }
}

/* An order that answered once is never "not found". */
static void check_states(struct sights *sights)
{
    sights->kind = FINDING_BACKWARDS;
    sights->count = 0;
    for (size_t i = 0; i < sights->view->ledger->ops_count; i++) {
        const struct ledger_op *op = &sights->view->ledger->ops[i];
        bool missing = op->kind == LEDGER_READ && op->status == 404;
        if (op->order && !op->named && (op->state || missing))
            sights->by_start[sights->count++] = (struct sight){op, rank_of(op->state)};
    }
    walk_groups(sights, by_order);
}

static void check_fences(struct sights *sights)
{
    sights->kind = FINDING_FENCING;
    sights->count = 0;
    for (size_t i = 0; i < sights->view->ledger->ops_count; i++) {
        const struct ledger_op *op = &sights->view->ledger->ops[i];
        if (op->fence && op->result == LEDGER_OK)
            sights->by_start[sights->count++] = (struct sight){op, op->fence};
    }
    walk_groups(sights, by_product);
}

void check_order_in_time(struct view *view)
{
    size_t room = view->ledger->ops_count + 1;
    struct sights sights = {.view = view,
                            .by_start = calloc(room, sizeof *sights.by_start),
                            .by_end = calloc(room, sizeof *sights.by_end)};
    if (sights.by_start && sights.by_end) {
        check_states(&sights);
        check_fences(&sights);
    } else {
        view->findings->no_memory = true;
    }
    free(sights.by_start);
    free(sights.by_end);
}
