/* See ledger_write.h. */
#include "loadtest/ledger/ledger_write.h"

#include "base/clock.h"
#include "loadtest/base/pool.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct json_lines {
    FILE *to; /* owned */
    char path[1200];
    bool failed;
};

/* Takes the line; NULL is a line for which there was no memory. */
static void put(struct json_lines *lines, json_t *line)
{
    if (!line || json_dumpf(line, lines->to, JSON_COMPACT) != 0 || putc('\n', lines->to) == EOF)
        lines->failed = true;
    json_decref(line);
}

static void set_number(json_t *line, const char *name, int64_t value)
{
    json_object_set_new(line, name, json_integer(value));
}

/* A text that is NULL or empty has nothing to say, and is left out. */
static void set_text(json_t *line, const char *name, const char *value)
{
    if (value && *value)
        json_object_set_new(line, name, json_string(value));
}

bool json_lines_flush(struct json_lines *lines, struct error *error)
{
    if (fflush(lines->to) != 0 || ferror(lines->to))
        lines->failed = true;
    return !lines->failed || error_fail(error, "%s cannot be written: %s", lines->path,
                                        errno ? strerror(errno) : "out of memory");
}

bool json_lines_close(struct json_lines *lines, struct error *error)
{
    if (!lines)
        return true;
    bool good = json_lines_flush(lines, error);
    if (fclose(lines->to) != 0 && good)
        good = error_fail(error, "%s: %s", lines->path, strerror(errno));
    free(lines);
    return good;
}

/* Also when the file began, and by which clock its times are. */
static json_t *first_line(const struct ledger *ledger, const char *target)
{
    char began[CLOCK_RFC3339_LENGTH + 1];
    json_t *line = json_object();
    set_number(line, "ledger", LEDGER_FORMAT);
    set_number(line, "seed", ledger->seed);
    if (ledger->shop) {
        json_object_set_new(line, "shop", json_string(ledger->shop));
        set_text(line, "target", target);
        set_number(line, "connections", ledger->load.connections);
        set_number(line, "rate_per_s", ledger->load.rate_per_s);
    }
    clock_format_rfc3339(clock_wall_us(), began);
    set_text(line, "began", began);
    set_text(line, "clock", "CLOCK_MONOTONIC");
    return line;
}

struct json_lines *ledger_create(const char *path, const struct ledger *ledger, const char *target,
                                 struct error *error)
{
    struct json_lines *writer = memory_take(sizeof *writer);
    snprintf(writer->path, sizeof writer->path, "%s", path);
    writer->to = fopen(path, "we");
    if (!writer->to) {
        error_fail(error, "%s: %s", path, strerror(errno));
        free(writer);
        return NULL;
    }
    put(writer, first_line(ledger, target));
    for (size_t i = 0; i < ledger->products_count; i++)
        ledger_write_product(writer, &ledger->products[i]);
    return writer;
}

/* 0 has nothing to say, and is left out. */
static void set_count(json_t *line, const char *name, int64_t value)
{
    if (value)
        set_number(line, name, value);
}

void ledger_write_product(struct json_lines *writer, const struct ledger_product *product)
{
    json_t *line = json_object();
    set_number(line, "product", product->id);
    set_number(line, "stock", product->stock);
    set_count(line, "limit", product->limit);
    set_count(line, "epoch", product->epoch);
    put(writer, line);
}

void ledger_write_begin(struct json_lines *writer, const struct ledger_op *op)
{
    json_t *line = json_object();
    set_number(line, "op", op->number);
    set_text(line, "do", ledger_kind_name(op->kind));
    if (op->means || op->due_us)
        set_number(line, "due_us", op->due_us);
    set_number(line, "at_us", op->start_us);
    set_text(line, "user", op->user);
    set_count(line, "product", op->product);
    set_count(line, "quantity", op->quantity);
    set_count(line, "hold_s", op->hold_s);
    set_text(line, "key", op->key);
    if (op->repeat)
        json_object_set_new(line, "repeat", json_true());
    set_text(line, "strategy", op->strategy);
    if (op->kind != LEDGER_BUY)
        set_text(line, "order", op->order);
    put(writer, line);
}

/* What a shop's answer meant is one word for result, code and state. */
static void set_meaning(json_t *line, const struct ledger_op *op)
{
    if (op->unasked)
        json_object_set_new(line, "asked", json_false());
    else
        set_number(line, "sent_us", op->start_us);
    set_text(line, "is", shop_meaning_name(op->first));
    if (op->last != op->first)
        set_text(line, "became", shop_meaning_name(op->last));
}

static void set_result(json_t *line, const struct ledger_op *op)
{
    set_text(line, "is", ledger_result_name(op->result));
    set_text(line, "code", op->code);
    set_text(line, "state", ledger_state_name(op->state));
}

void ledger_write_end(struct json_lines *writer, const struct ledger_op *op)
{
    json_t *line = json_object();
    set_number(line, "op", op->number);
    if (op->end_us != LEDGER_NEVER)
        set_number(line, "end_us", op->end_us);
    if (op->means)
        set_meaning(line, op);
    else
        set_result(line, op);
    set_count(line, "status", op->status);
    set_text(line, "order", op->kind == LEDGER_BUY ? op->order : op->named);
    set_count(line, "fence", op->fence);
    put(writer, line);
}

void ledger_write_note(struct json_lines *writer, int64_t at_us, const char *text)
{
    json_t *line = json_object();
    set_text(line, "note", text);
    set_number(line, "at_us", at_us);
    put(writer, line);
}

void ledger_write_load(struct json_lines *writer, const struct ledger_load *load)
{
    json_t *line = json_object();
    set_number(line, "failures", (int64_t)load->failures);
    set_text(line, "first_failure", load->first_failure);
    set_number(line, "began_us", load->began_us);
    set_number(line, "ended_us", load->ended_us);
    set_count(line, "late_us", load->late_us);
    put(writer, line);
}

static void put_number(struct json_lines *writer, const char *name, int64_t value)
{
    json_t *line = json_object();
    set_number(line, name, value);
    put(writer, line);
}

void ledger_write_books(struct json_lines *writer, const struct rows *books)
{
    if (books->has_left)
        put_number(writer, "stock_left", books->left);
    if (books->has_orders)
        put_number(writer, "orders", (int64_t)books->orders_count);
    for (size_t i = 0; i < books->orders_count; i++) {
        const struct row_order *row = &books->orders[i];
        put(writer,
            json_pack("{s:[s?,s?,I]}", "row", row->id, row->user, (json_int_t)row->quantity));
    }
}

void ledger_write_done(struct json_lines *writer, int64_t at_us)
{
    json_t *line = json_object();
    json_object_set_new(line, "done", json_true());
    set_number(line, "at_us", at_us);
    put(writer, line);
}
