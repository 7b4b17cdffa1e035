/*
 * See shop_ledger_read.h. A line a function; which it is, its first field says. A purchase that has
 * begun and not ended is told by its status.
 */
#include "loadtest/shop/load/shop_ledger_read.h"

#include "loadtest/ledger/line_fields.h"

#include <stdlib.h>
#include <string.h>

/* An answer of a shop, and so an order's id, may be of 1 MiB; in JSON six times that. */
enum { LINE_BYTES_MAX = 8 << 20, STATUS_MAX = 999, NOT_ENDED = -1 };

struct shop_reader {
    struct shop_record *out;
    int64_t orders; /* that the books name */
    bool sent, done;
};

/* Owned by the caller; NULL: it is not there, or empty. */
static bool take_text(const json_t *line, const char *name, char **out, struct error *error)
{
    const json_t *value = json_object_get(line, name);
    const char *text = json_string_value(value);
    *out = text && *text ? strdup(text) : NULL;
    if (value && !text)
        return error_fail(error, "\"%s\" is no text", name);
    return !text || !*text || *out || error_fail(error, "out of memory");
}

/* "": it is not there. */
static bool take_name(const json_t *line, const char *name, char **out, struct error *error)
{
    if (!take_text(line, name, out, error))
        return false;
    *out = *out ? *out : strdup("");
    return *out || error_fail(error, "out of memory");
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
    *out = otherwise;
    for (int i = 0; word && i < SHOP_MEANINGS; i++) {
        *out = (enum shop_meaning)i;
        if (strcmp(word, shop_meaning_name(*out)) == 0)
            return true;
    }
    return !value || error_fail(error, "\"%s\" is none of the meanings of an answer", name);
}

static bool check_format(const json_t *line, struct error *error)
{
    int64_t format;
    if (json_object_get(line, "ledger"))
        return error_fail(error, "a ledger of `record`: seckill-loadtest check judges it");
    if (!json_object_get(line, "shop_ledger"))
        return error_fail(error, "no ledger of a shop");
    if (!line_need_number(line, "shop_ledger", 1, &format, error))
        return false;
    if (format < SHOP_LEDGER_FORMAT)
        return error_fail(error,
                          "format %lld, of an earlier version, which did not note all that a "
                          "verdict needs: run the sale again",
                          (long long)format);
    return format == SHOP_LEDGER_FORMAT ||
           error_fail(error, "format %lld, and this program reads %d", (long long)format,
                      SHOP_LEDGER_FORMAT);
}

static bool read_head(void *context, const json_t *line, struct error *error)
{
    struct shop_record *out = ((struct shop_reader *)context)->out;
    return check_format(line, error) && take_name(line, "shop", &out->shop, error) &&
           line_need_number(line, "product", 0, &out->product, error) &&
           line_need_number(line, "stock", 1, &out->stock, error) &&
           line_need_number(line, "limit", 0, &out->limit, error) &&
           line_need_number(line, "connections", 1, &out->load.connections, error) &&
           line_need_number(line, "rate_per_s", 0, &out->load.rate_per_s, error) &&
           line_need_number(line, "seed", 0, &out->load.seed, error);
}

/* Purchases begin in the order of their numbers. */
static bool read_begin(struct shop_record *out, const json_t *line, int64_t number,
                       struct error *error)
{
    if (number != (int64_t)out->history.count)
        return error_fail(error, "op %lld begins where op %zu should", (long long)number,
                          out->history.count);
    struct shop_purchase *one = history_add(&out->history);
    if (!one)
        return error_fail(error, "out of memory");
    one->status = NOT_ENDED;
    return line_need_number(line, "due_us", 0, &one->due_us, error) &&
           take_name(line, "user", &one->user, error) && take_text(line, "key", &one->key, error) &&
           take_switch(line, "repeat", false, &one->repeat, error);
}

static bool take_times(const json_t *line, struct shop_purchase *one, struct error *error)
{
    return line_need_number(line, "sent_us", one->due_us, &one->start_us, error) &&
           line_need_number(line, "end_us", one->start_us > 0 ? one->start_us : 1, &one->end_us,
                            error);
}

