/* See recorder.h. Each turn first writes down what every free connection is about to send, hands
 * that to the kernel, and only then sends it. */
#include "loadtest/ledger/record/recorder.h"

#include "base/clock.h"
#include "loadtest/base/pool.h"
#include "loadtest/base/process.h"
#include "loadtest/base/random.h"
#include "loadtest/engine/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the mix --- */

/* In a hundred operations: so many buys, repeats of a key, cancels and restocks; the rest reads. */
enum { BUYS = 66, REPEATS = 12, CANCELS = 8, RESTOCKS = 4 };
enum { KEYED = 75, QUANTITY_MAX = 3 }; /* of a hundred buys; units of one */
enum { REMEMBERED = 512, WAITING_MAX = 1 << 16, LOOK_AGAIN_US = 20000 };
/* Between two looks at what is held; until a buyer pays; how far from the end of the hold those pay
 * who pay late; and of a hundred operations, payments of whatever order. */
enum { LOOK_AT_HELD_US = 200000, PAY_US = 50000, AROUND_US = 150000, PAYMENTS = 2 };

/* A buy that somebody may come back to. */
struct bought {
    int64_t user, product, quantity, hold_s;
    char key[48];
    char order[LEDGER_ID_SIZE];
};

struct waiting {
    struct bought bought;
    int64_t due_us;
};

/* A ring: what came first is due first, or stands in the way of what is due for a moment. */
struct waiting_list {
    struct waiting items[WAITING_MAX];
    size_t at, count;
};

/* Orders wait for a decision, for the end of a hold, or for a time to pay. */
enum waiting_for { FOR_DECISION, FOR_END, TO_PAY, TO_PAY_LATE, WAITING_LISTS };

struct mix {
    const struct mix_plan *plan; /* borrowed */
    struct random random;
    int64_t keys;
    struct bought orders[REMEMBERED], repeats[REMEMBERED]; /* rings */
    size_t orders_count, repeats_count;                    /* ever */
    struct waiting_list waiting[WAITING_LISTS];
    size_t forgotten;
};

/* How many accepted and held orders are not known to be decided. */
static size_t count_waiting(const struct mix *mix)
{
    return mix->waiting[FOR_DECISION].count + mix->waiting[FOR_END].count;
}

static void remember(struct bought *ring, size_t *count, const struct bought *bought)
{
    ring[(*count)++ % REMEMBERED] = *bought;
}

/* NULL: there is none yet. */
static const struct bought *recall(struct mix *mix, const struct bought *ring, size_t count)
{
    size_t there = count < REMEMBERED ? count : REMEMBERED;
    return there ? &ring[random_pick(&mix->random, (int64_t)there)] : NULL;
}

static void fill(struct ledger_asked *asked, enum ledger_kind kind, const struct bought *bought)
{
    struct ledger_op *op = &asked->op;
    bool buys = kind == LEDGER_BUY;
    op->kind = kind;
    op->product = bought->product;
    op->quantity = buys ? bought->quantity : 0;
    op->hold_s = buys ? bought->hold_s : 0;
    snprintf(asked->user, sizeof asked->user, "%" PRId64, bought->user);
    memcpy(asked->key, bought->key, sizeof asked->key);
    memcpy(asked->order, bought->order, sizeof asked->order);
    op->user = asked->user;
    op->key = buys && *asked->key ? asked->key : NULL;
    op->order = buys ? NULL : asked->order;
}

static void next_buy(struct mix *mix, struct ledger_asked *asked)
{
    struct bought bought = {
        .user = 1 + random_pick(&mix->random, mix->plan->users),
        .product = mix->plan->first_product + random_pick(&mix->random, mix->plan->products),
        .quantity =
            1 + (random_pick(&mix->random, 4) == 0 ? random_pick(&mix->random, QUANTITY_MAX) : 0)};
    if (mix->plan->holds > 0 && random_happens(&mix->random, mix->plan->holds))
        bought.hold_s = mix->plan->hold_s;
    if (random_happens(&mix->random, KEYED)) {
        snprintf(bought.key, sizeof bought.key, "%" PRId64 "-%" PRId64, mix->plan->seed,
                 ++mix->keys);
        remember(mix->repeats, &mix->repeats_count, &bought);
    }
    fill(asked, LEDGER_BUY, &bought);
}

