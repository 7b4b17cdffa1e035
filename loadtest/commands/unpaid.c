/* See unpaid.h. */
#include "loadtest/commands/unpaid.h"

#include "base/clock.h"
#include "loadtest/base/random.h"
#include "loadtest/engine/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { BUYERS_MAX = 256, HOLD_S = 1, LOOK_MS = 50 };
/* Of ten orders so many are paid at once, and so many when the hold ends, this much earlier or
 * later; the rest never. REST_US: after a refusal. */
enum { AT_ONCE = 4, LATE = 3, AROUND_US = 100000, REST_US = 5000 };
enum { EACH = 2, BUYS = 0, PAYS = 1 }; /* connections of a buyer */
enum { END_MS = 60000 };               /* for what is held when the buyers have gone */

struct buyer {
    struct random random;
    bool busy;
    char order[ANSWER_ID_SIZE]; /* to be paid at due_us; "": none */
    int64_t due_us;             /* until then it rests, or waits */
};

/* What they were told, and what the rows said meanwhile, as results.json calls it. */
enum figure {
    BOUGHT, /* 201s and 202s */
    PAID,
    TOO_LATE,   /* payments */
    NEVER_PAID, /* orders that nobody has tried to pay */
    REFUSED,    /* 409s to a buy */
    FAILED,     /* 503s: nothing was done */
    UNKNOWN,    /* 504s and answers that did not come */
    ODD,        /* answers that make no sense */
    MOST_HELD,  /* units, at one look */
    LOOKS,      /* at the rows, while buyers were there */
    DISAGREED,  /* of these, at which the books did not agree */
    FIGURES
};
static const char *const names[FIGURES] = {"bought",    "paid",   "too_late", "never_paid",
                                           "refused",   "failed", "unknown",  "odd",
                                           "most_held", "looks",  "disagreed"};

struct sale {
    const struct harness *harness;       /* borrowed */
    const struct api_strategy *strategy; /* borrowed */
    const char *body; /* borrowed; "": the strategy has no choice, or its default */
    int instances;
    char query[REQUEST_QUERY_SIZE];
    int64_t figures[FIGURES];
    struct books rows;           /* at the end */
    int64_t until_us, looked_us; /* nobody buys after that; the last look. 0: it has not begun */
    size_t holding;              /* buyers with an order to be paid, who still pay */
    struct buyer buyers[BUYERS_MAX];
};

static void ask_to_buy(const struct sale *sale, size_t number, struct http_request *request)
{
    const struct http_order order = {.product = sale->harness->options->first_product,
                                     .user = (int64_t)number + 1,
                                     .quantity = 1,
                                     .hold_s = HOLD_S};
    http_request_order_target(request->target, sizeof request->target, sale->strategy->name,
                              sale->query);
    http_request_order_body(request->body, &order);
}

static enum engine_next next(void *self, size_t connection, int64_t now_us,
                             struct http_request *request)
{
    struct sale *sale = self;
    size_t number = connection / EACH;
    struct buyer *buyer = &sale->buyers[number];
    bool pays = *buyer->order != '\0';
    if (buyer->busy || buyer->due_us > now_us || connection % EACH != (pays ? PAYS : BUYS) ||
        (!pays && now_us >= sale->until_us))
        return ENGINE_PASSES;
    buyer->busy = true;
    *request = (struct http_request){.method = "POST"};
    if (pays)
        snprintf(request->target, sizeof request->target, "/orders/%s/pay", buyer->order);
    else
        ask_to_buy(sale, number, request);
    return ENGINE_ASKS;
}

/* An answer that is not the call's own. */
static enum figure other_figure(int status)
{
    return status == 0 || status == 504 ? UNKNOWN : status == 503 ? FAILED : ODD;
}

