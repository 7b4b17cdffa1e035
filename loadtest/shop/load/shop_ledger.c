/* See shop_ledger.h. */
#include "loadtest/shop/load/shop_ledger.h"

#include "base/clock.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shop_ledger {
    FILE *to; /* owned */
    char path[1200];
    bool failed;
};

/* Takes the line. */
static void put_line(struct shop_ledger *ledger, json_t *line)
{
    if (!line || json_dumpf(line, ledger->to, JSON_COMPACT) != 0 || putc('\n', ledger->to) == EOF)
        ledger->failed = true;
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

static json_t *first_line(const struct target *target)
{
    char began[CLOCK_RFC3339_LENGTH + 1];
    json_t *line = json_object();
    clock_format_rfc3339(clock_wall_us(), began);
    set_number(line, "shop_ledger", 1);
    set_text(line, "shop", target->name);
    set_text(line, "target", target->path);
    set_number(line, "product", target->product);
    set_number(line, "stock", target->stock);
    set_number(line, "limit", target->limit);
    set_text(line, "began", began);
    set_text(line, "clock", "CLOCK_MONOTONIC");
    return line;
}

struct shop_ledger *shop_ledger_create(const char *path, const struct target *target,
                                       struct error *error)
{
    struct shop_ledger *ledger = calloc(1, sizeof *ledger);
    if (!ledger) {
        error_fail(error, "out of memory");
        return NULL;
    }
    snprintf(ledger->path, sizeof ledger->path, "%s", path);
    ledger->to = fopen(path, "we");
    if (!ledger->to) {
        error_fail(error, "%s: %s", path, strerror(errno));
        free(ledger);
        return NULL;
    }
    put_line(ledger, first_line(target));
    return ledger;
}

void shop_ledger_begin(struct shop_ledger *ledger, size_t number,
                       const struct shop_purchase *purchase)
{
    json_t *line = json_object();
    set_number(line, "op", (int64_t)number);
    set_number(line, "at_us", clock_mono_us());
    set_number(line, "due_us", purchase->due_us);
    set_text(line, "user", purchase->user);
    set_text(line, "key", purchase->key);
    if (purchase->repeat)
        json_object_set_new(line, "repeat", json_true());
    put_line(ledger, line);
}

void shop_ledger_end(struct shop_ledger *ledger, size_t number,
                     const struct shop_purchase *purchase)
{
    json_t *line = json_object();
    set_number(line, "op", (int64_t)number);
    if (!purchase->asked)
        json_object_set_new(line, "asked", json_false());
    if (purchase->end_us) {
        set_number(line, "sent_us", purchase->start_us);
        set_number(line, "end_us", purchase->end_us);
    }
    if (purchase->status)
        set_number(line, "status", purchase->status);
    set_text(line, "is", shop_meaning_name(purchase->first));
    if (purchase->last != purchase->first)
        set_text(line, "became", shop_meaning_name(purchase->last));
    set_text(line, "order", purchase->order);
    put_line(ledger, line);
}

void shop_ledger_books(struct shop_ledger *ledger, const struct shop_books *books)
{
    if (books->has_left) {
        json_t *line = json_object();
        set_number(line, "stock_left", books->left);
        put_line(ledger, line);
    }
    for (size_t i = 0; i < books->count; i++) {
        const struct shop_row *row = &books->rows[i];
        put_line(ledger,
                 json_pack("{s:[s?,s?,I]}", "row", row->id, row->user, (json_int_t)row->units));
    }
    put_line(ledger, json_pack("{s:b, s:I}", "done", 1, "at_us", (json_int_t)clock_mono_us()));
}

bool shop_ledger_flush(struct shop_ledger *ledger, struct error *error)
{
    if (fflush(ledger->to) != 0 || ferror(ledger->to))
        ledger->failed = true;
    return !ledger->failed || error_fail(error, "%s cannot be written: %s", ledger->path,
                                         errno ? strerror(errno) : "out of memory");
}

bool shop_ledger_close(struct shop_ledger *ledger, struct error *error)
{
    if (!ledger)
        return true;
    bool good = shop_ledger_flush(ledger, error);
    if (fclose(ledger->to) != 0 && good)
        good = error_fail(error, "%s: %s", ledger->path, strerror(errno));
    free(ledger);
    return good;
}