static void next_restock(struct mix *mix, struct ledger_op *op)
{
    op->kind = LEDGER_RESTOCK;
    op->product = mix->plan->first_product + random_pick(&mix->random, mix->plan->products);
    op->quantity = 1 + random_pick(&mix->random, QUANTITY_MAX);
}

static bool next_waiting(struct mix *mix, enum waiting_for what, int64_t now_us,
                         enum ledger_kind kind, struct ledger_asked *asked)
{
    struct waiting_list *list = &mix->waiting[what];
    const struct waiting *first = &list->items[list->at];
    if (list->count == 0 || first->due_us > now_us)
        return false;
    list->at = (list->at + 1) % WAITING_MAX;
    list->count--;
    fill(asked, kind, &first->bought);
    return true;
}

static bool next_look(struct mix *mix, int64_t now_us, struct ledger_asked *asked)
{
    return next_waiting(mix, FOR_DECISION, now_us, LEDGER_READ, asked) ||
           next_waiting(mix, FOR_END, now_us, LEDGER_READ, asked);
}

static bool next_payment(struct mix *mix, int64_t now_us, struct ledger_asked *asked)
{
    return next_waiting(mix, TO_PAY, now_us, LEDGER_PAY, asked) ||
           next_waiting(mix, TO_PAY_LATE, now_us, LEDGER_PAY, asked);
}

/* Anything to one that was bought; a buy where there is none yet. */
static void next_to(struct mix *mix, enum ledger_kind kind, const struct bought *bought,
                    struct ledger_asked *asked)
{
    if (bought)
        fill(asked, kind, bought);
    else
        next_buy(mix, asked);
}

static void next_to_order(struct mix *mix, enum ledger_kind kind, struct ledger_asked *asked)
{
    next_to(mix, kind, recall(mix, mix->orders, mix->orders_count), asked);
}

/* By chance. What there is nothing of yet becomes a buy. */
static void next_any(struct mix *mix, int64_t now_us, struct ledger_asked *asked)
{
    int64_t which = random_pick(&mix->random, 100);
    if (which < BUYS)
        next_buy(mix, asked);
    else if (which < BUYS + REPEATS)
        next_to(mix, LEDGER_BUY, recall(mix, mix->repeats, mix->repeats_count), asked);
    else if (which < BUYS + REPEATS + CANCELS)
        next_to_order(mix, LEDGER_CANCEL, asked);
    else if (which < BUYS + REPEATS + CANCELS + RESTOCKS)
        next_restock(mix, &asked->op);
    else if (mix->plan->holds > 0 && which < BUYS + REPEATS + CANCELS + RESTOCKS + PAYMENTS)
        next_to_order(mix, LEDGER_PAY, asked);
    else if (!next_look(mix, now_us, asked))
        next_to_order(mix, LEDGER_READ, asked);
}

/* Everything of the next operation but its number and its beginning. With `reads` only what was
 * accepted is read. False: there is nothing to do now. */
static bool next_operation(struct mix *mix, int64_t now_us, bool reads, struct ledger_asked *asked)
{
    *asked = (struct ledger_asked){.op = {.end_us = LEDGER_NEVER}};
    snprintf(asked->op.strategy, sizeof asked->op.strategy, "%s", mix->plan->strategy);
    if (next_payment(mix, now_us, asked))
        return true;
    if (reads)
        return next_look(mix, now_us, asked);
    next_any(mix, now_us, asked);
    return true;
}

static void wait_for(struct mix *mix, enum waiting_for what, int64_t due_us,
                     const struct bought *bought)
{
    struct waiting_list *list = &mix->waiting[what];
    if (list->count == WAITING_MAX) {
        mix->forgotten++;
        return;
    }
    size_t at = (list->at + list->count++) % WAITING_MAX;
    list->items[at] = (struct waiting){*bought, due_us};
}

/* Whether it is to be paid, and when, is decided when it is bought. */
static void plan_payment(struct mix *mix, int64_t now_us, const struct bought *bought)
{
    const struct mix_plan *plan = mix->plan;
    int64_t fate = random_pick(&mix->random, 100),
            around_us = random_pick(&mix->random, 2 * (int64_t)AROUND_US);
    if (fate < plan->paid)
        wait_for(mix, TO_PAY, now_us + PAY_US, bought);
    else if (fate < plan->paid + plan->paid_late)
        wait_for(mix, TO_PAY_LATE, now_us + plan->hold_s * CLOCK_US_PER_S - AROUND_US + around_us,
                 bought);
}

