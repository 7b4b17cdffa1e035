/* See trial.h. */
#include "loadtest/faults/trial.h"

#include "base/clock.h"
#include "loadtest/base/pool.h"
#include "loadtest/judge/claims/claims.h"
#include "loadtest/judge/evidence/rows_read.h"
#include "loadtest/ledger/ledger_read.h"
#include "loadtest/ledger/record/recorder.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Some products, of which one sells out; so many buyers that each instance always has some of each
 * at work. */
enum {
    PRODUCTS = 8,
    CONNECTIONS = 48,
    USERS = 500,
    STOCK = 100000,
    STOCK_SHORT = 40,
    SETTLE_MS = 30000,
    EXACT_BUDGET = 200000
};

static bool make(struct fault_site *site, const struct fault_event *event, struct error *error)
{
    const struct fault *fault = site->plan->fault;
    struct fault_interval *interval = &site->intervals[site->count];
    interval->begin_us = clock_mono_us();
    if (fault->begin && !fault->begin(site, event, error))
        return false;
    (void)fault_wait_until(site, site->start_us + event->heal_us);
    interval->heal_us = clock_mono_us();
    site->count++;
    return !fault->heal || fault->heal(site, event, error);
}

/* The nemesis makes a schedule happen while the load goes on: begins and heals the fault at its
 * times and writes down when it did. It heals what it began, also when it is told to stop or a step
 * fails: nothing stays broken behind it.
 *
 * It works in the thread that calls it, which must outlive the servers: the kernel ends a child
 * when the thread that started it ends (process.h), and healing may mean starting a server.
 *
 * Comes back at the end of the schedule, or early when it is stopped or interrupted. False: a step
 * failed. */
static bool run_nemesis(struct fault_site *site, struct error *error)
{
    for (size_t i = 0; i < site->schedule.count; i++) {
        const struct fault_event *event = &site->schedule.events[i];
        if (!fault_wait_until(site, site->start_us + event->begin_us))
            break;
        if (!make(site, event, error))
            return false;
    }
    return true;
}

static bool open_redlock(struct fault_site *site, int64_t delay_us, struct error *error)
{
    char nodes[sizeof site->redlock], *rest = NULL;
    size_t count = 0, used = 0;
    snprintf(nodes, sizeof nodes, "%s", site->options.redlock);
    for (char *node = strtok_r(nodes, ",", &rest); node && count < FAULT_REDLOCK_MAX;
         node = strtok_r(NULL, ",", &rest)) {
        const char *url = node;
        if (!way_before_redis(&site->ways[FAULT_WAY_REDLOCK + count++], &url, delay_us, error))
            return false;
        used += (size_t)snprintf(site->redlock + used, sizeof site->redlock - used, "%s%s",
                                 used ? "," : "", url);
        if (used >= sizeof site->redlock)
            return error_fail(error, "--redlock is too long to be given relays");
    }
    site->options.redlock = site->redlock;
    return true;
}

/* Relays where the fault needs them, and where what holds the lock is to be further away. A row of
 * PostgreSQL's that does is nearer, or the work's statements would take as long. */
static bool open_ways(struct fault_site *site, struct error *error)
{
    struct way *ways = site->ways;
    const struct fault *fault = site->plan->fault;
    const struct api_strategy *strategy = site->plan->strategy;
    struct options *options = &site->options;
    int64_t delay_us = fault->settings.lock_delay_us;
    bool relays = fault->relays & FAULT_RELAY_REDIS;
    int64_t row_delay_us = fault_locks_a_row(strategy) ? delay_us / 4 : 0;
    if (!*options->stock_redis)
        options->stock_redis = options->redis;
    if (((fault->relays & FAULT_RELAY_POSTGRES) || row_delay_us) &&
        !way_before_postgres(&ways[FAULT_WAY_POSTGRES], &options->database, row_delay_us, error))
        return false;
    if ((relays || delay_us) && api_needs(strategy, "redis") &&
        !way_before_redis(&ways[FAULT_WAY_REDIS], &options->redis, delay_us, error))
        return false;
    if ((relays || delay_us) && api_needs(strategy, "redlock") &&
        !open_redlock(site, delay_us, error))
        return false;
    return !relays || !api_needs(strategy, "stock-redis") ||
           way_before_redis(&ways[FAULT_WAY_STOCK], &options->stock_redis, 0, error);
}

