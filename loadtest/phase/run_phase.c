/* See phase.h. The steps stand in the order in which phase_run takes them. */
#include "loadtest/phase/phase.h"

#include "loadtest/engine/http_request.h"
#include "loadtest/judge/redis_link.h"
#include "loadtest/load/load.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum {
    QUIET_LIMIT_MS = 90000,    /* an order's longest wait and work, and some */
    LEFTOVER_LIMIT_MS = 60000, /* for the rows of earlier sales to be deleted */
    SETTLE_LIMIT_MS = 60000,   /* for queued orders to be decided */
    TRUTH_LIMIT_MS = 60000     /* for the stock to be gone */
};

/* Users have 13 digits, so that every request has the same length. The seed moves the first one;
 * each run of a load in a sale goes on where the one before may have ended. */
static const int64_t FIRST_USER = INT64_C(1000000000000);
static const int64_t USERS_PER_RUN = INT64_C(10000000000);

static void say(const struct fleet *fleet, const char *text)
{
    if (fleet->progress)
        fleet->progress(fleet->progress_context, text);
}

/* A phase while it is made. */
struct phase {
    const struct fleet *fleet; /* borrowed, as the two below */
    const struct phase_plan *plan;
    struct phase_result *result;
    int64_t first, last;                         /* products */
    struct scrape before[OPTIONS_MAX_INSTANCES]; /* the sale */
    struct scrape after[OPTIONS_MAX_INSTANCES];  /* what came between */
    struct {
        int64_t started_ms;
        int64_t open[OPTIONS_MAX_INSTANCES]; /* connections of each server: the most at once */
        int64_t answers;                     /* the generator's count */
        int64_t looked_ms, looked_answers;   /* when the rate was last seen, and the count then */
        double per_s;
        int64_t sold; /* orders, by what the servers say; -1: they were not asked */
    } load;           /* the one that goes on */
};

/* `scrapes`: the last ones, or zeroed. */
static bool scrape_all(const struct phase *phase, struct scrape *scrapes, struct error *error)
{
    const struct fleet *fleet = phase->fleet;
    const char *kind = phase->plan->scenario == SCENARIO_COUNTER ? "restock" : "buy";
    for (size_t i = 0; i < fleet->count; i++) {
        struct scrape before = scrapes[i];
        if (!api_scrape(fleet->api, fleet->urls[i], phase->plan->strategy->name, kind, &scrapes[i],
                        error))
            return false;
        if (scrape_is_another(&before, &scrapes[i]))
            return error_fail(error,
                              "%s is answered by several servers, or by one that was started "
                              "again: each counts its own orders, so name each by an address of "
                              "its own (--server URL,URL)",
                              fleet->urls[i]);
    }
    return true;
}

/* What all instances have in their hands, and have answered so far. */
static void total(const struct fleet *fleet, const struct scrape *scrapes, int64_t *in_flight,
                  int64_t *answered)
{
    *in_flight = 0;
    *answered = 0;
    for (size_t i = 0; i < fleet->count; i++) {
        *in_flight += scrapes[i].in_flight;
        *answered += scrapes[i].counts.total + scrapes[i].counts.strangers;
    }
}

/* Waits until no instance has an order in its hands, twice in a row with the same counts: a scrape
 * is no snapshot, and what wrk sent last may still lie unread in a socket. Leaves the last scrapes
 * in `scrapes`. */
static bool wait_quiet(const struct phase *phase, struct scrape *scrapes, struct error *error)
{
    int64_t deadline_ms = clock_mono_ms() + QUIET_LIMIT_MS;
    int64_t before = -1;
    for (;;) {
        int64_t in_flight = 0, answered = 0;
        if (!scrape_all(phase, scrapes, error))
            return false;
        total(phase->fleet, scrapes, &in_flight, &answered);
        if (in_flight == 0 && answered == before)
            return true;
        before = in_flight == 0 ? answered : -1;
        if (clock_mono_ms() > deadline_ms)
            return error_fail(error, "%" PRId64 " orders are still in flight after %d s", in_flight,
                              QUIET_LIMIT_MS / 1000);
        if (!process_sleep_ms(30))
            return error_fail(error, "interrupted");
    }
}

