/*
 * What must not go back behind an answer that somebody had already: an order's state (A8), and the
 * tokens of a product's lock (A13). Both are one question: is there an operation whose value is
 * below that of one which had ended before it began? Walking the operations by their beginnings,
 * and the same by their ends a little behind, answers it.
 */
#include "loadtest/judge/claims/claims.h"

#include <inttypes.h>
#include <string.h>

/* Operations with a value each, of which those that belong together stand together. */
struct sights {
    const struct view *view;
    const struct ledger_op **by_start, **by_end; /* the view's list, in halves */
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

static int64_t value_of(const struct sights *sights, const struct ledger_op *op)
{
    return sights->kind == FINDING_FENCING ? op->fence : rank_of(op->state);
}

static bool has(const struct ledger_op *one, const struct ledger_op *two, enum ledger_state state)
{
    return one->state == state || two->state == state;
}

/* Sold, and then never decided for, or the other way round. An order that is both paid and expired
 * is found by check_payments. */
static bool states_contradict(const struct ledger_op *first, const struct ledger_op *then)
{
    int64_t was = rank_of(first->state), is = rank_of(then->state);
    if (has(first, then, LEDGER_EXPIRED) && has(first, then, LEDGER_CONFIRMED))
        return false;
    if (is < was)
        return true;
    if (has(first, then, LEDGER_EXPIRED) && has(first, then, LEDGER_CANCELLED))
        return true;
    return was > 1 && is > 1 && (first->state == LEDGER_FAILED) != (then->state == LEDGER_FAILED);
}

static bool contradict(const struct sights *sights, const struct ledger_op *first,
                       const struct ledger_op *then)
{
    return sights->kind == FINDING_BACKWARDS ? states_contradict(first, then)
                                             : then->fence < first->fence;
}

static void tell(const struct sights *sights, const struct ledger_op *first,
                 const struct ledger_op *then)
{
    struct finding *finding =
        sights->kind == FINDING_BACKWARDS
            ? findings_add(sights->view->findings, FINDING_BACKWARDS, then->product, 0,
                           "order %s was %s, and later %s", first->order,
                           ledger_state_name(first->state),
                           then->state ? ledger_state_name(then->state) : "not found")
            : findings_add(sights->view->findings, FINDING_FENCING, then->product, 0,
                           "done under token %" PRId64 ", after one under %" PRId64 " had ended",
                           then->fence, first->fence);
    finding_show(finding, first);
    finding_show(finding, then);
}

/* The sights from `from` until before `to` belong together. */
static void walk(const struct sights *sights, size_t from, size_t to)
{
    const struct ledger_op *highest = NULL;
    size_t ended = from;
    memcpy(&sights->by_end[from], &sights->by_start[from], (to - from) * sizeof(void *));
    ledger_sort(&sights->by_end[from], to - from, LEDGER_BY_END, LEDGER_BY_NUMBER);
    for (size_t i = from; i < to; i++) {
        const struct ledger_op *then = sights->by_start[i];
        for (; ended < to && sights->by_end[ended]->end_us < then->start_us; ended++) {
            if (!highest || value_of(sights, sights->by_end[ended]) > value_of(sights, highest))
                highest = sights->by_end[ended];
        }
        if (highest && contradict(sights, highest, then))
            tell(sights, highest, then);
    }
}

static void walk_groups(const struct sights *sights, enum ledger_by by)
{
    for (size_t from = 0, to; from < sights->count; from = to) {
        to = ledger_run(sights->by_start, from, sights->count, by);
        walk(sights, from, to);
    }
}

/* An order that answered once is never "not found". */
static bool shows_state(const struct ledger_op *op)
{
    bool missing = op->kind == LEDGER_READ && op->status == 404;
    return op->order && !op->named && (op->state || missing);
}

void check_order_in_time(struct view *view)
{
    struct sights sights = {.view = view,
                            .by_start = view->list,
                            .by_end = view->list + view->times_count,
                            .kind = FINDING_BACKWARDS};
    for (size_t i = 0; i < view->times_count; i++) {
        if (shows_state(view->times[i]))
            sights.by_start[sights.count++] = view->times[i];
    }
    ledger_sort(sights.by_start, sights.count, LEDGER_BY_ORDER, LEDGER_BY_START);
    walk_groups(&sights, LEDGER_BY_ORDER);
    sights.kind = FINDING_FENCING;
    sights.count = 0;
    for (size_t i = 0; i < view->times_count; i++) {
        if (view->times[i]->fence && view->times[i]->result == LEDGER_OK)
            sights.by_start[sights.count++] = view->times[i];
    }
    walk_groups(&sights, LEDGER_BY_PRODUCT);
}
