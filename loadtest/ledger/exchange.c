/* See exchange.h. */
#include "loadtest/ledger/exchange.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { TARGET_BYTES = 300, BODY_BYTES = 160, HEADERS_BYTES = 400 };

static void write_target(const struct exchange *exchange, const struct ledger_op *op,
                         char out[TARGET_BYTES])
{
    switch (op->kind) {
    case LEDGER_BUY:
        snprintf(out, TARGET_BYTES, "/orders?strategy=%s%s", op->strategy, exchange->query);
        break;
    case LEDGER_RESTOCK:
        snprintf(out, TARGET_BYTES, "/products/%" PRId64 "/restock?strategy=%s%s", op->product,
                 op->strategy, exchange->query);
        break;
    case LEDGER_CANCEL:
        snprintf(out, TARGET_BYTES, "/orders/%s/cancel", op->order);
        break;
    case LEDGER_PAY:
        snprintf(out, TARGET_BYTES, "/orders/%s/pay", op->order);
        break;
    default:
        snprintf(out, TARGET_BYTES, "/orders/%s", op->order);
        break;
    }
}

/* What names no hold is the product's own or the server's to decide. */
static void write_buy(const struct ledger_op *op, char out[BODY_BYTES])
{
    char hold[40] = "";
    if (op->hold_s)
        snprintf(hold, sizeof hold, ",\"hold_s\":%" PRId64, op->hold_s);
    snprintf(out, BODY_BYTES,
             "{\"product_id\":%" PRId64 ",\"user_id\":%" PRId64 ",\"quantity\":%" PRId64 "%s}",
             op->product, op->user, op->quantity, hold);
}

static void write_body(const struct ledger_op *op, char out[BODY_BYTES])
{
    *out = '\0';
    if (op->kind == LEDGER_BUY)
        write_buy(op, out);
    else if (op->kind == LEDGER_RESTOCK)
        snprintf(out, BODY_BYTES, "{\"quantity\":%" PRId64 "}", op->quantity);
}

size_t exchange_write(const struct exchange *exchange, const struct ledger_op *op,
                      const char *authority, char out[CLIENT_REQUEST_BYTES])
{
    char target[TARGET_BYTES], body[BODY_BYTES], headers[HEADERS_BYTES] = "";
    size_t used = 0;
    write_target(exchange, op, target);
    write_body(op, body);
    if (op->key)
        used = (size_t)snprintf(headers, sizeof headers, "Idempotency-Key: %.64s\r\n", op->key);
    if (op->kind == LEDGER_RESTOCK && *exchange->token)
        snprintf(headers + used, sizeof headers - used, "Authorization: Bearer %.250s\r\n",
                 exchange->token);
    int length = snprintf(out, CLIENT_REQUEST_BYTES,
                          "%s %s HTTP/1.1\r\nHost: %.128s\r\n%sContent-Length: %zu\r\n\r\n%s",
                          op->kind == LEDGER_READ ? "GET" : "POST", target, authority, headers,
                          strlen(body), body);
    return length < CLIENT_REQUEST_BYTES ? (size_t)length : CLIENT_REQUEST_BYTES - 1;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static enum ledger_result result_of(int status, const char *code)
{
    if (status >= 200 && status <= 299)
        return LEDGER_OK;
    bool nothing_done = (status >= 400 && status <= 499) || (status == 503 && *code);
    return nothing_done ? LEDGER_FAIL : LEDGER_INFO;
}

/* The order of an answer is its "id", of a problem its "order_id". */
static void read_order(struct ledger_op *op, const json_t *body)
{
    const char *id = text_of(body, op->result == LEDGER_OK ? "id" : "order_id");
    int state = ledger_state_of(text_of(body, "status"));
    if (op->kind == LEDGER_BUY && strlen(id) < sizeof op->order)
        snprintf(op->order, sizeof op->order, "%s", id);
    else if (op->result == LEDGER_OK)
        ledger_take_named(op, id);
    if (op->result == LEDGER_OK && state > 0)
        op->state = (enum ledger_state)state;
}

void exchange_read(struct ledger_op *op, const struct answer *answer)
{
    json_error_t fault;
    json_t *body = json_loadb(answer->body, answer->body_length, 0, &fault);
    op->status = answer->status;
    snprintf(op->code, sizeof op->code, "%s", text_of(body, "code"));
    op->result = result_of(op->status, op->code);
    read_order(op, body);
    json_decref(body);
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
