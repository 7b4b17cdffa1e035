/* See send.h. */
#include "loadtest/shop/load/send.h"

#include "base/clock.h"
#include "base/random/uuid.h"
#include "loadtest/base/process.h"
#include "loadtest/load/latency.h"
#include "loadtest/shop/load/visit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { TICK_US = 200000, POLL_MAX_MS = 100, BEYOND_EVERY = 10 };

/* A purchase that is to be sent again, or another of the same user. */
struct again {
    struct again *next;
    struct visit_fields fields;
    int64_t bought; /* another one: the user has been told `sold` so often; 0: the same again */
};

struct sender {
    const struct send_plan *plan;
    struct shop_history *history;
    struct json_lines *ledger;
    struct send_result *result;
    CURLM *multi;         /* owned */
    struct visit *visits; /* owned */
    struct arrivals walk;
    int64_t begun;                    /* purchases, without repeats */
    size_t repeats, busy, first_ones; /* users who were told `sold` for the first time */
    struct again *first, **last;      /* owned */
    struct random random;
    bool has_key; /* the purchase says {key} */
    int64_t ticked_us;
    struct latency lag; /* from when a purchase was due, or the load had time for it */
    int64_t idle_us;    /* when the load had last nothing to do */
};

static void note_failure(struct sender *sender, const struct error *error)
{
    if (sender->result->failures++ == 0)
        snprintf(sender->result->first_failure, sizeof sender->result->first_failure, "%.390s",
                 error->text);
}

/* One that no other run has. */
static bool set_key(struct visit_fields *fields)
{
    char key[UUID_TEXT_LENGTH + 1];
    const struct uuid id = uuid_v7(clock_wall_us());
    uuid_format(&id, key);
    return visit_fields_set(fields, "key", key);
}

/* A user's fields. */
static bool set_fields(const struct sender *sender, struct visit_fields *fields)
{
    char number[24], product[24];
    const struct shop_users *users = sender->plan->users;
    snprintf(product, sizeof product, "%" PRId64, sender->plan->target->product);
    bool good = visit_fields_set(fields, "product", product) && set_key(fields);
    if (!users->text)
        return good &&
               visit_fields_set(fields, "user", users_value(users, sender->begun, "user", number));
    for (size_t i = 0; good && i < users->columns; i++)
        good = visit_fields_set(fields, users->names[i],
                                users_value(users, sender->begun, users->names[i], number));
    return good;
}

static const char *field(const struct visit_fields *fields, const char *name)
{
    for (size_t i = 0; i < fields->count; i++) {
        if (strcmp(fields->names[i], name) == 0)
            return fields->values[i];
    }
    return "";
}

static struct shop_purchase *record(struct sender *sender, struct visit *visit, bool repeat,
                                    int64_t due_us)
{
    struct shop_purchase *purchase = history_add(sender->history);
    if (!purchase)
        return NULL;
    visit->number = sender->history->count - 1;
    *purchase =
        (struct shop_purchase){.user = strdup(field(&visit->fields, "user")),
                               .key = sender->has_key ? strdup(field(&visit->fields, "key")) : NULL,
                               .repeat = repeat,
                               .due_us = due_us};
    shop_ledger_begin(sender->ledger, visit->number, purchase);
    return purchase;
}

static struct shop_purchase *purchase_of(const struct sender *sender, const struct visit *visit)
{
    return &sender->history->items[visit->number];
}

/* Puts the same purchase, or another of the same user, at the end of those that wait. */
static void queue_again(struct sender *sender, const struct visit *visit, int64_t bought)
{
    struct again *again = calloc(1, sizeof *again);
    if (!again || !visit_fields_copy(&again->fields, &visit->fields) ||
        (bought > 0 && !set_key(&again->fields))) {
        if (again)
            visit_fields_drop(&again->fields);
        free(again);
        return;
    }
    again->bought = bought;
    if (bought == 0)
        curl_easy_getinfo(visit->call.easy, CURLINFO_COOKIELIST, &again->fields.cookies);
    *sender->last = again;
    sender->last = &again->next;
}

/* Every tenth of those who have bought, the first among them, asks for one more than the limit. */
static void go_beyond_limit(struct sender *sender, const struct visit *visit)
{
    const struct shop_purchase *purchase = purchase_of(sender, visit);
    if (visit->bought >= sender->plan->target->limit || purchase->last != SHOP_SOLD ||
        purchase->repeat)
        return;
    if (visit->bought > 0 || sender->first_ones++ % BEYOND_EVERY == 0)
        queue_again(sender, visit, visit->bought + 1);
}

static void finish(struct sender *sender, struct visit *visit)
{
    sender->busy--;
    go_beyond_limit(sender, visit);
    sender->result->answered += purchase_of(sender, visit)->end_us != 0;
    shop_ledger_end(sender->ledger, visit->number, purchase_of(sender, visit));
    visit_fields_drop(&visit->fields);
}

