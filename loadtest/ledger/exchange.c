/* See exchange.h. */
#include "loadtest/ledger/exchange.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void write_target(const struct exchange *exchange, const struct ledger_op *op,
                         char out[REQUEST_TARGET_SIZE])
{
    switch (op->kind) {
    case LEDGER_BUY:
        http_request_order_target(out, REQUEST_TARGET_SIZE, op->strategy, exchange->query);
        break;
    case LEDGER_RESTOCK:
        http_request_restock_target(out, REQUEST_TARGET_SIZE, op->product, op->strategy,
                                    exchange->query);
        break;
    case LEDGER_CANCEL:
        snprintf(out, REQUEST_TARGET_SIZE, "/orders/%s/cancel", op->order);
        break;
    case LEDGER_PAY:
        snprintf(out, REQUEST_TARGET_SIZE, "/orders/%s/pay", op->order);
        break;
    default:
        snprintf(out, REQUEST_TARGET_SIZE, "/orders/%s", op->order);
        break;
    }
}

void exchange_ask(const struct exchange *exchange, const struct ledger_op *op,
                  struct http_request *out)
{
    *out = (struct http_request){.method = op->kind == LEDGER_READ ? "GET" : "POST"};
    write_target(exchange, op, out->target);
    if (op->kind == LEDGER_BUY)
        http_request_order_body(
            out->body, &(struct http_order){op->product, op->user, op->quantity, op->hold_s});
    if (op->kind == LEDGER_RESTOCK) {
        http_request_restock_body(out->body, op->quantity);
        out->token = exchange->token;
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
static void read_order(struct ledger_op *op, const struct answer_fields *fields)
{
    const char *id = op->result == LEDGER_OK ? fields->id : fields->order_id;
    int state = ledger_state_of(fields->status);
    if (op->kind == LEDGER_BUY && strlen(id) < sizeof op->order)
        snprintf(op->order, sizeof op->order, "%.36s", id);
    else if (op->result == LEDGER_OK)
        ledger_take_named(op, id);
    if (op->result == LEDGER_OK && state > 0)
        op->state = (enum ledger_state)state;
}

void exchange_read(struct ledger_op *op, const struct answer *answer)
{
    struct answer_fields fields;
    answer_fields(answer, &fields);
    op->status = answer->status;
    snprintf(op->code, sizeof op->code, "%s", fields.code);
    op->result = result_of(op->status, op->code);
    read_order(op, &fields);
    /* Sold, and nobody can say what: an answer that cannot be read is none. */
    if (op->kind == LEDGER_BUY && op->result == LEDGER_OK && !*op->order)
        op->result = LEDGER_INFO;
}

void exchange_lose(struct ledger_op *op, bool sent)
{
    op->status = 0;
    op->result = sent ? LEDGER_INFO : LEDGER_FAIL;
    snprintf(op->code, sizeof op->code, "%s", sent ? "" : "not_sent");
}