static void hold(struct sale *sale, struct buyer *buyer, int64_t now_us,
                 const char order[ANSWER_ID_SIZE])
{
    int64_t fate = random_pick(&buyer->random, 10);
    bool never = fate >= AT_ONCE + LATE;
    sale->figures[BOUGHT]++;
    if (never || !*order) { /* sold, and nobody can say what */
        sale->figures[never ? NEVER_PAID : ODD]++;
        return;
    }
    memcpy(buyer->order, order, sizeof buyer->order);
    sale->holding++;
    if (fate >= AT_ONCE)
        buyer->due_us = now_us + HOLD_S * CLOCK_US_PER_S - AROUND_US +
                        random_pick(&buyer->random, 2 * (int64_t)AROUND_US);
}

static void learn_order(struct sale *sale, struct buyer *buyer, int64_t now_us, int status,
                        const struct answer_fields *fields)
{
    if (status == 201 || status == 202) {
        hold(sale, buyer, now_us, fields->id);
        return;
    }
    sale->figures[status == 409 ? REFUSED : other_figure(status)]++;
    buyer->due_us = now_us + REST_US;
}

static void learn_payment(struct sale *sale, struct buyer *buyer, int status, const char *code)
{
    buyer->order[0] = '\0';
    sale->holding--;
    sale->figures[status == 200                      ? PAID
                  : status != 409                    ? other_figure(status)
                  : strcmp(code, "expired") == 0     ? TOO_LATE
                  : strcmp(code, "not_payable") == 0 ? REFUSED /* a 202 that ended as failed */
                                                     : ODD]++;
}

static void answered(void *self, size_t connection, int64_t now_us, const struct answer *answer)
{
    struct sale *sale = self;
    struct buyer *buyer = &sale->buyers[connection / EACH];
    struct answer_fields fields = {.id = ""};
    if (answer->status)
        answer_fields(answer, &fields);
    buyer->busy = false;
    if (connection % EACH == BUYS)
        learn_order(sale, buyer, now_us, answer->status, &fields);
    else
        learn_payment(sale, buyer, answer->status, fields.code);
}

static bool is_over(void *self, size_t busy, int64_t now_us)
{
    const struct sale *sale = self;
    return now_us >= sale->until_us && busy == 0 && sale->holding == 0;
}

static size_t server_of(size_t connection)
{
    return connection / EACH + connection % EACH;
}

static bool begin(void *self, int64_t now_us, struct error *error)
{
    struct sale *sale = self;
    (void)error;
    sale->until_us = now_us + sale->harness->options->duration_s * CLOCK_US_PER_S;
    return true;
}

static bool look(const struct harness *harness, struct books *rows, struct error *error)
{
    int64_t product = harness->options->first_product;
    return witness_sum(harness->witness, product, product, rows, error);
}

/* The rows, while the buyers are there. */
static bool watch(void *self, int64_t now_us, struct error *error)
{
    struct sale *sale = self;
    const struct fleet *fleet = &sale->harness->fleet;
    struct books rows;
    if (sale->until_us == 0 || now_us - sale->looked_us < LOOK_MS * CLOCK_US_PER_MS)
        return true;
    sale->looked_us = now_us;
    if (!look(sale->harness, &rows, error))
        return false;
    sale->figures[LOOKS]++;
    sale->figures[DISAGREED] += !books_consistent(&rows);
    if (rows.held > sale->figures[MOST_HELD])
        sale->figures[MOST_HELD] = rows.held;
    return !fleet->instances || instance_all_alive(fleet->instances, fleet->count, error);
}

/* Until what they have begun is over. */
static bool let_them_buy(struct sale *sale, struct error *error)
{
    static const struct behaviour behaviour = {
        .next = next, .answered = answered, .is_over = is_over, .begin = begin, .tick = watch};
    const struct options *options = sale->harness->options;
    const struct fleet *fleet = &sale->harness->fleet;
    size_t buyers = options->connections < BUYERS_MAX ? (size_t)options->connections : BUYERS_MAX;
    const struct plain_plan plan = {.behaviour = &behaviour,
                                    .self = sale,
                                    .connections = EACH * buyers,
                                    .servers = fleet->urls,
                                    .servers_count = fleet->count,
                                    .server_of = server_of};
    for (size_t i = 0; i < buyers; i++)
        sale->buyers[i].random = random_begin(options->seed, i);
    return plain_run(&plan, error);
}

