/* See recorder.h. Each turn first writes down what every free connection is about to send, hands
 * that to the kernel, and only then sends it. */
#include "loadtest/ledger/record/recorder.h"

#include "base/clock.h"
#include "loadtest/base/process.h"
#include "loadtest/engine/plain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void write_target(const struct recorder_plan *plan, const struct ledger_op *op,
                         char out[REQUEST_TARGET_SIZE])
{
    if (op->kind == LEDGER_BUY)
        http_request_order_target(out, REQUEST_TARGET_SIZE, op->strategy, plan->query);
    else if (op->kind == LEDGER_RESTOCK)
        http_request_restock_target(out, REQUEST_TARGET_SIZE, op->product, op->strategy,
                                    plan->query);
    else
        snprintf(out, REQUEST_TARGET_SIZE, "/orders/%s%s", op->order,
                 op->kind == LEDGER_CANCEL ? "/cancel"
                 : op->kind == LEDGER_PAY  ? "/pay"
                                           : "");
}

static void ask(const struct recorder_plan *plan, const struct ledger_op *op,
                struct http_request *out)
{
    *out = (struct http_request){.method = op->kind == LEDGER_READ ? "GET" : "POST"};
    write_target(plan, op, out->target);
    if (op->kind == LEDGER_BUY)
        http_request_order_body(out->body,
                                &(struct http_order){op->product, strtoll(op->user, NULL, 10),
                                                     op->quantity, op->hold_s});
    if (op->kind == LEDGER_RESTOCK) {
        http_request_restock_body(out->body, op->quantity);
        out->token = plan->token;
    }
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
        !mix_next(recorder->mix, now_us, is_time_over(recorder, now_us), &slot->asked))
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
    mix_learn(recorder->mix, now_us, op);
    recorder->result->answered += op->status != 0;
    if (op->status == 0)
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
    bool settles = mix_waiting(recorder->mix) > 0 && now_us < recorder->give_up_us;
    return is_time_over(recorder, now_us) && busy == 0 && !settles;
}

static bool drive(struct recorder *recorder, struct error *error)
{
    static const struct behaviour behaviour = {
        .next = next, .answered = answered, .is_over = is_over, .begin = begin, .commit = commit};
    const struct recorder_plan *plan = recorder->plan;
    const struct plain_plan plain = {.servers = plan->targets,
                                     .servers_count = plan->targets_count};
    struct engine_plan engine = {
        .behaviour = &behaviour, .self = recorder, .connections = (size_t)plan->connections};
    recorder->mix = mix_create(&plan->mix);
    recorder->slots = calloc(engine.connections, sizeof *recorder->slots);
    if (!recorder->mix || !recorder->slots)
        return error_fail(error, "out of memory");
    if (!plain_run(&plain, &engine, error))
        return false;
    recorder->result->undecided = mix_waiting(recorder->mix) + mix_forgotten(recorder->mix);
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
    mix_destroy(recorder.mix);
    return made;
}
