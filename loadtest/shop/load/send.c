/* See send.h. */
#include "loadtest/shop/load/send.h"

#include "base/clock.h"
#include "base/random/uuid.h"
#include "loadtest/base/pool.h"
#include "loadtest/engine/curl_wire.h"
#include "loadtest/load/latency.h"
#include "loadtest/shop/load/visit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* LIMIT_US: curl has its own time limit, which is over before. */
enum { LEAST_BUYERS = 300, STOCKS = 3 };
enum { TICK_US = 200000, BEYOND_EVERY = 10, LIMIT_US = 10000000 };

/* A purchase that is to be sent again, or another of the same user. */
struct again {
    struct again *next;
    struct visit_fields fields;
    int64_t bought; /* another one: the user has been told `sold` so often; 0: the same again */
};

struct sender {
    const struct sale_plan *plan; /* borrowed, as the three below */
    const struct shop_users *users;
    struct ledger *ledger;
    struct json_lines *writer;
    int64_t buyers; /* of a closed load */
    struct curl_wire wire;
    struct visit *visits;          /* owned: by connection */
    CURL **handles;                /* owned; each is its visit's */
    struct arrivals_plan arrivals; /* of an open load */
    struct arrivals walk;
    int64_t begun;                    /* purchases, without repeats */
    size_t repeats, busy, first_ones; /* users who were told `sold` for the first time */
    struct again *first, **last;      /* owned */
    struct random random;
    bool has_key; /* the purchase says {key} */
    int64_t ticked_us;
    struct latency lag; /* from when a purchase was due, or the load had time for it */
};

/* One that no other run has. */
static void set_key(struct visit_fields *fields)
{
    char key[UUID_TEXT_LENGTH + 1];
    const struct uuid id = uuid_v7(clock_wall_us());
    uuid_format(&id, key);
    visit_fields_set(fields, "key", key);
}

/* A user's fields. */
static void set_fields(const struct sender *sender, struct visit_fields *fields)
{
    char number[24], product[24];
    const struct shop_users *users = sender->users;
    snprintf(product, sizeof product, "%" PRId64, sender->plan->target->product);
    visit_fields_set(fields, "product", product);
    set_key(fields);
    for (size_t i = 0; i < users->columns; i++)
        visit_fields_set(fields, users->names[i],
                         users_value(users, sender->begun, users->names[i], number));
}

static struct ledger_op *purchase_of(const struct sender *sender, const struct visit *visit)
{
    return &sender->ledger->ops[visit->number];
}

static void record(struct sender *sender, struct visit *visit, bool repeat, int64_t due_us)
{
    struct ledger_op op = {
        .number = (int64_t)sender->ledger->ops_count + 1,
        .kind = LEDGER_BUY,
        .due_us = due_us,
        .start_us = clock_mono_us(),
        .end_us = LEDGER_NEVER,
        .user = memory_copy(visit_fields_get(&visit->fields, "user")),
        .key = sender->has_key ? memory_copy(visit_fields_get(&visit->fields, "key")) : NULL,
        .repeat = repeat,
        .unasked = true};
    visit->number = sender->ledger->ops_count;
    ledger_op_means(&op, SHOP_UNKNOWN);
    ledger_write_begin(sender->writer, ledger_add_op(sender->ledger, &op));
}

/* Puts the same purchase, or another of the same user, at the end of those that wait. */
static void queue_again(struct sender *sender, const struct visit *visit, int64_t bought)
{
    struct again *again = memory_take(sizeof *again);
    visit_fields_copy(&again->fields, &visit->fields);
    again->bought = bought;
    if (bought > 0)
        set_key(&again->fields);
    else
        curl_easy_getinfo(visit->easy, CURLINFO_COOKIELIST, &again->fields.cookies);
    *sender->last = again;
    sender->last = &again->next;
}

/* Every tenth of those who have bought, the first among them, asks for one more than the limit. */
static void go_beyond_limit(struct sender *sender, const struct visit *visit)
{
    const struct ledger_op *purchase = purchase_of(sender, visit);
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
    sender->ledger->load.answered += purchase_of(sender, visit)->end_us != LEDGER_NEVER;
    ledger_write_end(sender->writer, purchase_of(sender, visit));
    visit_fields_drop(&visit->fields);
}