/* Until nothing is held any more: each hold is over a second after it began. */
static bool wait_for_the_end(struct sale *sale, struct error *error)
{
    const struct harness *harness = sale->harness;
    int64_t product = harness->options->first_product;
    int64_t until_us = clock_mono_us() + END_MS * CLOCK_US_PER_MS;
    if (!phase_wait_settled(&harness->fleet, product, product, error))
        return false;
    for (;;) {
        if (!look(harness, &sale->rows, error))
            return false;
        if (sale->rows.held == 0 || clock_mono_us() >= until_us)
            return true;
        if (!process_sleep_ms(LOOK_MS))
            return error_fail(error, "interrupted");
    }
}

static bool sell(struct sale *sale, struct error *error)
{
    const struct harness *harness = sale->harness;
    const struct options *options = harness->options;
    const struct fleet *fleet = &harness->fleet;
    int64_t epoch = 0;
    const struct api_sale put = {
        .first = options->first_product, .count = 1, .stock = options->stock, .epoch = &epoch};
    http_request_query(sale->query, options->wait_ms, sale->body, NULL);
    return api_put_products(harness->api, fleet->urls[0], &put, error) &&
           witness_remember(harness->witness, put.first, put.first, epoch, error) &&
           phase_wait_clean(fleet, put.first, put.first, error) && let_them_buy(sale, error) &&
           wait_for_the_end(sale, error) && witness_same_sales(harness->witness, error);
}

const struct results_csv unpaid_csv = {
    "results.csv",
    "strategy,body,instances,scenario,phase,round,connections,duration_s,stock,unpaid_bought,"
    "unpaid_paid,unpaid_too_late,unpaid_never_paid,unpaid_refused,unpaid_failed,unpaid_unknown,"
    "unpaid_odd,unpaid_most_held,unpaid_looks,unpaid_disagreed,audit_sold,audit_held,audit_stock,"
    "audit_oversold,audit_lost_updates,audit_queued,audit_consistent,promise,verdict:q,"
    "unpaid_wrong:q",
    false};

static bool is_guarded(const struct sale *sale)
{
    return strcmp(sale->body, "guarded") == 0;
}

/* Units that the rows and the answers do not agree about: an answer that did not come may have been
 * a payment. */
static int64_t misled(const struct sale *sale)
{
    int64_t paid = sale->figures[PAID];
    if (sale->rows.sold < paid)
        return paid - sale->rows.sold;
    int64_t more = sale->rows.sold - paid - sale->figures[UNKNOWN];
    return more > 0 ? more : 0;
}

static enum verdict verdict_of_sale(const struct sale *sale)
{
    bool promised = promise_in_force(&sale->strategy->promise, sale->instances, is_guarded(sale));
    const int64_t *figures = sale->figures;
    bool wrong = !books_consistent(&sale->rows) || figures[DISAGREED] > 0 || sale->rows.held > 0 ||
                 misled(sale) > 0 || figures[ODD] > 0;
    bool seen = figures[MOST_HELD] > 0 && figures[PAID] > 0 && figures[TOO_LATE] > 0 &&
                figures[NEVER_PAID] > 0;
    if (wrong)
        return promised ? VERDICT_BROKEN : VERDICT_UNSAFE;
    return promised && seen ? VERDICT_KEPT : VERDICT_PROVED_NOTHING;
}

/* A line for each thing that is wrong at the end, with `before` before it; looks that disagreed
 * have a column. */