static void learn(struct mix *mix, int64_t now_us, const struct ledger_op *op)
{
    struct bought bought = {.product = op->product, .quantity = op->quantity};
    bool bought_now = op->kind == LEDGER_BUY && op->result == LEDGER_OK;
    if (!op->order || op->kind == LEDGER_CANCEL || op->kind == LEDGER_PAY)
        return;
    bought.user = strtoll(op->user, NULL, 10);
    snprintf(bought.order, sizeof bought.order, "%s", op->order);
    if (bought_now)
        remember(mix->orders, &mix->orders_count, &bought);
    if (bought_now && op->hold_s && op->status != 200)
        plan_payment(mix, now_us, &bought);
    /* One whose read showed nothing is as unknown as before. */
    if (op->state == LEDGER_QUEUED ||
        (op->kind == LEDGER_READ && op->result != LEDGER_OK && op->status != 404))
        wait_for(mix, FOR_DECISION, now_us + LOOK_AGAIN_US, &bought);
    if (op->state == LEDGER_PENDING)
        wait_for(mix, FOR_END, now_us + LOOK_AT_HELD_US, &bought);
}

/* --- an operation as a request, and an answer as its end --- */

static void ask(const struct recorder_plan *plan, const struct ledger_op *op,
                struct http_request *out)
{
    *out = (struct http_request){.method = op->kind == LEDGER_READ ? "GET" : "POST"};
    if (op->kind == LEDGER_BUY) {
        http_request_order_target(out->target, sizeof out->target, op->strategy, plan->query);
        http_request_order_body(out->body,
                                &(struct http_order){op->product, strtoll(op->user, NULL, 10),
                                                     op->quantity, op->hold_s});
    } else if (op->kind == LEDGER_RESTOCK) {
        http_request_restock_target(out->target, sizeof out->target, op->product, op->strategy,
                                    plan->query);
        http_request_restock_body(out->body, op->quantity);
        out->token = plan->token;
    } else
        snprintf(out->target, sizeof out->target, "/orders/%s%s", op->order,
                 op->kind == LEDGER_CANCEL ? "/cancel"
                 : op->kind == LEDGER_PAY  ? "/pay"
                                           : "");
    if (op->key)
        snprintf(out->key, sizeof out->key, "%s", op->key);
}

static enum ledger_result result_of(int status, const char *code)
{
    if (status >= 200 && status <= 299)
        return LEDGER_OK;
    bool nothing_done = (status >= 400 && status <= 499) || (status == 503 && *code);
    return nothing_done ? LEDGER_FAIL : LEDGER_INFO;
}

/* The order of an answer is its "id", of a problem its "order_id". */
static void read_order(struct ledger_asked *asked, const struct answer_fields *fields)
{
    struct ledger_op *op = &asked->op;
    const char *id = op->result == LEDGER_OK ? fields->id : fields->order_id;
    int state = ledger_state_of(fields->status);
    if (op->kind == LEDGER_BUY && *id && strlen(id) < sizeof asked->order) {
        snprintf(asked->order, sizeof asked->order, "%.36s", id);
        op->order = asked->order;
    } else if (op->result == LEDGER_OK && op->order && *id && strcmp(op->order, id) != 0) {
        snprintf(asked->named, sizeof asked->named, "%.36s", id);
        op->named = asked->named;
    }
    if (op->result == LEDGER_OK && state > 0)
        op->state = (enum ledger_state)state;
}

void recorder_take(struct ledger_asked *asked, const struct answer *answer)
{
    struct ledger_op *op = &asked->op;
    struct answer_fields fields;
    answer_fields(answer, &fields);
    op->status = answer->status;
    snprintf(op->code, sizeof op->code, "%s", fields.code);
    op->result = result_of(op->status, op->code);
    read_order(asked, &fields);
    /* Sold, and nobody can say what: an answer that cannot be read is none. */
    if (op->kind == LEDGER_BUY && op->result == LEDGER_OK && !op->order)
        op->result = LEDGER_INFO;
}

/* There is no answer. Of a request that was not sent whole nothing can have been done. */
static void lose(struct ledger_op *op, bool sent)
{
    op->status = 0;
    op->result = sent ? LEDGER_INFO : LEDGER_FAIL;
    snprintf(op->code, sizeof op->code, "%s", sent ? "" : "not_sent");
}