/* After each step of a visit: what went wrong is noted, and what is over ends. */
static void settle(struct sender *sender, struct visit *visit)
{
    struct ledger_load *load = &sender->ledger->load;
    if (*visit->error.text && load->failures++ == 0)
        snprintf(load->first_failure, sizeof load->first_failure, "%.390s", visit->error.text);
    if (visit->state == VISIT_IDLE)
        finish(sender, visit);
}

/* Begins a purchase whose fields are set. */
static void begin(struct sender *sender, struct visit *visit, bool repeat, int64_t due_us)
{
    record(sender, visit, repeat, due_us);
    sender->busy++;
    visit_begin(visit, purchase_of(sender, visit));
    settle(sender, visit);
}

static void begin_again(struct sender *sender, struct visit *visit)
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
    begin(sender, visit, repeat, clock_mono_us());
}

static void begin_new(struct sender *sender, struct visit *visit, int64_t due_us)
{
    bool repeats = random_unit(&sender->random) < sender->plan->target->repeats;
    visit->doubles = repeats && sender->repeats % 2 == 0;
    visit->comes_back = repeats && sender->repeats % 2 == 1;
    sender->repeats += repeats;
    visit->bought = 0;
    set_fields(sender, &visit->fields);
    sender->begun++;
    begin(sender, visit, false, due_us);
}

static bool is_open(const struct sender *sender)
{
    return sender->plan->rate_per_s > 0;
}

/* The first buyer is alone until the limit has said no, or a crowd would have the stock before.
 * Where that would take much of it, nobody waits. */
static bool waits_for_first(const struct sender *sender)
{
    const struct target *target = sender->plan->target;
    return target->limit > 0 && target->stock / BEYOND_EVERY >= target->limit &&
           sender->begun == 1 && (sender->busy > 0 || sender->first);
}

/* When the next new purchase is due; INT64_MAX: none is to come now. */
static int64_t new_due_us(const struct sender *sender)
{
    if (is_open(sender))
        return sender->walk.ended ? INT64_MAX : sender->ledger->load.began_us + sender->walk.at_us;
    return sender->begun < sender->buyers && !waits_for_first(sender) ? 0 : INT64_MAX;
}

static bool is_over(void *self, size_t busy, int64_t now_us)
{
    const struct sender *sender = self;
    (void)busy, (void)now_us;
    return new_due_us(sender) == INT64_MAX && !sender->first && sender->busy == 0;
}

/* What waits for a connection while the load itself has nothing to do waits for the shop. */
static void take_due(struct sender *sender, int64_t due_us)
{
    int64_t from_us = due_us > sender->wire.idle_us ? due_us : sender->wire.idle_us;
    latency_add(&sender->lag, clock_mono_us() - from_us);
    arrivals_next(&sender->walk);
}

/* Gives an idle connection something to do. */
static void begin_due(struct sender *sender, struct visit *visit)
{
    int64_t now_us = clock_mono_us(), due_us = new_due_us(sender);
    if (sender->first) {
        begin_again(sender, visit);
    } else if (due_us <= now_us) {
        if (is_open(sender))
            take_due(sender, due_us);
        begin_new(sender, visit, is_open(sender) ? due_us : now_us);
    }
}

static enum engine_next next(void *self, size_t connection, int64_t now_us,
                             struct http_request *request)
{
    struct sender *sender = self;
    struct visit *visit = &sender->visits[connection];
    (void)request; /* the visit has it */
    if (visit->state == VISIT_RESTING && visit->rest_until_us <= now_us) {
        visit_ask(visit);
        settle(sender, visit);
    } else if (visit->state == VISIT_IDLE) {
        begin_due(sender, visit);
    }
    if (!visit->ready)
        return ENGINE_PASSES;
    visit->ready = false;
    if (visit->state == VISIT_BUYING && visit->doubles) {
        visit->doubles = false;
        queue_again(sender, visit, 0);
    }
    return ENGINE_ASKS;
}

static void answered(void *self, size_t connection, int64_t now_us, const struct answer *answer)
{
    struct sender *sender = self;
    struct visit *visit = &sender->visits[connection];
    bool bought = visit->state == VISIT_BUYING;
    (void)now_us, (void)answer; /* the visit has it */
    visit_answered(visit, purchase_of(sender, visit), sender->wire.result);
    if (bought && visit->comes_back)
        queue_again(sender, visit, 0);
    settle(sender, visit);
}

