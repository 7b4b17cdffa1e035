/* See ledger_write.h. */
#include "loadtest/ledger/ledger_write.h"

#include "base/clock.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ledger_writer {
    FILE *to; /* owned */
    char path[1200];
    bool failed;
};

/* Takes the line. */
static void put_line(struct ledger_writer *writer, json_t *line)
{
    if (!line || json_dumpf(line, writer->to, JSON_COMPACT) != 0 || putc('\n', writer->to) == EOF)
        writer->failed = true;
    json_decref(line);
}

static void set_number(json_t *line, const char *name, int64_t value)
{
    json_object_set_new(line, name, json_integer(value));
}

/* What has nothing to say is left out. */
static void set_text(json_t *line, const char *name, const char *value)
{
    if (value && *value)
        json_object_set_new(line, name, json_string(value));
}

struct ledger_writer *ledger_create(const char *path, int64_t seed, struct error *error)
{
    char began[CLOCK_RFC3339_LENGTH + 1];
    struct ledger_writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        error_fail(error, "out of memory");
        return NULL;
    }
    snprintf(writer->path, sizeof writer->path, "%s", path);
    writer->to = fopen(path, "we");
    if (!writer->to) {
        error_fail(error, "%s: %s", path, strerror(errno));
        free(writer);
        return NULL;
    }
    json_t *line = json_object();
    clock_format_rfc3339(clock_wall_us(), began);
    set_number(line, "ledger", 1);
    set_number(line, "seed", seed);
    set_text(line, "began", began);
    set_text(line, "clock", "CLOCK_MONOTONIC");
    put_line(writer, line);
    return writer;
}

void ledger_write_product(struct ledger_writer *writer, const struct ledger_product *product)
{
    json_t *line = json_object();
    set_number(line, "product", product->id);
    set_number(line, "stock", product->stock);
    if (product->limit)
        set_number(line, "limit", product->limit);
    if (product->epoch)
        set_number(line, "epoch", product->epoch);
    put_line(writer, line);
}

void ledger_write_begin(struct ledger_writer *writer, const struct ledger_op *op)
{
    json_t *line = json_object();
    set_number(line, "op", op->number);
    set_text(line, "do", ledger_kind_name(op->kind));
    set_number(line, "at_us", op->start_us);
    if (op->user)
        set_number(line, "user", op->user);
    if (op->product)
        set_number(line, "product", op->product);
    if (op->quantity)
        set_number(line, "quantity", op->quantity);
    if (op->hold_s)
        set_number(line, "hold_s", op->hold_s);
    set_text(line, "key", op->key);
    set_text(line, "strategy", op->strategy);
    if (op->kind != LEDGER_BUY)
        set_text(line, "order", op->order);
    put_line(writer, line);
}

void ledger_write_end(struct ledger_writer *writer, const struct ledger_op *op)
{
    json_t *line = json_object();
    set_number(line, "op", op->number);
    set_number(line, "end_us", op->end_us);
    set_text(line, "is", ledger_result_name(op->result));
    if (op->status)
        set_number(line, "status", op->status);
    set_text(line, "code", op->code);
    if (op->kind == LEDGER_BUY)
        set_text(line, "order", op->order);
    set_text(line, "state", ledger_state_name(op->state));
    if (op->fence)
        set_number(line, "fence", op->fence);
    put_line(writer, line);
}

void ledger_write_note(struct ledger_writer *writer, int64_t at_us, const char *text)
{
    json_t *line = json_object();
    set_text(line, "note", text);
    set_number(line, "at_us", at_us);
    put_line(writer, line);
}

void ledger_write_done(struct ledger_writer *writer, int64_t at_us)
{
    json_t *line = json_object();
    json_object_set_new(line, "done", json_true());
    set_number(line, "at_us", at_us);
    put_line(writer, line);
}

bool ledger_flush(struct ledger_writer *writer, struct error *error)
{
    if (fflush(writer->to) != 0 || ferror(writer->to))
        writer->failed = true;
    return !writer->failed || error_fail(error, "%s cannot be written: %s", writer->path,
                                         errno ? strerror(errno) : "out of memory");
}

bool ledger_close(struct ledger_writer *writer, struct error *error)
{
    if (!writer)
        return true;
    bool good = ledger_flush(writer, error);
    if (fclose(writer->to) != 0 && good)
        good = error_fail(error, "%s: %s", writer->path, strerror(errno));
    free(writer);
    return good;
}
