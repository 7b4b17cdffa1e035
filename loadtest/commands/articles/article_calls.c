/* What each kind of experiment sends, and how its outcome is said. See articles.h. */
#include "loadtest/commands/articles/articles.h"

#include "loadtest/base/random.h"
#include "loadtest/crowd/hall.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The longest wait that a server takes: the articles' "for ever". */
enum { PATIENT_MS = 60000, HURRIED_MS = 5000 };

enum { LARGE_QUANTITY = 60, SMALL_QUANTITY = 50 };

static const int64_t FIRST_USER = INT64_C(1000000000000);

static void fill(const struct article_experiment *experiment, int64_t i, struct random *random,
                 struct counted_call *call)
{
    switch (experiment->kind) {
    case ARTICLE_COUNTER:
    case ARTICLE_THRESHOLD:
    case ARTICLE_TURNS:
        break;
    case ARTICLE_SPREAD:
        call->product += random_pick(random, experiment->products);
        break;
    case ARTICLE_PAIRS:
        call->product += i / 2;
        call->quantity = i % 2 == 0 ? LARGE_QUANTITY : SMALL_QUANTITY;
        break;
    case ARTICLE_TIMED:
        call->product += i % 2;
        call->wait_ms = i % 2 == 0 ? PATIENT_MS : HURRIED_MS;
        break;
    }
}

/* How many different products the calls ask for: one unit of each can be sold. */
static bool count_asked(const struct article_experiment *experiment, const struct counted *counted,
                        int64_t first, int64_t *asked)
{
    bool *seen = calloc((size_t)experiment->products, sizeof *seen);
    if (!seen)
        return false;
    *asked = 0;
    for (size_t i = 0; i < counted->count; i++) {
        bool *one = &seen[counted->calls[i].product - first];
        *asked += !*one;
        *one = true;
    }
    free(seen);
    return true;
}

static bool expect(const struct article_experiment *experiment, int64_t first,
                   struct counted *counted)
{
    switch (experiment->kind) {
    case ARTICLE_COUNTER:
    case ARTICLE_TURNS:
        counted->expected = experiment->calls;
        return true;
    case ARTICLE_SPREAD:
        return count_asked(experiment, counted, first, &counted->expected);
    case ARTICLE_PAIRS:
        counted->expected = experiment->products; /* one of each two */
        return true;
    case ARTICLE_THRESHOLD:
        /* No order is refused while the queue has room, and each order in the queue is served. */
        counted->expected = experiment->queue_capacity;
        counted->may_shed = true;
        return true;
    case ARTICLE_TIMED:
        counted->expected = experiment->calls / 2;
        counted->may_shed = true;
        return true;
    }
    return false;
}

bool article_make_calls(const struct article_experiment *experiment, const struct options *options,
                        struct counted *counted, struct error *error)
{
    struct random random = random_begin(options->seed, 0);
    *counted = (struct counted){
        .calls = calloc((size_t)experiment->calls, sizeof *counted->calls),
        .count = (size_t)experiment->calls,
    };
    if (!counted->calls)
        return error_fail(error, "out of memory");
    for (int64_t i = 0; i < experiment->calls; i++) {
        struct counted_call *call = &counted->calls[i];
        *call = (struct counted_call){.product = options->first_product,
                                      .user = FIRST_USER + options->seed + i,
                                      .quantity = 1,
                                      .wait_ms = PATIENT_MS};
        fill(experiment, i, &random, call);
    }
    return expect(experiment, options->first_product, counted) ||
           error_fail(error, "out of memory");
}

/* The calls for one product that were served, or were not. */
struct group {
    int64_t calls, count, slowest_us;
};

static struct group group_of(const struct counted *counted, int64_t product, bool served)
{
    struct group group = {0};
    for (size_t i = 0; i < counted->count; i++) {
        const struct counted_call *call = &counted->calls[i];
        if (call->product != product)
            continue;
        group.calls++;
        if ((call->status / 100 == 2) != served)
            continue;
        group.count++;
        if (call->took_us > group.slowest_us)
            group.slowest_us = call->took_us;
    }
    return group;
}

static void describe_pairs(const struct article_experiment *experiment,
                           const struct phase_result *result, char *out, size_t size)
{
    const int64_t both = LARGE_QUANTITY + SMALL_QUANTITY;
    int64_t beyond = both - experiment->stock;
    snprintf(out, size, "%" PRId64 " sold in %" PRId64 " of %" PRId64, both,
             result->audit.oversold / beyond, experiment->products);
}

static void describe_threshold(const struct counted *counted, char *out, size_t size)
{
    struct group served = group_of(counted, counted->calls[0].product, true);
    struct group shed = group_of(counted, counted->calls[0].product, false);
    int used = snprintf(out, size, "%" PRId64 " sold in %.1f s", served.count,
                        (double)served.slowest_us / 1e6);
    if (shed.count > 0)
        snprintf(out + used, size - (size_t)used, "; %" PRId64 " refused within %.2f s", shed.count,
                 (double)shed.slowest_us / 1e6);
}

static void describe_timed(const struct counted *counted, char *out, size_t size)
{
    struct group patient = group_of(counted, counted->calls[0].product, true);
    struct group hurried = group_of(counted, counted->calls[1].product, true);
    snprintf(out, size,
             "%" PRId64 " of %" PRId64 " in %.1f s; waiting 5 s: %" PRId64 " of %" PRId64,
             patient.count, patient.calls, (double)patient.slowest_us / 1e6, hurried.count,
             hurried.calls);
}

void article_describe(const struct article_experiment *experiment, const struct counted *counted,
                      const struct phase_result *result, char *out, size_t size)
{
    char one[HALL_FIGURE_SIZE], other[HALL_FIGURE_SIZE];
    switch (experiment->kind) {
    case ARTICLE_COUNTER:
        snprintf(out, size, "%s", hall_figure(result->audit.stock, one));
        break;
    case ARTICLE_SPREAD:
        snprintf(out, size, "%s sold of %s asked for", hall_figure(result->audit.sold, one),
                 hall_figure(counted->expected, other));
        break;
    case ARTICLE_PAIRS:
        describe_pairs(experiment, result, out, size);
        break;
    case ARTICLE_THRESHOLD:
        describe_threshold(counted, out, size);
        break;
    case ARTICLE_TIMED:
        describe_timed(counted, out, size);
        break;
    case ARTICLE_TURNS:
        snprintf(out, size, "%.1f turns on average",
                 (double)result->counts.attempts / (double)counted->count);
        break;
    }
}