/* When a visit goes on, or the next one is due. */
static int64_t due_us(void *self, bool *crowded)
{
    const struct sender *sender = self;
    int64_t until_us = INT64_MAX;
    bool idle = false;
    *crowded = false;
    for (int64_t i = 0; i < sender->plan->connections; i++) {
        const struct visit *visit = &sender->visits[i];
        if (visit->ready)
            return 0;
        idle |= visit->state == VISIT_IDLE;
        if (visit->state == VISIT_RESTING && visit->rest_until_us < until_us)
            until_us = visit->rest_until_us;
    }
    int64_t new_us = sender->first ? 0 : new_due_us(sender);
    return idle && new_us < until_us ? new_us : until_us;
}

/* Each purchase stands in the ledger's file before the shop hears of it. */
static bool commit(void *self, struct error *error)
{
    return json_lines_flush(((struct sender *)self)->writer, error);
}

static bool tick(void *self, int64_t now_us, struct error *error)
{
    struct sender *sender = self;
    if (sender->plan->tick && now_us - sender->ticked_us >= TICK_US) {
        sender->ticked_us = now_us;
        sender->plan->tick(sender->plan->context, sender->ledger->load.answered);
    }
    return commit(sender, error);
}

static bool open_visits(struct sender *sender, struct error *error)
{
    size_t count = (size_t)sender->plan->connections;
    sender->visits = memory_take(count * sizeof *sender->visits);
    sender->handles = memory_take(count * sizeof(CURL *));
    for (size_t i = 0; i < count; i++) {
        if (!visit_init(&sender->visits[i], sender->plan->target, sender->plan->timeout_ms,
                        sender->plan->ca_file, error))
            return false;
        sender->handles[i] = sender->visits[i].easy;
    }
    return curl_wire_init(&sender->wire, sender->handles, count, error);
}

static void close_visits(struct sender *sender)
{
    curl_wire_fini(&sender->wire);
    for (int64_t i = 0; i < sender->plan->connections; i++)
        visit_fini(&sender->visits[i]);
    while (sender->first) {
        struct again *again = sender->first;
        sender->first = again->next;
        visit_fields_drop(&again->fields);
        free(again);
    }
    free(sender->visits);
    free(sender->handles);
}

static bool run(struct sender *sender, struct error *error)
{
    static const struct behaviour behaviour = {.next = next,
                                               .answered = answered,
                                               .is_over = is_over,
                                               .commit = commit,
                                               .tick = tick,
                                               .due_us = due_us};
    const struct engine_plan plan = {.behaviour = &behaviour,
                                     .self = sender,
                                     .wire = &wire_curl,
                                     .wire_self = &sender->wire,
                                     .connections = (size_t)sender->plan->connections,
                                     .limit_us =
                                         sender->plan->timeout_ms * CLOCK_US_PER_MS + LIMIT_US};
    return engine_run(&plan, error);
}

static int64_t buyers_of(const struct sale_plan *plan)
{
    int64_t stocks = plan->target->stock * STOCKS;
    return plan->buyers > 0 ? plan->buyers : stocks > LEAST_BUYERS ? stocks : LEAST_BUYERS;
}

bool send_load(const struct sale_plan *plan, const struct shop_users *users, struct ledger *ledger,
               struct json_lines *writer, struct error *error)
{
    struct sender sender = {
        .plan = plan,
        .users = users,
        .ledger = ledger,
        .writer = writer,
        .buyers = buyers_of(plan),
        .arrivals = {.kind = plan->arrivals,
                     .seed = plan->seed,
                     .parts = {{"sale", (double)plan->rate_per_s, plan->duration_us}},
                     .parts_count = 1},
        .random = random_begin(plan->seed, 0),
        .has_key = shop_request_names(&plan->target->purchase, "key")};
    sender.last = &sender.first;
    ledger->load.began_us = clock_mono_us();
    if (is_open(&sender))
        arrivals_init(&sender.walk, &sender.arrivals);
    bool good = open_visits(&sender, error) && run(&sender, error);
    ledger->load.ended_us = clock_mono_us();
    int64_t lag_us = latency_quantile_us(&sender.lag, 0.99);
    ledger->load.late_us = lag_us > plan->max_lag_ms * CLOCK_US_PER_MS ? lag_us : 0;
    close_visits(&sender);
    return good;
}
