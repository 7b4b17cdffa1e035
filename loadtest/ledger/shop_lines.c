/* The lines of a shop's ledger (reading.h). What an answer meant stands in "is", one word for a
 * result, a code and a state. */
#include "loadtest/ledger/reading.h"

#include <string.h>

bool shop_read_head(struct reading *reading, const json_t *line, struct error *error)
{
    struct ledger *out = reading->out;
    if (!json_object_get(line, "shop"))
        return true;
    if (!line_copy_text(line, "shop", SIZE_MAX, &out->shop, error))
        return false;
    out->shop = out->shop ? out->shop : strdup("");
    return (out->shop || error_fail(error, "out of memory")) &&
           line_need_number(line, "connections", 1, &out->load.connections, error) &&
           line_need_number(line, "rate_per_s", 0, &out->load.rate_per_s, error) &&
           line_need_number(line, "seed", 0, &out->seed, error);
}

static bool take_switch(const json_t *line, const char *name, bool otherwise, bool *out,
                        struct error *error)
{
    const json_t *value = json_object_get(line, name);
    *out = value ? json_is_true(value) : otherwise;
    return !value || json_is_boolean(value) ||
           error_fail(error, "\"%s\" is neither true nor false", name);
}

static bool take_meaning(const json_t *line, const char *name, enum shop_meaning otherwise,
                         enum shop_meaning *out, struct error *error)
{
    const json_t *value = json_object_get(line, name);
    const char *word = json_string_value(value);
    int known = word ? shop_meaning_named(word) : -1;
    *out = value && known >= 0 ? (enum shop_meaning)known : otherwise;
    return !value || known >= 0 ||
           error_fail(error, "\"%s\" is none of the meanings of an answer", name);
}

/* Purchases begin in the order of their numbers, and none is missing. */
static bool read_begin(struct reading *reading, const json_t *line, int64_t number,
                       struct error *error)
{
    struct ledger *out = reading->out;
    int64_t wanted = (int64_t)out->ops_count + 1;
    if (number != wanted)
        return error_fail(error, "op %lld begins where op %lld should", (long long)number,
                          (long long)wanted);
    if (out->products_count == 0)
        return error_fail(error, "op %lld begins, and the product is missing", (long long)number);
    struct ledger_op *op = ledger_add_op(
        out, &(struct ledger_op){.number = number, .end_us = LEDGER_NEVER, .status = -1});
    if (!op)
        return error_fail(error, "out of memory");
    reading->open++;
    return line_need_number(line, "due_us", 0, &op->due_us, error) &&
           line_take_count(line, "at_us", INT64_MAX, &op->start_us, error) &&
           line_copy_text(line, "user", SIZE_MAX, &op->user, error) &&
           line_copy_text(line, "key", SIZE_MAX, &op->key, error) &&
           take_switch(line, "repeat", false, &op->repeat, error);
}

/* The end of a purchase that was sent. */
static bool take_answer(struct ledger *out, const json_t *line, struct ledger_op *op,
                        struct error *error)
{
    out->load.answered++;
    return line_need_number(line, "sent_us", op->due_us, &op->start_us, error) &&
           line_need_number(line, "end_us", op->start_us > 0 ? op->start_us : 1, &op->end_us,
                            error) &&
           take_meaning(line, "became", op->first, &op->last, error) &&
           line_copy_text(line, "order", SIZE_MAX, &op->order, error) &&
           (op->last == op->first || op->first == SHOP_ACCEPTED ||
            error_fail(error, "only what was accepted becomes something else"));
}

/* The end of a purchase that was not sent, since a step failed, or said no. */
static bool take_unasked(struct ledger *out, const json_t *line, struct ledger_op *op,
                         struct error *error)
{
    if (op->first == SHOP_UNKNOWN)
        return true;
    out->load.answered++;
    return line_need_number(line, "end_us", op->due_us > 0 ? op->due_us : 1, &op->end_us, error);
}

static bool was_answered(const json_t *line, const struct ledger_op *op)
{
    if (json_object_get(line, "order"))
        return true;
    if (op->first == SHOP_UNKNOWN)
        return json_object_get(line, "status") != NULL;
    return op->result != LEDGER_FAIL || json_object_get(line, "sent_us");
}

static bool read_end(struct reading *reading, const json_t *line, int64_t number,
                     struct error *error)
{
    enum shop_meaning meaning;
    bool asked;
    int64_t status;
    struct ledger_op *op = ledger_find_op(reading->out, number);
    if (!op)
        return error_fail(error, "op %lld ends, and has not begun", (long long)number);
    if (op->status != -1)
        return error_fail(error, "op %lld ends twice", (long long)number);
    if (!take_switch(line, "asked", true, &asked, error) ||
        !take_meaning(line, "is", SHOP_UNKNOWN, &meaning, error) ||
        !line_take_count(line, "status", READING_STATUS_MAX, &status, error))
        return false;
    reading->open--;
    op->status = (int)status;
    op->unasked = !asked;
    ledger_op_means(op, meaning);
    if (asked)
        return take_answer(reading->out, line, op, error);
    if (was_answered(line, op))
        return error_fail(error, "op %lld was not asked, and was answered", (long long)number);
    return take_unasked(reading->out, line, op, error);
}