/* The servers' sessions are to begin as the control has it. */
static bool set_sessions(struct fault_site *site, struct error *error)
{
    const struct fault_control *control = site->plan->control;
    if (!control || !control->session)
        return true;
    if (strstr(site->options.database, "://"))
        return error_fail(error, "a control needs --database as keywords and values, not as a URI");
    int length = snprintf(site->database, sizeof site->database, "%s options='%s'",
                          site->options.database, control->session);
    site->options.database = site->database;
    return length < (int)sizeof site->database ||
           error_fail(error, "--database is too long to be given a control's options");
}

static bool set_up(struct fault_site *site, struct error *error)
{
    const struct fault_settings *settings = &site->plan->fault->settings;
    site->options = *site->plan->options;
    site->options.lock_ttl_ms = settings->lease_ms;
    site->options.work_timeout_ms = settings->work_timeout_ms;
    site->options.work_ms = settings->work_ms;
    site->api = api_create(site->options.admin_token);
    bool made =
        set_sessions(site, error) && open_ways(site, error) && fault_forget_keys(site, error);
    site->forgotten = 0; /* that was not the fault */
    return made;
}

static bool begin_sale(struct fault_site *site, struct json_lines *writer, struct error *error)
{
    for (int64_t i = 0; i < PRODUCTS; i++) {
        struct ledger_product product = {.id = site->options.first_product + i,
                                         .stock = i == 0 ? STOCK_SHORT : STOCK};
        const struct api_sale sale = {
            .first = product.id, .count = 1, .stock = product.stock, .epoch = &product.epoch};
        if (!api_put_products(site->api, site->instances[0].url, &sale, error))
            return false;
        ledger_write_product(writer, &product);
    }
    return true;
}

static void note_fault(const struct fault_site *site, struct json_lines *writer)
{
    for (size_t i = 0; i < site->count; i++) {
        const struct fault_interval *interval = &site->intervals[i];
        char text[64];
        snprintf(text, sizeof text, "%.20s begins", site->plan->fault->name);
        ledger_write_note(writer, interval->begin_us, text);
        snprintf(text, sizeof text, "%.20s heals", site->plan->fault->name);
        ledger_write_note(writer, interval->heal_us, text);
    }
}

/* The crowd, in a thread of its own. */
struct crowd {
    const struct recorder_plan *plan;
    struct json_lines *writer;
    struct fault_site *site;
    struct error error;
    bool made;
};

static void *let_buy(void *context)
{
    struct crowd *crowd = context;
    struct recorder_result result;
    crowd->made = recorder_run(crowd->plan, crowd->writer, &result, &crowd->error);
    if (!crowd->made)
        atomic_store(&crowd->site->stopping, true);
    return NULL;
}

static bool sell_and_break(struct fault_site *site, const struct recorder_plan *plan,
                           struct json_lines *writer, struct error *error)
{
    struct crowd crowd = {.plan = plan, .writer = writer, .site = site};
    struct error second;
    pthread_t thread;
    site->start_us = clock_mono_us();
    if (pthread_create(&thread, NULL, let_buy, &crowd) != 0)
        return error_fail(error, "no thread for the buyers");
    bool broke = run_nemesis(site, error);
    pthread_join(thread, NULL);
    if (!crowd.made)
        *(broke ? error : &second) = crowd.error;
    return broke && crowd.made;
}

static bool sell(struct fault_site *site, struct json_lines *writer, struct error *error)
{
    const char *targets[FAULT_INSTANCES];
    for (size_t i = 0; i < FAULT_INSTANCES; i++)
        targets[i] = site->instances[i].url;
    const struct recorder_plan plan = {
        .targets = targets,
        .targets_count = FAULT_INSTANCES,
        .connections = CONNECTIONS,
        .duration_us = site->schedule.duration_us,
        .settle_us = SETTLE_MS * CLOCK_US_PER_MS,
        .query = "",
        .token = site->options.admin_token,
        .mix = {.seed = site->plan->seed,
                .first_product = site->options.first_product,
                .products = PRODUCTS,
                .users = USERS,
                .strategy = site->plan->control ? site->plan->control->strategy
                                                : site->plan->strategy->name},
    };
    bool made = sell_and_break(site, &plan, writer, error);
    note_fault(site, writer);
    return made;
}

