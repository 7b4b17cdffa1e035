/* See ledger_write.h. */
#include "loadtest/ledger/ledger_write.h"

struct json_lines *ledger_create(const char *path, int64_t seed, struct error *error)
{
    struct json_lines *writer = json_lines_create(path, error);
    if (!writer)
        return NULL;
    json_t *line = json_object();
    json_lines_set_number(line, "ledger", 1);
    json_lines_set_number(line, "seed", seed);
    json_lines_set_began(line);
    json_lines_put(writer, line);
    return writer;
}

void ledger_write_product(struct json_lines *writer, const struct ledger_product *product)
{
    json_t *line = json_object();
    json_lines_set_number(line, "product", product->id);
    json_lines_set_number(line, "stock", product->stock);
    if (product->limit)
        json_lines_set_number(line, "limit", product->limit);
    if (product->epoch)
        json_lines_set_number(line, "epoch", product->epoch);
    json_lines_put(writer, line);
}

void ledger_write_begin(struct json_lines *writer, const struct ledger_op *op)
{
    json_t *line = json_object();
    json_lines_set_number(line, "op", op->number);
    json_lines_set_text(line, "do", ledger_kind_name(op->kind));
    json_lines_set_number(line, "at_us", op->start_us);
    if (op->user)
        json_lines_set_number(line, "user", op->user);
    if (op->product)
        json_lines_set_number(line, "product", op->product);
    if (op->quantity)
        json_lines_set_number(line, "quantity", op->quantity);
    if (op->hold_s)
        json_lines_set_number(line, "hold_s", op->hold_s);
    json_lines_set_text(line, "key", op->key);
    json_lines_set_text(line, "strategy", op->strategy);
    if (op->kind != LEDGER_BUY)
        json_lines_set_text(line, "order", op->order);
    json_lines_put(writer, line);
}

void ledger_write_end(struct json_lines *writer, const struct ledger_op *op)
{
    json_t *line = json_object();
    json_lines_set_number(line, "op", op->number);
    json_lines_set_number(line, "end_us", op->end_us);
    json_lines_set_text(line, "is", ledger_result_name(op->result));
    if (op->status)
        json_lines_set_number(line, "status", op->status);
    json_lines_set_text(line, "code", op->code);
    json_lines_set_text(line, "order", op->kind == LEDGER_BUY ? op->order : op->named);
    json_lines_set_text(line, "state", ledger_state_name(op->state));
    if (op->fence)
        json_lines_set_number(line, "fence", op->fence);
    json_lines_put(writer, line);
}

void ledger_write_note(struct json_lines *writer, int64_t at_us, const char *text)
{
    json_t *line = json_object();
    json_lines_set_text(line, "note", text);
    json_lines_set_number(line, "at_us", at_us);
    json_lines_put(writer, line);
}

void ledger_write_done(struct json_lines *writer, int64_t at_us)
{
    json_t *line = json_object();
    json_object_set_new(line, "done", json_true());
    json_lines_set_number(line, "at_us", at_us);
    json_lines_put(writer, line);
}