/* Gives the prepared request to curl, which sends it with the next look at all of them. */
static void submit(struct sender *sender, struct visit *visit)
{
    if (visit->state == VISIT_BUYING && visit->doubles) {
        visit->doubles = false;
        queue_again(sender, visit, 0);
    }
    curl_multi_add_handle(sender->multi, visit->call.easy);
}

/* Begins a purchase whose fields are set. */
static bool begin(struct sender *sender, struct visit *visit, bool repeat, int64_t due_us)
{
    struct error error;
    struct shop_purchase *purchase = record(sender, visit, repeat, due_us);
    if (!purchase || !purchase->user)
        return false;
    sender->busy++;
    if (visit_begin(visit, sender->plan->target, purchase, &error))
        submit(sender, visit);
    else {
        note_failure(sender, &error);
        finish(sender, visit);
    }
    return true;
}

static bool begin_again(struct sender *sender, struct visit *visit)
{
    struct again *again = sender->first;
    bool repeat = again->bought == 0;
    sender->first = again->next;
    if (!sender->first)
        sender->last = &sender->first;
    visit->fields = again->fields;
    visit->doubles = visit->comes_back = false;
    visit->bought = again->bought;
    free(again);
    return begin(sender, visit, repeat, clock_mono_us());
}

static bool begin_new(struct sender *sender, struct visit *visit, int64_t due_us)
{
    bool repeats = random_unit(&sender->random) < sender->plan->target->repeats;
    visit->doubles = repeats && sender->repeats % 2 == 0;
    visit->comes_back = repeats && sender->repeats % 2 == 1;
    sender->repeats += repeats;
    visit->bought = 0;
    if (!set_fields(sender, &visit->fields))
        return false;
    sender->begun++;
    return begin(sender, visit, false, due_us);
}

static bool is_open(const struct sender *sender)
{
    return sender->plan->arrivals.parts_count > 0;
}

/* The first buyer is alone until the limit has said no, or a crowd would have the stock before.
 * Where that would take much of it, nobody waits. */
static bool waits_for_first(const struct sender *sender)
{
    const struct target *target = sender->plan->target;
    return target->limit > 0 && target->stock / BEYOND_EVERY >= target->limit &&
           sender->begun == 1 && (sender->busy > 0 || sender->first);
}

/* More buyers are to come at once: of a closed load, on each connection that is free. */
static bool has_more(const struct sender *sender)
{
    return !is_open(sender) && sender->begun < sender->plan->buyers && !waits_for_first(sender);
}

/* Whether a new purchase is due now; *due_us: since when. */
static bool is_due(const struct sender *sender, int64_t *due_us)
{
    int64_t now_us = clock_mono_us();
    *due_us = now_us;
    if (!is_open(sender))
        return has_more(sender);
    *due_us = sender->result->began_us + sender->walk.at_us;
    return !sender->walk.ended && *due_us <= now_us;
}

static bool is_over(const struct sender *sender)
{
    bool all = is_open(sender) ? sender->walk.ended : sender->begun >= sender->plan->buyers;
    return all && !sender->first && sender->busy == 0;
}

/* What waits for a connection while the load itself has nothing to do waits for the shop. */
static void take_due(struct sender *sender, int64_t due_us)
{
    int64_t from_us = due_us > sender->idle_us ? due_us : sender->idle_us;
    latency_add(&sender->lag, clock_mono_us() - from_us);
    arrivals_next(&sender->walk);
}

/* Gives every idle connection something to do. */
static bool begin_due(struct sender *sender)
{
    for (int64_t i = 0; i < sender->plan->connections; i++) {
        struct visit *visit = &sender->visits[i];
        int64_t due_us = 0;
        if (visit->state != VISIT_IDLE)
            continue;
        if (sender->first) {
            if (!begin_again(sender, visit))
                return false;
        } else if (is_due(sender, &due_us)) {
            if (is_open(sender))
                take_due(sender, due_us);
            if (!begin_new(sender, visit, due_us))
                return false;
        } else
            return true;
    }
    return true;
}

/* What has rested asks again. */
static void wake(struct sender *sender)
{
    struct error error;
    int64_t now_us = clock_mono_us();
    for (int64_t i = 0; i < sender->plan->connections; i++) {
        struct visit *visit = &sender->visits[i];
        if (visit->state != VISIT_RESTING || visit->rest_until_us > now_us)
            continue;
        if (visit_ask(visit, sender->plan->target, &error))
            submit(sender, visit);
        else {
            note_failure(sender, &error);
            finish(sender, visit);
        }
    }
}

static void take_answer(struct sender *sender, struct visit *visit, CURLcode result)
{
    struct error error;
    bool bought = visit->state == VISIT_BUYING;
    bool goes_on =
        visit_answered(visit, sender->plan->target, purchase_of(sender, visit), result, &error);
    if (*error.text)
        note_failure(sender, &error);
    if (bought && visit->comes_back)
        queue_again(sender, visit, 0);
    if (goes_on)
        submit(sender, visit);
    else if (visit->state == VISIT_IDLE)
        finish(sender, visit);
}

