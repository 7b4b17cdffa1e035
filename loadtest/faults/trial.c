/* See trial.h. */
#include "loadtest/faults/trial.h"

#include "base/clock.h"
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
    EXACT_BUDGET = 200000,
    LOOK_US = 10000
};

struct trial {
    struct fault_site site;
    char redlock[2000];  /* its nodes' relays */
    char database[1000]; /* a control's */
    struct fault_plan schedule;
    int64_t start_us;      /* of the load, by the monotonic clock */
    _Atomic bool stopping; /* any thread may set it */
};

/* False when it is to stop. */
static bool wait_until(struct trial *trial, int64_t at_us)
{
    for (;;) {
        int64_t now_us = clock_mono_us();
        if (atomic_load(&trial->stopping) || process_interrupted())
            return false;
        if (now_us >= at_us)
            return true;
        clock_sleep_until(clock_earlier(at_us, now_us + LOOK_US));
    }
}

static bool make(struct trial *trial, const struct fault_event *event, struct error *error)
{
    struct fault_site *site = &trial->site;
    const struct fault *fault = site->plan->fault;
    struct fault_interval *interval = &site->intervals[site->count];
    interval->begin_us = clock_mono_us();
    if (fault->begin && !fault->begin(site, event, error))
        return false;
    (void)wait_until(trial, trial->start_us + event->heal_us);
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
static bool run_nemesis(struct trial *trial, struct error *error)
{
    for (size_t i = 0; i < trial->schedule.count; i++) {
        const struct fault_event *event = &trial->schedule.events[i];
        if (!wait_until(trial, trial->start_us + event->begin_us))
            break;
        if (!make(trial, event, error))
            return false;
    }
    return true;
}

static bool open_redlock(struct trial *trial, int64_t delay_us, struct error *error)
{
    char nodes[sizeof trial->redlock], *rest = NULL;
    size_t count = 0, used = 0;
    snprintf(nodes, sizeof nodes, "%s", trial->site.options.redlock);
    for (char *node = strtok_r(nodes, ",", &rest); node && count < FAULT_REDLOCK_MAX;
         node = strtok_r(NULL, ",", &rest)) {
        const char *url = node;
        if (!way_before_redis(&trial->site.ways[FAULT_WAY_REDLOCK + count++], &url, delay_us,
                              error))
            return false;
        used += (size_t)snprintf(trial->redlock + used, sizeof trial->redlock - used, "%s%s",
                                 used ? "," : "", url);
        if (used >= sizeof trial->redlock)
            return error_fail(error, "--redlock is too long to be given relays");
    }
    trial->site.options.redlock = trial->redlock;
    return true;
}

/* Relays where the fault needs them, and where what holds the lock is to be further away. A row of
 * PostgreSQL's that does is nearer, or the work's statements would take as long. */
static bool open_ways(struct trial *trial, struct error *error)
{
    struct way *ways = trial->site.ways;
    const struct fault *fault = trial->site.plan->fault;
    const struct api_strategy *strategy = trial->site.plan->strategy;
    struct options *options = &trial->site.options;
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
        !open_redlock(trial, delay_us, error))
        return false;
    return !relays || !api_needs(strategy, "stock-redis") ||
           way_before_redis(&ways[FAULT_WAY_STOCK], &options->stock_redis, 0, error);
}

/* The servers' sessions are to begin as the control has it. */
static bool set_sessions(struct trial *trial, struct error *error)
{
    const struct fault_control *control = trial->site.plan->control;
    if (!control || !control->session)
        return true;
    if (strstr(trial->site.options.database, "://"))
        return error_fail(error, "a control needs --database as keywords and values, not as a URI");
    int length = snprintf(trial->database, sizeof trial->database, "%s options='%s'",
                          trial->site.options.database, control->session);
    trial->site.options.database = trial->database;
    return length < (int)sizeof trial->database ||
           error_fail(error, "--database is too long to be given a control's options");
}

