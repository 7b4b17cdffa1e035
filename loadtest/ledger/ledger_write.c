/* See ledger_write.h. */
#include "loadtest/ledger/ledger_write.h"

static json_t *first_line(const struct ledger *ledger, const char *target)
{
    json_t *line = json_object();
    json_lines_set_number(line, "ledger", LEDGER_FORMAT);
    json_lines_set_number(line, "seed", ledger->seed);
    if (ledger->shop) {
        json_object_set_new(line, "shop", json_string(ledger->shop));
        json_lines_set_text(line, "target", target);
        json_lines_set_number(line, "connections", ledger->load.connections);
        json_lines_set_number(line, "rate_per_s", ledger->load.rate_per_s);
    }
    json_lines_set_began(line);
    return line;
}

struct json_lines *ledger_create(const char *path, const struct ledger *ledger, const char *target,
                                 struct error *error)
{
    struct json_lines *writer = json_lines_create(path, error);
    if (!writer)
        return NULL;
    json_lines_put(writer, first_line(ledger, target));
    for (size_t i = 0; i < ledger->products_count; i++)
        ledger_write_product(writer, &ledger->products[i]);
    return writer;
}

/* 0 has nothing to say, and is left out. */
static void set_count(json_t *line, const char *name, int64_t value)
{
    if (value)
        json_lines_set_number(line, name, value);
}

static void set_true(json_t *line, const char *name, bool is)
{
    if (is)
        json_object_set_new(line, name, json_true());
}

void ledger_write_product(struct json_lines *writer, const struct ledger_product *product)
{
    json_t *line = json_object();
    json_lines_set_number(line, "product", product->id);
    json_lines_set_number(line, "stock", product->stock);
    set_count(line, "limit", product->limit);
    set_count(line, "epoch", product->epoch);
    json_lines_put(writer, line);
}

void ledger_write_begin(struct json_lines *writer, const struct ledger_op *op)
{
    json_t *line = json_object();
    json_lines_set_number(line, "op", op->number);
    json_lines_set_text(line, "do", ledger_kind_name(op->kind));
    if (op->means || op->due_us)
        json_lines_set_number(line, "due_us", op->due_us);
    json_lines_set_number(line, "at_us", op->start_us);
    json_lines_set_text(line, "user", op->user);
    set_count(line, "product", op->product);
    set_count(line, "quantity", op->quantity);
    set_count(line, "hold_s", op->hold_s);
    json_lines_set_text(line, "key", op->key);
    set_true(line, "repeat", op->repeat);
    json_lines_set_text(line, "strategy", op->strategy);
    if (op->kind != LEDGER_BUY)
        json_lines_set_text(line, "order", op->order);
    json_lines_put(writer, line);
}

/* What a shop's answer meant is one word for result, code and state. */
static void set_meaning(json_t *line, const struct ledger_op *op)
{
    if (op->unasked)
        json_object_set_new(line, "asked", json_false());
    else
        json_lines_set_number(line, "sent_us", op->start_us);
    json_lines_set_text(line, "is", shop_meaning_name(op->first));
    if (op->last != op->first)
        json_lines_set_text(line, "became", shop_meaning_name(op->last));
}

static void set_result(json_t *line, const struct ledger_op *op)
{
    json_lines_set_text(line, "is", ledger_result_name(op->result));
    json_lines_set_text(line, "code", op->code);
    json_lines_set_text(line, "state", ledger_state_name(op->state));
}

void ledger_write_end(struct json_lines *writer, const struct ledger_op *op)
{
    json_t *line = json_object();
    json_lines_set_number(line, "op", op->number);
    if (op->end_us != LEDGER_NEVER)
        json_lines_set_number(line, "end_us", op->end_us);
    if (op->means)
        set_meaning(line, op);
    else
        set_result(line, op);
    set_count(line, "status", op->status);
    json_lines_set_text(line, "order", op->kind == LEDGER_BUY ? op->order : op->named);
    set_count(line, "fence", op->fence);
    json_lines_put(writer, line);
}

void ledger_write_note(struct json_lines *writer, int64_t at_us, const char *text)
{
    json_t *line = json_object();
    json_lines_set_text(line, "note", text);
    json_lines_set_number(line, "at_us", at_us);
    json_lines_put(writer, line);
}

void ledger_write_load(struct json_lines *writer, const struct ledger_load *load)
{
    json_t *line = json_object();
    json_lines_set_number(line, "failures", (int64_t)load->failures);
    json_lines_set_text(line, "first_failure", load->first_failure);
    json_lines_set_number(line, "began_us", load->began_us);
    json_lines_set_number(line, "ended_us", load->ended_us);
    set_count(line, "late_us", load->late_us);
    json_lines_put(writer, line);
}

static void put_number(struct json_lines *writer, const char *name, int64_t value)
{
    json_t *line = json_object();
    json_lines_set_number(line, name, value);
    json_lines_put(writer, line);
}

void ledger_write_books(struct json_lines *writer, const struct rows *books)
{
    if (books->has_left)
        put_number(writer, "stock_left", books->left);
    if (books->has_orders)
        put_number(writer, "orders", (int64_t)books->orders_count);
    for (size_t i = 0; i < books->orders_count; i++) {
        const struct row_order *row = &books->orders[i];
        json_lines_put(writer, json_pack("{s:[s?,s?,I]}", "row", row->id, row->user,
                                         (json_int_t)row->quantity));
    }
}

void ledger_write_done(struct json_lines *writer, int64_t at_us)
{
    json_t *line = json_object();
    json_object_set_new(line, "done", json_true());
    json_lines_set_number(line, "at_us", at_us);
    json_lines_put(writer, line);
}