static void take_answers(struct sender *sender)
{
    int left = 0;
    for (;;) {
        const CURLMsg *message = curl_multi_info_read(sender->multi, &left);
        if (!message)
            return;
        void *visit = NULL;
        CURLcode result = message->data.result;
        CURL *easy = message->easy_handle;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &visit);
        curl_multi_remove_handle(sender->multi, easy);
        take_answer(sender, visit, result);
    }
}

/* Until something is due, at the most. */
static int patience_ms(const struct sender *sender)
{
    int64_t now_us = clock_mono_us(), until_us = now_us + POLL_MAX_MS * INT64_C(1000), idle = 0;
    for (int64_t i = 0; i < sender->plan->connections; i++) {
        const struct visit *visit = &sender->visits[i];
        idle += visit->state == VISIT_IDLE;
        if (visit->state == VISIT_RESTING && visit->rest_until_us < until_us)
            until_us = visit->rest_until_us;
    }
    if (idle > 0 && (sender->first || has_more(sender)))
        return 0;
    int64_t due_us = sender->result->began_us + sender->walk.at_us;
    if (idle > 0 && is_open(sender) && !sender->walk.ended && due_us < until_us)
        until_us = due_us;
    return until_us > now_us ? (int)((until_us - now_us) / 1000) : 0;
}

static void tick(struct sender *sender)
{
    int64_t now_us = clock_mono_us();
    if (!sender->plan->tick || now_us - sender->ticked_us < TICK_US)
        return;
    sender->ticked_us = now_us;
    sender->plan->tick(sender->plan->context, sender->result->answered);
}

static long count_sleeps(void)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

/* Until something is due or comes. A load that is called late has not been idle for longer. */
static CURLMcode wait(struct sender *sender)
{
    int patience = patience_ms(sender);
    int64_t until_us = clock_mono_us() + patience * INT64_C(1000);
    long sleeps = count_sleeps();
    CURLMcode code = curl_multi_poll(sender->multi, NULL, 0, patience, NULL);
    int64_t now_us = clock_mono_us();
    if (count_sleeps() != sleeps)
        sender->idle_us = now_us < until_us ? now_us : until_us;
    return code;
}

static bool turn(struct sender *sender, struct error *error)
{
    int running = 0;
    wake(sender);
    if (!begin_due(sender))
        return error_fail(error, "out of memory");
    if (!json_lines_flush(sender->ledger, error))
        return false;
    CURLMcode code = curl_multi_perform(sender->multi, &running);
    if (code == CURLM_OK) {
        take_answers(sender);
        code = wait(sender);
    }
    return code == CURLM_OK || error_fail(error, "libcurl: %s", curl_multi_strerror(code));
}

static bool run(struct sender *sender, struct error *error)
{
    while (!is_over(sender)) {
        if (process_interrupted())
            return error_fail(error, "interrupted");
        if (!turn(sender, error))
            return false;
        tick(sender);
    }
    return true;
}

static bool open_visits(struct sender *sender, struct error *error)
{
    sender->multi = curl_multi_init();
    sender->visits = calloc((size_t)sender->plan->connections, sizeof *sender->visits);
    if (!sender->multi || !sender->visits)
        return error_fail(error, "out of memory");
    curl_multi_setopt(sender->multi, CURLMOPT_MAXCONNECTS, (long)sender->plan->connections);
    for (int64_t i = 0; i < sender->plan->connections; i++) {
        if (!call_init(&sender->visits[i].call, &sender->plan->call, error))
            return false;
        curl_easy_setopt(sender->visits[i].call.easy, CURLOPT_PRIVATE, &sender->visits[i]);
    }
    return true;
}

static void close_visits(struct sender *sender)
{
    for (int64_t i = 0; sender->visits && i < sender->plan->connections; i++) {
        struct visit *visit = &sender->visits[i];
        if (visit->call.easy)
            curl_multi_remove_handle(sender->multi, visit->call.easy);
        call_fini(&visit->call);
        visit_fields_drop(&visit->fields);
    }
    while (sender->first) {
        struct again *again = sender->first;
        sender->first = again->next;
        visit_fields_drop(&again->fields);
        free(again);
    }
    free(sender->visits);
    curl_multi_cleanup(sender->multi);
}

bool send_load(const struct send_plan *plan, struct shop_history *history,
               struct json_lines *ledger, struct send_result *result, struct error *error)
{
    struct sender sender = {.plan = plan,
                            .history = history,
                            .ledger = ledger,
                            .result = result,
                            .random = random_begin(plan->seed, 0),
                            .has_key = shop_request_names(&plan->target->purchase, "key")};
    sender.last = &sender.first;
    *result = (struct send_result){.began_us = clock_mono_us()};
    if (is_open(&sender))
        arrivals_init(&sender.walk, &plan->arrivals);
    bool good = open_visits(&sender, error) && run(&sender, error);
    result->ended_us = clock_mono_us();
    int64_t lag_us = latency_quantile_us(&sender.lag, 0.99);
    result->late_us = lag_us > plan->lag_limit_us ? lag_us : 0;
    close_visits(&sender);
    return good;
}