/* The witness, and every instance, must see the sale that the first instance started. */
static bool same_sale(const struct phase *phase, struct error *error)
{
    const struct fleet *fleet = phase->fleet;
    int64_t witnessed = 0;
    if (!witness_epoch(fleet->witness, phase->first, &witnessed, error))
        return false;
    for (size_t i = 0; i < fleet_targets_count(fleet); i++) {
        const char *server = fleet_targets(fleet)[i];
        int64_t epoch = 0;
        if (!api_epoch(fleet->api, server, phase->first, &epoch, error))
            return false;
        if (epoch != witnessed)
            return error_fail(error,
                              "%s is in epoch %" PRId64 " of product %" PRId64
                              ", the witness in %" PRId64
                              ": not the same database (--database), or somebody else reset it",
                              server, epoch, phase->first, witnessed);
    }
    return true;
}

bool phase_wait_clean(const struct fleet *fleet, int64_t first, int64_t last, struct error *error)
{
    int64_t deadline_ms = clock_mono_ms() + LEFTOVER_LIMIT_MS;
    for (;;) {
        struct witness_state state;
        if (!witness_look(fleet->witness, first, last, &state, error))
            return false;
        if (state.orders > 0)
            return error_fail(
                error, "a sale that has just begun has %" PRId64 " orders: somebody else sells it",
                state.orders);
        if (!state.leftovers)
            return true;
        if (clock_mono_ms() > deadline_ms)
            return error_fail(error, "rows of earlier sales are not deleted within %d s",
                              LEFTOVER_LIMIT_MS / 1000);
        if (!process_sleep_ms(50))
            return error_fail(error, "interrupted");
    }
}

static bool is_by_wrk(const struct phase_plan *plan)
{
    return !plan->load.counted && plan->rate_per_s == 0;
}

/* Whether all connections stand, asked until they do. */
static void count_connections(struct phase *phase, const struct scrape *scrapes)
{
    int64_t open = scrape_most_open(phase->load.open, scrapes, phase->fleet->count);
    if (open > phase->result->connections_seen)
        phase->result->connections_seen = open;
}

/* The rate since it was last looked at, a second ago. The first look has none before it. */
static void take_rate(struct phase *phase, int64_t answers, int64_t now_ms)
{
    if (phase->load.looked_ms > 0)
        phase->load.per_s = (double)(answers - phase->load.looked_answers) * 1000 /
                            (double)(now_ms - phase->load.looked_ms);
    phase->load.looked_ms = now_ms;
    phase->load.looked_answers = answers;
}

static struct counts counts_since(const struct phase *phase, const struct scrape *now)
{
    struct counts sum = {0};
    for (size_t i = 0; i < phase->fleet->count; i++)
        counts_add(&sum, &now[i].counts, &phase->before[i].counts);
    return sum;
}

/* What the servers are asked while wrk, which tells nothing until its end, loads them: by the way
 * how fast they answer, once a second and only where somebody watches. A generator that is the
 * harness's own must not wait for them. */
static void look(struct phase *phase, int64_t now_ms)
{
    struct scrape scrapes[OPTIONS_MAX_INSTANCES] = {0};
    struct error ignored; /* a server that does not answer shows in everything else */
    bool asks = is_by_wrk(phase->plan);
    bool counts = asks && phase->result->connections_seen < phase->plan->load.connections;
    bool rates = phase->fleet->progress && now_ms - phase->load.looked_ms >= 1000;
    int64_t in_flight = 0, answered = phase->load.answers;
    if (!counts && !rates)
        return;
    if (asks) {
        if (!scrape_all(phase, scrapes, &ignored))
            return;
        total(phase->fleet, scrapes, &in_flight, &answered);
        struct counts since = counts_since(phase, scrapes);
        phase->load.sold = since.committed + since.accepted;
    }
    if (counts)
        count_connections(phase, scrapes);
    if (rates)
        take_rate(phase, answered, now_ms);
}

static void tick(void *context)
{
    struct phase *phase = context;
    const struct phase_plan *plan = phase->plan;
    int64_t now_ms = clock_mono_ms();
    char text[200], sold[40] = "", rate[40] = "";
    if (plan->watch)
        plan->watch(plan->watch_context, now_ms - phase->load.started_ms);
    look(phase, now_ms);
    if (phase->load.sold >= 0 && plan->scenario != SCENARIO_COUNTER)
        snprintf(sold, sizeof sold, ", %" PRId64 " sold", phase->load.sold);
    /* A sale of what is soon gone has none, and a terminal may cut the end of the line. */
    if (phase->load.per_s > 0 && plan->kind != PHASE_TRUTH)
        snprintf(rate, sizeof rate, ", %.0f answers/s", phase->load.per_s);
    snprintf(text, sizeof text, "%s%s%s, %zu instance%s, round %d, %s: %" PRId64 " s",
             plan->strategy->name, sold, rate, phase->fleet->count,
             phase->fleet->count == 1 ? "" : "s", plan->round, phase_name(plan->kind),
             (now_ms - phase->load.started_ms) / 1000);
    say(phase->fleet, text);
}