static bool read_op(struct reading *reading, const json_t *line, struct error *error)
{
    int64_t number;
    if (!line_need_number(line, "op", 1, &number, error))
        return false;
    if (reading->sent)
        return error_fail(error, "op %lld stands behind the end of the load", (long long)number);
    return json_object_get(line, "is") ? read_end(reading, line, number, error)
                                       : read_begin(reading, line, number, error);
}

static bool read_load(struct reading *reading, const json_t *line, struct error *error)
{
    struct ledger_load *load = &reading->out->load;
    int64_t failures;
    if (reading->sent)
        return error_fail(error, "the load ends twice");
    if (!line_take_text(line, "first_failure", load->first_failure, sizeof load->first_failure,
                        error) ||
        !line_need_number(line, "failures", 0, &failures, error) ||
        !line_need_number(line, "began_us", 0, &load->began_us, error) ||
        !line_need_number(line, "ended_us", load->began_us, &load->ended_us, error) ||
        !line_take_count(line, "late_us", INT64_MAX, &load->late_us, error))
        return false;
    load->failures = (size_t)failures;
    reading->sent = true;
    return true;
}

static bool read_left(struct rows *books, const json_t *line, struct error *error)
{
    if (books->has_left)
        return error_fail(error, "\"stock_left\" stands there twice");
    books->has_left = true;
    return line_need_number(line, "stock_left", -ROWS_LEFT_MAX, &books->left, error) &&
           (books->left <= ROWS_LEFT_MAX || error_fail(error, "\"stock_left\" is too large"));
}

static bool read_orders(struct reading *reading, const json_t *line, struct error *error)
{
    if (reading->out->books.has_orders)
        return error_fail(error, "\"orders\" stands there twice");
    reading->out->books.has_orders = true;
    return line_need_number(line, "orders", 0, &reading->orders, error);
}

static bool is_name(const json_t *value)
{
    return json_is_string(value) || json_is_null(value);
}

/* NULL stays; *good is false when there is no memory. */
static char *copy_name(const json_t *value, bool *good)
{
    char *copy = json_is_string(value) ? strdup(json_string_value(value)) : NULL;
    *good = *good && (copy || json_is_null(value));
    return copy;
}

static bool read_row(struct reading *reading, const json_t *row, struct error *error)
{
    const json_t *id = json_array_get(row, 0), *user = json_array_get(row, 1);
    const json_t *units = json_array_get(row, 2);
    struct rows *books = &reading->out->books;
    bool good = true;
    if (!is_name(id) || !is_name(user) || !json_is_integer(units) ||
        json_integer_value(units) < 0 || json_integer_value(units) > ROWS_UNITS_MAX)
        return error_fail(error, "\"row\" is no order's id, user and units");
    if ((int64_t)books->orders_count >= reading->orders)
        return error_fail(error, "\"orders\" is %lld, and here is one more",
                          (long long)reading->orders);
    struct row_order *into = rows_add_order(books);
    if (into) {
        into->quantity = json_integer_value(units);
        into->id = copy_name(id, &good);
        into->user = copy_name(user, &good);
    }
    return (into && good) || error_fail(error, "out of memory");
}

/* Nothing is missing before it. */
static bool read_done(struct reading *reading, struct error *error)
{
    struct ledger *out = reading->out;
    if (reading->open > 0)
        return error_fail(error, "the end, and %lld purchases have none", (long long)reading->open);
    if (!reading->sent)
        return error_fail(error, "the end, and the load has none");
    if (out->products_count == 0)
        return error_fail(error, "the end, and the product is missing");
    out->done = (int64_t)out->books.orders_count == reading->orders;
    return out->done || error_fail(error, "the end, and there are %zu of %lld orders",
                                   out->books.orders_count, (long long)reading->orders);
}

bool shop_read_line(struct reading *reading, const json_t *line, struct error *error)
{
    if (reading->out->done)
        return error_fail(error, "it stands behind the end");
    if (json_object_get(line, "op"))
        return read_op(reading, line, error);
    if (json_object_get(line, "failures"))
        return read_load(reading, line, error);
    if (json_object_get(line, "stock_left"))
        return read_left(&reading->out->books, line, error);
    if (json_object_get(line, "orders"))
        return read_orders(reading, line, error);
    if (json_object_get(line, "row"))
        return read_row(reading, json_object_get(line, "row"), error);
    return json_is_true(json_object_get(line, "done")) ? read_done(reading, error)
                                                       : error_fail(error, "no line of a ledger");
}