static void print_wrong(FILE *to, const struct sale *sale, const char *before)
{
    const struct books *rows = &sale->rows;
    if (rows->held > 0)
        fprintf(to, "%s%" PRId64 " units are still held, though every hold is over\n", before,
                rows->held);
    if (misled(sale) > 0)
        fprintf(to,
                "%s%" PRId64 " units: %" PRId64 " were paid by the answers, %" PRId64
                " by the rows\n",
                before, misled(sale), sale->figures[PAID], rows->sold);
    if (!books_consistent(rows))
        fprintf(to, "%soversold %" PRId64 ", lost updates %" PRId64 "\n", before, rows->oversold,
                rows->lost_updates);
    if (sale->figures[ODD] > 0)
        fprintf(to, "%s%" PRId64 " answers that make no sense\n", before, sale->figures[ODD]);
}

/* The columns between the instances and the verdict: what is left, and figures. */
static const struct {
    const char *title;
    int width;
    enum figure figure; /* FIGURES: what is left */
} columns[] = {
    {"bought", 8, BOUGHT},     {"paid", 8, PAID},
    {"too late", 8, TOO_LATE}, {"never paid", 10, NEVER_PAID},
    {"refused", 8, REFUSED},   {"most held", 9, MOST_HELD},
    {"looks", 6, LOOKS},       {"disagreed", 9, DISAGREED},
    {"left", 8, FIGURES},
};

void unpaid_print_titles(FILE *to)
{
    fprintf(to, "%-18s %5s", "strategy", "inst");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        fprintf(to, " %*s", columns[i].width, columns[i].title);
    fputs("  verdict\n", to);
}

static void print_sale(FILE *to, const struct sale *sale)
{
    fprintf(to, "%-18s %5d", sale->strategy->name, sale->instances);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        enum figure figure = columns[i].figure;
        fprintf(to, " %*" PRId64, columns[i].width,
                figure == FIGURES ? sale->rows.stock : sale->figures[figure]);
    }
    fprintf(to, "  %s\n", verdict_name(verdict_of_sale(sale)));
    print_wrong(to, sale, "  ! ");
    fflush(to);
}

/* As print_wrong, in one line; "" where nothing is. */
static json_t *json_wrong(const struct sale *sale)
{
    char text[600] = "";
    FILE *to = fmemopen(text, sizeof text, "w");
    if (!to)
        return NULL;
    print_wrong(to, sale, "");
    fclose(to);
    for (char *end = strchr(text, '\n'); end; end = strchr(end, '\n'))
        *end = end[1] ? ';' : '\0';
    return json_string(text);
}

/* An element of "runs" in results.json: it has what a phase of another scenario has but rates and
 * latencies, and its own figures in "unpaid". */
static json_t *json_sale(const struct sale *sale, const struct options *options)
{
    const struct promise promise = promise_with(&sale->strategy->promise, is_guarded(sale));
    json_t *figures = json_object();
    for (int i = 0; i < FIGURES; i++)
        json_object_set_new(figures, names[i], json_integer(sale->figures[i]));
    json_object_set_new(figures, "wrong", json_wrong(sale));
    return json_pack("{ss ss si ss ss si sI sI sI so so so ss}", "strategy", sale->strategy->name,
                     "body", sale->body, "instances", sale->instances, "scenario",
                     scenario_name(SCENARIO_UNPAID), "phase", phase_name(PHASE_TRUTH), "round", 1,
                     "connections", options->connections, "duration_s", options->duration_s,
                     "stock", options->stock, "audit", results_json_audit(&sale->rows), "promise",
                     results_json_promise(&promise), "unpaid", figures, "verdict",
                     verdict_name(verdict_of_sale(sale)));
}

bool unpaid_sell(struct harness *harness, const struct api_strategy *strategy, struct error *error)
{
    struct sale sale = {.harness = harness,
                        .strategy = strategy,
                        .body = harness_plan(harness, strategy, 1).body,
                        .instances = (int)harness->fleet.count};
    if (!sell(&sale, error))
        return error_prefix(error, "%s", strategy->name);
    print_sale(stdout, &sale);
    harness_keep(harness, json_sale(&sale, harness->options));
    return true;
}