static void request_path(const struct phase_plan *plan, char *out, size_t size)
{
    char query[REQUEST_QUERY_SIZE];
    http_request_query(query, plan->wait_ms, plan->body, plan->flush);
    if (plan->scenario == SCENARIO_COUNTER)
        http_request_restock_target(out, size, plan->load.first_product, plan->strategy->name,
                                    query);
    else
        http_request_order_target(out, size, plan->strategy->name, query);
}

static bool announce(const struct load *load, int64_t *start_us, struct error *error)
{
    const struct phase *phase = load->context;
    return phase_open_announce(phase->fleet, phase->plan, load->arrivals.parts[0].duration_us,
                               start_us, error);
}

static bool load_once(struct phase *phase, int64_t seconds, struct error *error)
{
    const struct fleet *fleet = phase->fleet;
    const struct phase_plan *plan = phase->plan;
    struct phase_result *result = phase->result;
    char path[300];
    request_path(plan, path, sizeof path);
    memset(&phase->load, 0, sizeof phase->load);
    phase->load.started_ms = clock_mono_ms();
    phase->load.sold = -1;
    int64_t number = plan->load.seed % 100 + result->runs;
    bool counter = plan->scenario == SCENARIO_COUNTER;
    struct load load = plan->load;
    load.targets = fleet_targets(fleet);
    load.targets_count = fleet_targets_count(fleet);
    load.path = path;
    load.token = counter ? fleet->admin_token : "";
    load.restock = counter;
    load.duration_s = seconds;
    load.first_user = FIRST_USER + number * USERS_PER_RUN;
    load.users_per_thread = USERS_PER_RUN / load.threads;
    load.user_from = FIRST_USER;
    load.seed = plan->load.seed * 31 + result->runs;
    load.watch_sold_out = plan->kind == PHASE_TRUTH && load.products == 1;
    load.sold_out_us = result->load.sold_out_us;
    load.announce = plan->scenario == SCENARIO_BELL ? announce : NULL;
    load.tick = tick;
    load.context = phase;
    load.answers = &phase->load.answers;
    for (size_t i = 0; fleet->instances && i < fleet->count; i++)
        load.servers[load.servers_count++] = fleet->instances[i].process.pid;
    struct load_result one;
    if (plan->rate_per_s > 0)
        phase_open_plan(plan, seconds * 1000000, &load.arrivals);
    bool made = is_by_wrk(plan) ? wrk_run(&load, &one, error) : open_loop_run(&load, &one, error);
    if (!made)
        return false;
    load_add(&result->load, &one);
    result->runs++;
    return true;
}

/* Behind a balancer may be cells, which tell of their own products alone, and one by one. */
static bool ask_reserved(const struct fleet *fleet, int64_t first, int64_t last, int64_t *units,
                         bool *known, struct error *error)
{
    bool asked = true;
    for (size_t i = 0; asked && i < (fleet->balancer ? fleet->count : 1); i++) {
        int64_t one = 0;
        bool knows = false;
        asked = api_reserved(fleet->api, fleet->urls[i], first, last, &one, &knows, error);
        *units += one;
        *known = (*known || i == 0) && knows;
    }
    return asked;
}

bool phase_wait_settled(const struct fleet *fleet, int64_t first, int64_t last, struct error *error)
{
    int64_t deadline_ms = clock_mono_ms() + SETTLE_LIMIT_MS;
    for (;;) {
        struct witness_state state;
        int64_t reserved = 0;
        bool known = false;
        if (!ask_reserved(fleet, first, last, &reserved, &known, error) ||
            !witness_look(fleet->witness, first, last, &state, error))
            return false;
        if (state.queued == 0 && known && reserved == 0)
            return true;
        if (clock_mono_ms() > deadline_ms)
            return error_fail(error, "%" PRId64 " units are still %s after %d s",
                              known ? state.queued + reserved : state.queued,
                              known ? "queued" : "queued, and some not told,",
                              SETTLE_LIMIT_MS / 1000);
        if (!process_sleep_ms(50))
            return error_fail(error, "interrupted");
    }
}

/* Short runs until nothing is left and as many were told so as there are connections. wrk has no
 * shorter run than a second. */