/* --- the recording --- */

enum { REST_US = 50000 };

/* A connection's operation, until it is over. */
struct slot {
    struct ledger_asked asked;
    int64_t rest_until_us;
};

struct recorder {
    const struct recorder_plan *plan; /* borrowed, as the two below */
    struct json_lines *writer;
    struct recorder_result *result;
    struct slot *slots; /* owned: by connection */
    struct mix *mix;    /* owned */
    int64_t until_us, give_up_us;
};

static bool is_time_over(const struct recorder *recorder, int64_t now_us)
{
    int64_t most = recorder->plan->operations;
    return now_us >= recorder->until_us || process_asked() ||
           (most && recorder->result->operations >= most);
}

static enum engine_next next(void *self, size_t connection, int64_t now_us,
                             struct http_request *request)
{
    struct recorder *recorder = self;
    struct slot *slot = &recorder->slots[connection];
    if (slot->rest_until_us > now_us)
        return ENGINE_PASSES;
    if (now_us >= recorder->give_up_us ||
        !next_operation(recorder->mix, now_us, is_time_over(recorder, now_us), &slot->asked))
        return ENGINE_RESTS;
    slot->asked.op.number = ++recorder->result->operations;
    slot->asked.op.start_us = now_us;
    ledger_write_begin(recorder->writer, &slot->asked.op);
    ask(recorder->plan, &slot->asked.op, request);
    return ENGINE_ASKS;
}

static bool commit(void *self, struct error *error)
{
    return json_lines_flush(((struct recorder *)self)->writer, error);
}

static void answered(void *self, size_t connection, int64_t now_us, const struct answer *answer)
{
    struct recorder *recorder = self;
    struct slot *slot = &recorder->slots[connection];
    struct ledger_op *op = &slot->asked.op;
    if (answer->status)
        recorder_take(&slot->asked, answer);
    else
        lose(op, !answer->unsent);
    op->end_us = now_us;
    ledger_write_end(recorder->writer, op);
    learn(recorder->mix, now_us, op);
    recorder->result->answered += op->status != 0;
    if (op->status == 0 || op->status >= 500)
        slot->rest_until_us = now_us + REST_US;
}

static bool begin(void *self, int64_t now_us, struct error *error)
{
    struct recorder *recorder = self;
    (void)error;
    recorder->until_us = now_us + recorder->plan->duration_us;
    recorder->give_up_us = recorder->until_us + recorder->plan->settle_us;
    return true;
}

/* Until the time is over, nothing is under way, and nothing accepted is left to be read. */
static bool is_over(void *self, size_t busy, int64_t now_us)
{
    const struct recorder *recorder = self;
    bool settles = count_waiting(recorder->mix) > 0 && now_us < recorder->give_up_us;
    return is_time_over(recorder, now_us) && busy == 0 && !settles;
}

static bool drive(struct recorder *recorder, struct error *error)
{
    static const struct behaviour behaviour = {
        .next = next, .answered = answered, .is_over = is_over, .begin = begin, .commit = commit};
    const struct recorder_plan *plan = recorder->plan;
    const struct plain_plan plain = {.behaviour = &behaviour,
                                     .self = recorder,
                                     .connections = (size_t)plan->connections,
                                     .servers = plan->targets,
                                     .servers_count = plan->targets_count};
    recorder->mix = memory_take(sizeof *recorder->mix);
    recorder->slots = memory_take(plain.connections * sizeof *recorder->slots);
    recorder->mix->plan = &plan->mix;
    recorder->mix->random = random_begin(plan->mix.seed, 0);
    if (!plain_run(&plain, error))
        return false;
    recorder->result->undecided = count_waiting(recorder->mix) + recorder->mix->forgotten;
    ledger_write_done(recorder->writer, clock_mono_us());
    return json_lines_flush(recorder->writer, error);
}

bool recorder_run(const struct recorder_plan *plan, struct json_lines *writer,
                  struct recorder_result *result, struct error *error)
{
    struct recorder recorder = {.plan = plan, .writer = writer, .result = result};
    *result = (struct recorder_result){0};
    bool made = drive(&recorder, error);
    free(recorder.slots);
    free(recorder.mix);
    return made;
}