static bool set_up(struct trial *trial, struct error *error)
{
    struct fault_site *site = &trial->site;
    const struct fault_settings *settings = &site->plan->fault->settings;
    site->options = *site->plan->options;
    site->options.lock_ttl_ms = settings->lease_ms;
    site->options.work_timeout_ms = settings->work_timeout_ms;
    site->options.work_ms = settings->work_ms;
    site->api = api_create(site->options.admin_token);
    if (!site->api)
        return error_fail(error, "curl does not start");
    bool made =
        set_sessions(trial, error) && open_ways(trial, error) && fault_forget_keys(site, error);
    site->forgotten = 0; /* that was not the fault */
    return made;
}

static bool begin_sale(struct trial *trial, struct json_lines *writer, struct error *error)
{
    for (int64_t i = 0; i < PRODUCTS; i++) {
        struct ledger_product product = {.id = trial->site.options.first_product + i,
                                         .stock = i == 0 ? STOCK_SHORT : STOCK};
        const struct api_sale sale = {
            .first = product.id, .count = 1, .stock = product.stock, .epoch = &product.epoch};
        if (!api_put_products(trial->site.api, trial->site.instances[0].url, &sale, error))
            return false;
        ledger_write_product(writer, &product);
    }
    return true;
}

static void note_fault(const struct trial *trial, struct json_lines *writer)
{
    for (size_t i = 0; i < trial->site.count; i++) {
        const struct fault_interval *interval = &trial->site.intervals[i];
        char text[64];
        snprintf(text, sizeof text, "%.20s begins", trial->site.plan->fault->name);
        ledger_write_note(writer, interval->begin_us, text);
        snprintf(text, sizeof text, "%.20s heals", trial->site.plan->fault->name);
        ledger_write_note(writer, interval->heal_us, text);
    }
}

/* The crowd, in a thread of its own. */
struct crowd {
    const struct recorder_plan *plan;
    struct json_lines *writer;
    struct trial *trial;
    struct error error;
    bool made;
};

static void *let_buy(void *context)
{
    struct crowd *crowd = context;
    struct recorder_result result;
    crowd->made = recorder_run(crowd->plan, crowd->writer, &result, &crowd->error);
    if (!crowd->made)
        atomic_store(&crowd->trial->stopping, true);
    return NULL;
}

static bool sell_and_break(struct trial *trial, const struct recorder_plan *plan,
                           struct json_lines *writer, struct error *error)
{
    struct crowd crowd = {.plan = plan, .writer = writer, .trial = trial};
    struct error second;
    pthread_t thread;
    trial->start_us = clock_mono_us();
    if (pthread_create(&thread, NULL, let_buy, &crowd) != 0)
        return error_fail(error, "no thread for the buyers");
    bool broke = run_nemesis(trial, error);
    pthread_join(thread, NULL);
    if (!crowd.made)
        *(broke ? error : &second) = crowd.error;
    return broke && crowd.made;
}

static bool sell(struct trial *trial, struct json_lines *writer, struct error *error)
{
    const char *targets[FAULT_INSTANCES];
    for (size_t i = 0; i < FAULT_INSTANCES; i++)
        targets[i] = trial->site.instances[i].url;
    const struct recorder_plan plan = {
        .targets = targets,
        .targets_count = FAULT_INSTANCES,
        .connections = CONNECTIONS,
        .duration_us = trial->schedule.duration_us,
        .settle_us = SETTLE_MS * CLOCK_US_PER_MS,
        .query = "",
        .token = trial->site.options.admin_token,
        .mix = {.seed = trial->site.plan->seed,
                .first_product = trial->site.options.first_product,
                .products = PRODUCTS,
                .users = USERS,
                .strategy = trial->site.plan->control ? trial->site.plan->control->strategy
                                                      : trial->site.plan->strategy->name},
    };
    bool made = sell_and_break(trial, &plan, writer, error);
    note_fault(trial, writer);
    return made;
}