static bool load_until_gone(struct phase *phase, struct error *error)
{
    const struct fleet *fleet = phase->fleet;
    int64_t deadline_ms = clock_mono_ms() + TRUTH_LIMIT_MS;
    bool complete = false;
    while (!complete && clock_mono_ms() < deadline_ms) {
        struct scrape now[OPTIONS_MAX_INSTANCES] = {0};
        struct witness_state state;
        if (!load_once(phase, 1, error) || !wait_quiet(phase, now, error) ||
            !phase_wait_settled(fleet, phase->first, phase->last, error) ||
            !witness_look(fleet->witness, phase->first, phase->last, &state, error))
            return false;
        complete =
            state.stock <= 0 && counts_since(phase, now).sold_out >= phase->plan->load.connections;
    }
    phase->result->complete = complete;
    return true;
}

/* What fewer clients were answered is no figure of as many as were asked for. */
static bool all_connected(const struct phase *phase, struct error *error)
{
    const struct phase_plan *plan = phase->plan;
    const struct phase_result *result = phase->result;
    struct rlimit files = {0};
    if (!is_by_wrk(plan))
        return true; /* it makes all of them before it begins, or fails */
    getrlimit(RLIMIT_NOFILE, &files);
    if (result->load.connect_errors > 0)
        return error_fail(error,
                          "wrk could not open all of its %" PRId64 " connections (%" PRId64
                          " errors; this shell's limit is %lld open files, see ulimit -n)",
                          plan->load.connections, result->load.connect_errors,
                          (long long)files.rlim_cur);
    /* A balancer has fewer with the servers. */
    return phase->fleet->balancer || result->connections_seen >= plan->load.connections ||
           error_fail(error,
                      "the servers never had more than %" PRId64 " of the %" PRId64
                      " connections (--max-connections, ulimit -n)",
                      result->connections_seen, plan->load.connections);
}

/* Of a generator that was late the figures are not the servers'. */
static bool in_time(const struct phase_result *result, struct error *error)
{
    return !result->load.too_late ||
           error_fail(error,
                      "the generator could not keep up: it took up one arrival in a hundred %.1f "
                      "ms or more after its time (--max-lag-ms %lld); ask for less, or give it a "
                      "machine of its own",
                      (double)result->load.lag.p99_us / 1000,
                      (long long)result->plan.load.lag_limit_us / 1000);
}

/* Such a generator's figures are not the servers', but what was sold was sold. */
static void judge(const struct phase *phase)
{
    struct phase_result *result = phase->result;
    bool counter = phase->plan->scenario == SCENARIO_COUNTER;
    bool bell = phase->plan->scenario == SCENARIO_BELL;
    struct evidence evidence = {
        .scenario = phase->plan->scenario,
        .promised = result->promised,
        .complete = result->complete && !(bell && result->audit.stock > 0),
        .done = counter ? result->audit.restock_rows : result->audit.confirmed_rows,
        .refused = result->counts.refused,
        .internal_errors = result->counts.internal_errors,
        .audit = &result->audit,
    };
    result->verdict = verdict_of(&evidence);
    struct error error;
    result->late = result->verdict != VERDICT_BROKEN &&
                   (!in_time(result, &error) || !all_connected(phase, &error));
    if (!result->late)
        return;
    result->verdict = VERDICT_NO_RUN;
    snprintf(result->error, sizeof result->error, "%s", error.text);
}

/* Once more, because what was accepted has been decided since the last answer. */
static bool add_costs(const struct phase *phase, struct error *error)
{
    struct scrape now[OPTIONS_MAX_INSTANCES] = {0};
    if (!scrape_all(phase, now, error))
        return false;
    for (size_t i = 0; i < phase->fleet->count; i++)
        costs_add(&phase->result->costs, &now[i].costs, &phase->before[i].costs);
    return true;
}

/* The state before the phase. */
struct meanwhile_mark {
    char oldest_held[WITNESS_NUMBER_SIZE];
    int64_t evicted_keys[FLEET_REDIS_MAX]; /* -1: that Redis could not be asked */
};

static void meanwhile_begin(const struct fleet *fleet, struct meanwhile_mark *mark)
{
    struct error ignored; /* a database that is gone shows in everything else */
    *mark = (struct meanwhile_mark){.oldest_held = ""};
    (void)witness_oldest_held(fleet->witness, mark->oldest_held, &ignored);
    for (size_t i = 0; i < FLEET_REDIS_MAX && *fleet->redis[i]; i++)
        mark->evicted_keys[i] = redis_link_number(fleet->redis[i], "evicted_keys");
}