/* The end of a purchase that was sent. */
static bool take_answer(struct shop_record *out, const json_t *line, struct shop_purchase *one,
                        struct error *error)
{
    int64_t status;
    if (!take_times(line, one, error) ||
        !line_take_count(line, "status", STATUS_MAX, &status, error) ||
        !take_meaning(line, "became", one->first, &one->last, error) ||
        !take_text(line, "order", &one->order, error))
        return false;
    one->status = (int)status;
    out->sent.answered++;
    return one->last == one->first || one->first == SHOP_ACCEPTED ||
           error_fail(error, "only what was accepted becomes something else");
}

static bool is_no(enum shop_meaning meaning)
{
    return meaning == SHOP_SOLD_OUT || meaning == SHOP_REFUSED || meaning == SHOP_SHED;
}

/* The end of a purchase that was not sent, since a step failed, or said no. */
static bool take_unasked(struct shop_record *out, const json_t *line, struct shop_purchase *one,
                         struct error *error)
{
    int64_t status;
    one->last = one->first;
    one->status = 0;
    if (one->first == SHOP_UNKNOWN)
        return true;
    if (!line_need_number(line, "end_us", one->due_us > 0 ? one->due_us : 1, &one->end_us, error) ||
        !line_take_count(line, "status", STATUS_MAX, &status, error))
        return false;
    one->status = (int)status;
    out->sent.answered++;
    return true;
}

static bool read_end(struct shop_record *out, const json_t *line, int64_t number,
                     struct error *error)
{
    if (number >= (int64_t)out->history.count)
        return error_fail(error, "op %lld ends, and has not begun", (long long)number);
    struct shop_purchase *one = &out->history.items[number];
    if (one->status != NOT_ENDED)
        return error_fail(error, "op %lld ends twice", (long long)number);
    if (!take_switch(line, "asked", true, &one->asked, error) ||
        !take_meaning(line, "is", SHOP_UNKNOWN, &one->first, error))
        return false;
    if (one->asked)
        return take_answer(out, line, one, error);
    bool told = one->first == SHOP_UNKNOWN ? json_object_get(line, "status") != NULL
                                           : !is_no(one->first) || json_object_get(line, "sent_us");
    if (told || json_object_get(line, "order"))
        return error_fail(error, "op %lld was not asked, and was answered", (long long)number);
    return take_unasked(out, line, one, error);
}

static bool read_op(struct shop_reader *reader, const json_t *line, struct error *error)
{
    int64_t number;
    if (!line_need_number(line, "op", 0, &number, error))
        return false;
    if (reader->sent)
        return error_fail(error, "op %lld stands behind the end of the load", (long long)number);
    return json_object_get(line, "is") ? read_end(reader->out, line, number, error)
                                       : read_begin(reader->out, line, number, error);
}

static bool take_failure(const json_t *line, struct send_result *sent, struct error *error)
{
    const json_t *value = json_object_get(line, "first_failure");
    const char *text = value ? json_string_value(value) : "";
    if (!text || strlen(text) >= sizeof sent->first_failure)
        return error_fail(error, "\"first_failure\" is no text of at most %zu bytes",
                          sizeof sent->first_failure - 1);
    memcpy(sent->first_failure, text, strlen(text) + 1);
    return true;
}

static bool read_sent(struct shop_reader *reader, const json_t *line, struct error *error)
{
    struct send_result *sent = &reader->out->sent;
    int64_t failures;
    if (reader->sent)
        return error_fail(error, "the load ends twice");
    if (!take_failure(line, sent, error) ||
        !line_need_number(line, "failures", 0, &failures, error) ||
        !line_need_number(line, "began_us", 0, &sent->began_us, error) ||
        !line_need_number(line, "ended_us", sent->began_us, &sent->ended_us, error) ||
        !line_take_count(line, "late_us", INT64_MAX, &sent->late_us, error))
        return false;
    sent->failures = (size_t)failures;
    reader->sent = true;
    return true;
}

static bool read_left(struct shop_books *books, const json_t *line, struct error *error)
{
    if (books->has_left)
        return error_fail(error, "\"stock_left\" stands there twice");
    books->has_left = true;
    return line_need_number(line, "stock_left", -SHOP_LEFT_MAX, &books->left, error) &&
           (books->left <= SHOP_LEFT_MAX || error_fail(error, "\"stock_left\" is too large"));
}