static bool record(struct trial *trial, const char *path, struct error *error)
{
    struct error ignored;
    struct json_lines *writer =
        ledger_create(path, &(struct ledger){.seed = trial->site.plan->seed}, NULL, error);
    bool made = writer && begin_sale(trial, writer, error) && sell(trial, writer, error);
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

static bool judge(struct trial *trial, struct trial_result *result, struct error *error)
{
    const struct options *options = trial->site.plan->options;
    /* A mirror of a product that others sell is not kept up: it is loaded anew when it is used. */
    const struct rows_place place = {.databases = &options->database,
                                     .count = 1,
                                     .schema = options->schema,
                                     .locks = options->redis,
                                     .stock = options->stock_redis,
                                     .system_name = options->system_name,
                                     .nobody_sells =
                                         !api_needs(trial->site.plan->strategy, "stock-redis")};
    const struct exact_limits limits = {0, EXACT_BUDGET};
    struct rows rows = {0};
    struct check_result check = {.verdict = CHECK_PROVED_NOTHING};
    bool good = redis_look_and_read(&rows, &trial->site.ledger, &place, error) &&
                check_run(&check, &trial->site.ledger, &rows, &limits, error);
    if (good) {
        take_findings(&check, result);
        sales_measure(&result->measured, &trial->site.ledger, &rows, trial->schedule.duration_us);
        result->verdict = check.verdict == CHECK_CLEAN      ? TRIAL_CLEAN
                          : check.verdict == CHECK_VIOLATED ? TRIAL_RED
                                                            : TRIAL_INVALID;
    }
    findings_fini(&check.findings);
    rows_fini(&rows);
    return good;
}

/* The verdict stands only if the fault met somebody. */
static bool conclude(struct trial *trial, struct trial_result *result, struct error *error)
{
    struct fault_site *site = &trial->site;
    if (!ledger_read_file(&site->ledger, result->ledger, LEDGER_OF_SERVERS, error))
        return false;
    sales_look(&result->sales, &site->ledger, trial->start_us,
               trial->start_us + trial->schedule.duration_us, site->intervals, site->count);
    if (!judge(trial, result, error))
        return false;
    bool bit = site->plan->fault->did_it_bite(site, result->evidence);
    if (!bit)
        result->verdict = TRIAL_INVALID;
    else if (result->verdict == TRIAL_INVALID)
        snprintf(result->evidence, sizeof result->evidence, "nothing was sold");
    return true;
}

static bool run(struct trial *trial, struct trial_result *result, struct error *error)
{
    struct fault_site *site = &trial->site;
    struct error second;
    if (!instance_start_all(site->instances, FAULT_INSTANCES, &site->options, site->plan->binary,
                            site->plan->folder, error))
        return false;
    site->instances_count = FAULT_INSTANCES;
    bool made = record(trial, result->ledger, error) && conclude(trial, result, error);
    bool ended = instance_stop_all(site->instances, FAULT_INSTANCES, made ? error : &second);
    return made && ended;
}

/* Only what shows something is worth keeping. */
static void tidy(struct trial *trial, const struct trial_result *result, bool made)
{
    struct error ignored;
    if (trial->site.api)
        (void)fault_forget_keys(&trial->site, &ignored);
    if (made && result->verdict == TRIAL_CLEAN)
        unlink(result->ledger);
    ledger_fini(&trial->site.ledger);
    for (size_t i = 0; i < FAULT_WAYS; i++)
        way_close(&trial->site.ways[i]);
    api_destroy(trial->site.api);
}

bool trial_run(const struct trial_plan *plan, struct trial_result *result, struct error *error)
{
    struct trial *trial = calloc(1, sizeof *trial);
    if (!trial)
        return error_fail(error, "out of memory");
    *result = (struct trial_result){.verdict = TRIAL_INVALID, .seed = plan->seed};
    trial->site.plan = plan;
    fault_plan_make(&trial->schedule, &plan->fault->settings, FAULT_INSTANCES, plan->seed);
    snprintf(result->ledger, sizeof result->ledger, "%.1000s/%s-%s-%" PRId64 ".jsonl", plan->folder,
             plan->strategy->name, plan->fault->name, plan->seed);
    bool made = set_up(trial, error) && run(trial, result, error);
    tidy(trial, result, made);
    free(trial);
    return made;
}