/* One that was started again counts from 0. One that is out of reach is not waited for twice. */
static int64_t evicted_since(const char *redis, int64_t before)
{
    int64_t now = before < 0 ? -1 : redis_link_number(redis, "evicted_keys");
    if (now < 0)
        return 0;
    return now < before ? now : now - before;
}

static void meanwhile_end(const struct fleet *fleet, const struct meanwhile_mark *mark,
                          struct meanwhile *out)
{
    char oldest[WITNESS_NUMBER_SIZE] = "";
    struct error ignored;
    (void)witness_oldest_held(fleet->witness, oldest, &ignored);
    out->old_snapshot = *oldest && strcmp(oldest, mark->oldest_held) == 0;
    for (size_t i = 0; i < FLEET_REDIS_MAX && *fleet->redis[i]; i++)
        out->evicted_keys += evicted_since(fleet->redis[i], mark->evicted_keys[i]);
}

/* Everything up to the books. False: there is no going on. */
static bool take_steps(struct phase *phase, struct error *error)
{
    const struct fleet *fleet = phase->fleet;
    const struct phase_plan *plan = phase->plan;
    struct meanwhile_mark mark;
    int64_t epoch = 0, first = phase->first, last = phase->last;
    say(fleet, "preparing");
    bool ready = wait_quiet(phase, phase->before, error) &&
                 phase_put_on_sale(fleet, plan, NULL, &epoch, error) && same_sale(phase, error) &&
                 witness_remember(fleet->witness, first, last, epoch, error) &&
                 phase_wait_clean(fleet, first, last, error);
    if (!ready)
        return false;
    meanwhile_begin(fleet, &mark);
    bool loaded = plan->kind == PHASE_TRUTH ? load_until_gone(phase, error)
                                            : load_once(phase, plan->load.duration_s, error);
    int64_t loaded_ms = clock_mono_ms();
    memcpy(phase->after, phase->before, sizeof phase->after); /* the same servers are to answer */
    say(fleet, "settling");
    if (!loaded || !wait_quiet(phase, phase->after, error) ||
        !phase_wait_settled(fleet, first, last, error) || !add_costs(phase, error))
        return false;
    phase->result->settling_ms = clock_mono_ms() - loaded_ms;
    meanwhile_end(fleet, &mark, &phase->result->meanwhile);
    for (size_t i = 0; i < fleet->count; i++)
        counts_add(&phase->after[i].counts, &(struct counts){0}, &phase->before[i].counts);
    say(fleet, "auditing");
    return true;
}

static bool check_repeats(const struct phase *phase, struct error *error)
{
    char path[300];
    request_path(phase->plan, path, sizeof path);
    return !phase->plan->load.keyed ||
           repeats_check(phase->fleet, phase->plan, path, &phase->result->audit, error);
}

static void fail(struct phase_result *result, const struct error *error)
{
    /* What the server says of itself stands, whatever else went wrong. */
    result->verdict = result->counts.internal_errors > 0 ? VERDICT_BROKEN : VERDICT_NO_RUN;
    snprintf(result->error, sizeof result->error, "%s", error->text);
}

bool phase_run(const struct fleet *fleet, const struct phase_plan *plan,
               struct phase_result *result, struct error *error)
{
    struct phase phase = {.fleet = fleet,
                          .plan = plan,
                          .result = result,
                          .first = plan->load.first_product,
                          .last = phase_last_product(plan)};
    *result = (struct phase_result){
        .plan = *plan,
        .instances = (int)fleet->count,
        .promised = promise_in_force(&plan->strategy->promise, (int)fleet->count,
                                     strcmp(plan->body, "guarded") == 0),
        .complete = plan->kind != PHASE_TRUTH,
    };
    struct error death;
    bool made = take_steps(&phase, error);
    bool judged = made && reconcile_counts(phase.after, fleet, result, error) &&
                  reconcile_audits(fleet, result, error) && check_repeats(&phase, error);
    if (judged)
        judge(&phase);
    /* Now that all of its rows are read. */
    result->again = result->runs > 0 && !witness_same_sales(fleet->witness, error);
    if (judged && result->again) {
        result->audit = (struct books){.products = 0}; /* of another sale */
        fail(result, error);
    }
    if (judged)
        return true;
    if (fleet->instances && !instance_all_alive(fleet->instances, fleet->count, &death)) {
        *error = death;
        made = false;
    }
    fail(result, error);
    return made && !process_interrupted();
}