static bool read_orders(struct shop_reader *reader, const json_t *line, struct error *error)
{
    if (reader->out->books.has_rows)
        return error_fail(error, "\"orders\" stands there twice");
    reader->out->books.has_rows = true;
    return line_need_number(line, "orders", 0, &reader->orders, error);
}

static bool is_name(const json_t *value)
{
    return json_is_string(value) || json_is_null(value);
}

static bool read_row(struct shop_reader *reader, const json_t *row, struct error *error)
{
    const json_t *id = json_array_get(row, 0), *user = json_array_get(row, 1);
    const json_t *units = json_array_get(row, 2);
    struct shop_books *books = &reader->out->books;
    if (!is_name(id) || !is_name(user) || !json_is_integer(units) ||
        json_integer_value(units) < 0 || json_integer_value(units) > SHOP_UNITS_MAX)
        return error_fail(error, "\"row\" is no order's id, user and units");
    if ((int64_t)books->count >= reader->orders)
        return error_fail(error, "\"orders\" is %lld, and here is one more",
                          (long long)reader->orders);
    struct shop_row *into = shop_books_add(books);
    if (!into)
        return error_fail(error, "out of memory");
    into->units = json_integer_value(units);
    into->id = json_is_string(id) ? strdup(json_string_value(id)) : NULL;
    into->user = json_is_string(user) ? strdup(json_string_value(user)) : NULL;
    bool named = (into->id || json_is_null(id)) && (into->user || json_is_null(user));
    return named || error_fail(error, "out of memory");
}

/* Nothing is missing before it. */
static bool read_done(struct shop_reader *reader, struct error *error)
{
    const struct shop_record *record = reader->out;
    for (size_t i = 0; i < record->history.count; i++) {
        if (record->history.items[i].status == NOT_ENDED)
            return error_fail(error, "the end, and op %zu has none", i);
    }
    if (!reader->sent)
        return error_fail(error, "the end, and the load has none");
    reader->done = (int64_t)record->books.count == reader->orders;
    return reader->done || error_fail(error, "the end, and there are %zu of %lld orders",
                                      record->books.count, (long long)reader->orders);
}

static bool read_line(void *context, const json_t *line, struct error *error)
{
    struct shop_reader *reader = context;
    if (reader->done)
        return error_fail(error, "it stands behind the end");
    if (json_object_get(line, "op"))
        return read_op(reader, line, error);
    if (json_object_get(line, "failures"))
        return read_sent(reader, line, error);
    if (json_object_get(line, "stock_left"))
        return read_left(&reader->out->books, line, error);
    if (json_object_get(line, "orders"))
        return read_orders(reader, line, error);
    if (json_object_get(line, "row"))
        return read_row(reader, json_object_get(line, "row"), error);
    return json_is_true(json_object_get(line, "done")) ? read_done(reader, error)
                                                       : error_fail(error, "no line of a ledger");
}

bool shop_ledger_read(struct shop_record *out, FILE *from, struct error *error)
{
    struct shop_reader reader = {.out = out};
    struct lines lines = {
        .most = LINE_BYTES_MAX, .head = read_head, .line = read_line, .context = &reader};
    *out = (struct shop_record){.shop = NULL};
    bool good = lines_read(&lines, from, error) &&
                (reader.done || error_fail(error, "it was cut off: the run did not come to its end "
                                                  "(no line \"done\"), so it has no verdict"));
    if (!good)
        shop_record_fini(out);
    return good;
}

bool shop_ledger_read_file(struct shop_record *out, const char *path, struct error *error)
{
    FILE *from = lines_open(path, error);
    *out = (struct shop_record){.shop = NULL};
    if (!from)
        return false;
    bool good = shop_ledger_read(out, from, error) || error_prefix(error, "%s", path);
    fclose(from);
    return good;
}

void shop_record_fini(struct shop_record *record)
{
    free(record->shop);
    history_fini(&record->history);
    shop_books_fini(&record->books);
    *record = (struct shop_record){.shop = NULL};
}
