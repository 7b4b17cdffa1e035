/* See exchange.h. */
#include "loadtest/ledger/record/exchange.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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
        http_request_order_body(out->body,
                                &(struct http_order){op->product, strtoll(op->user, NULL, 10),
                                                     op->quantity, op->hold_s});
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

void exchange_read(struct ledger_asked *asked, const struct answer *answer)
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

void exchange_lose(struct ledger_op *op, bool sent)
{
    op->status = 0;
    op->result = sent ? LEDGER_INFO : LEDGER_FAIL;
    snprintf(op->code, sizeof op->code, "%s", sent ? "" : "not_sent");
}