static bool record(struct fault_site *site, const char *path, struct error *error)
{
    struct error ignored;
    struct json_lines *writer =
        ledger_create(path, &(struct ledger){.seed = site->plan->seed}, NULL, error);
    bool made = writer && begin_sale(site, writer, error) && sell(site, writer, error);
    return json_lines_close(writer, made ? error : &ignored) && made;
}

static void take_findings(const struct check_result *check, struct trial_result *result)
{
    char said[100];
    memcpy(result->violations, check->findings.counts, sizeof result->violations);
    if (check->findings.count == 0)
        return;
    const struct finding *first = &check->findings.items[0];
    findings_say(&check->findings, first->kind, said, sizeof said);
    snprintf(result->example, sizeof result->example, "%s (%s %s; product %" PRId64 ": %.170s)",
             said, finding_invariant(first->kind), finding_name(first->kind), first->product,
             first->text);
}

static bool judge(struct fault_site *site, struct trial_result *result, struct error *error)
{
    const struct options *options = site->plan->options;
    /* A mirror of a product that others sell is not kept up: it is loaded anew when it is used. */
    const struct rows_place place = {.databases = &options->database,
                                     .count = 1,
                                     .schema = options->schema,
                                     .locks = options->redis,
                                     .stock = options->stock_redis,
                                     .system_name = options->system_name,
                                     .nobody_sells =
                                         !api_needs(site->plan->strategy, "stock-redis")};
    const struct exact_limits limits = {0, EXACT_BUDGET};
    struct rows rows = {0};
    struct check_result check = {.verdict = CHECK_PROVED_NOTHING};
    bool good = redis_look_and_read(&rows, &site->ledger, &place, error) &&
                check_run(&check, &site->ledger, &rows, &limits, error);
    if (good) {
        take_findings(&check, result);
        sales_measure(&result->measured, site, &rows);
        result->verdict = check.verdict == CHECK_CLEAN      ? TRIAL_CLEAN
                          : check.verdict == CHECK_VIOLATED ? TRIAL_RED
                                                            : TRIAL_INVALID;
    }
    findings_fini(&check.findings);
    rows_fini(&rows);
    return good;
}

/* The verdict stands only if the fault met somebody. */
static bool conclude(struct fault_site *site, struct trial_result *result, struct error *error)
{
    if (!ledger_read_file(&site->ledger, result->ledger, LEDGER_OF_SERVERS, error))
        return false;
    sales_look(&result->sales, site);
    if (!judge(site, result, error))
        return false;
    bool bit = site->plan->fault->did_it_bite(site, result->evidence);
    if (!bit)
        result->verdict = TRIAL_INVALID;
    else if (result->verdict == TRIAL_INVALID)
        snprintf(result->evidence, sizeof result->evidence, "nothing was sold");
    return true;
}

static bool run(struct fault_site *site, struct trial_result *result, struct error *error)
{
    struct error second;
    if (!instance_start_all(site->instances, FAULT_INSTANCES, &site->options, site->plan->binary,
                            site->plan->folder, error))
        return false;
    site->instances_count = FAULT_INSTANCES;
    bool made = record(site, result->ledger, error) && conclude(site, result, error);
    bool ended = instance_stop_all(site->instances, FAULT_INSTANCES, made ? error : &second);
    return made && ended;
}

/* Only what shows something is worth keeping. */
static void tidy(struct fault_site *site, const struct trial_result *result, bool made)
{
    struct error ignored;
    if (site->api)
        (void)fault_forget_keys(site, &ignored);
    if (made && result->verdict == TRIAL_CLEAN)
        unlink(result->ledger);
    ledger_fini(&site->ledger);
    for (size_t i = 0; i < FAULT_WAYS; i++)
        way_close(&site->ways[i]);
    api_destroy(site->api);
}

bool trial_run(const struct trial_plan *plan, struct trial_result *result, struct error *error)
{
    struct fault_site *site = memory_take(sizeof *site);
    *result = (struct trial_result){.verdict = TRIAL_INVALID, .seed = plan->seed};
    site->plan = plan;
    fault_plan_make(&site->schedule, &plan->fault->settings, FAULT_INSTANCES, plan->seed);
    snprintf(result->ledger, sizeof result->ledger, "%.1000s/%s-%s-%" PRId64 ".jsonl", plan->folder,
             plan->strategy->name, plan->fault->name, plan->seed);
    bool made = set_up(site, error) && run(site, result, error);
    tidy(site, result, made);
    free(site);
    return made;
}
