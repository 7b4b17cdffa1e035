/* See ledger_read.h. */
#include "loadtest/ledger/ledger_read.h"

#include "loadtest/ledger/line_fields.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT = 1, LINE_BYTES_MAX = 16384 };

/* So that no sum of them overflows, whoever wrote the file. */
enum { QUANTITY_MAX = 1000000000, STATUS_MAX = 999, HOLD_S_MAX = 86400 };
#define STOCK_MAX INT64_C(9007199254740991)

/* A text of the line, "" when it is not there. */
static bool take_text(const json_t *line, const char *name, char *out, size_t size,
                      struct error *error)
{
    const json_t *value = json_object_get(line, name);
    const char *text = value ? json_string_value(value) : "";
    if (!text || strlen(text) >= size)
        return error_fail(error, "\"%s\" is no text of at most %zu bytes", name, size - 1);
    memcpy(out, text, strlen(text) + 1);
    return true;
}

static bool read_head(void *context, const json_t *line, struct error *error)
{
    struct ledger *out = context;
    int64_t format;
    if (json_object_get(line, "shop_ledger"))
        return error_fail(error,
                          "a shop's ledger: seckill-loadtest shop TARGET.yaml --judge judges "
                          "it");
    if (!line_need_number(line, "ledger", 1, &format, error))
        return false;
    if (format != FORMAT)
        return error_fail(error, "format %lld, and this program reads %d", (long long)format,
                          FORMAT);
    return line_take_number(line, "seed", 0, &out->seed, error);
}

static bool read_product(struct ledger *out, const json_t *line, struct error *error)
{
    struct ledger_product product = {0};
    return line_need_number(line, "product", 1, &product.id, error) &&
           line_need_number(line, "stock", 0, &product.stock, error) &&
           line_take_count(line, "limit", INT64_MAX, &product.limit, error) &&
           line_take_count(line, "epoch", INT64_MAX, &product.epoch, error) &&
           (product.stock <= STOCK_MAX || error_fail(error, "\"stock\" is too large")) &&
           (ledger_add_product(out, &product) || error_fail(error, "out of memory"));
}

static bool take_key(const json_t *line, struct ledger_op *op, struct error *error)
{
    char key[LEDGER_KEY_MAX + 1] = "";
    if (!take_text(line, "key", key, sizeof key, error))
        return false;
    op->key = *key ? strdup(key) : NULL;
    return !*key || op->key || error_fail(error, "out of memory");
}

static bool is_whole(const struct ledger_op *op, struct error *error)
{
    bool takes_units = op->kind == LEDGER_BUY || op->kind == LEDGER_RESTOCK;
    if (takes_units && (op->product <= 0 || op->quantity <= 0))
        return error_fail(error, "a %s needs a product and a quantity", ledger_kind_name(op->kind));
    if (!takes_units && !*op->order)
        return error_fail(error, "a %s needs an order", ledger_kind_name(op->kind));
    if (op->quantity < 0 || op->quantity > QUANTITY_MAX)
        return error_fail(error, "\"quantity\" is not from 0 to %d", QUANTITY_MAX);
    return true;
}

static bool read_begin(struct ledger *out, const json_t *line, const char *kind,
                       struct error *error)
{
    struct ledger_op op = {.end_us = LEDGER_NEVER};
    int known = ledger_kind_of(kind);
    if (known < 0) {
        out->skipped++;
        return true;
    }
    op.kind = (enum ledger_kind)known;
    if (!line_need_number(line, "op", 1, &op.number, error) ||
        !line_need_number(line, "at_us", 0, &op.start_us, error) ||
        !line_take_number(line, "user", 0, &op.user, error) ||
        !line_take_number(line, "product", 0, &op.product, error) ||
        !line_take_number(line, "quantity", 0, &op.quantity, error) ||
        !line_take_count(line, "hold_s", HOLD_S_MAX, &op.hold_s, error) ||
        !take_text(line, "strategy", op.strategy, sizeof op.strategy, error) ||
        !take_text(line, "order", op.order, sizeof op.order, error) || !is_whole(&op, error))
        return false;
    if (op.kind == LEDGER_BUY)
        *op.order = '\0'; /* its answer names it */
    if (out->ops_count && out->ops[out->ops_count - 1].number >= op.number)
        return error_fail(error, "op %lld begins behind a later one", (long long)op.number);
    return take_key(line, &op, error) &&
           (ledger_add_op(out, &op) || error_fail(error, "out of memory"));
}

/* The answer of `op`. */
static bool take_answer(const json_t *line, struct ledger_op *op, struct error *error)
{
    char is[8], state[LEDGER_NAME_SIZE], order[LEDGER_ID_SIZE];
    int64_t status;
    if (!line_need_number(line, "end_us", op->start_us, &op->end_us, error) ||
        !take_text(line, "is", is, sizeof is, error) ||
        !line_take_count(line, "status", STATUS_MAX, &status, error) ||
        !take_text(line, "code", op->code, sizeof op->code, error) ||
        !take_text(line, "order", order, sizeof order, error) ||
        !take_text(line, "state", state, sizeof state, error) ||
        !line_take_number(line, "fence", 0, &op->fence, error))
        return false;
    int result = ledger_result_of(is);
    int known = ledger_state_of(state);
    if (result < 0)
        return error_fail(error, "\"is\" is none of ok, fail and info");
    if (known < 0)
        return error_fail(error, "\"state\" is no state of an order");
    op->result = (enum ledger_result)result;
    op->status = (int)status;
    op->state = (enum ledger_state)known;
    if (op->kind == LEDGER_BUY)
        memcpy(op->order, order, sizeof op->order);
    else
        ledger_take_named(op, order);
    return op->kind != LEDGER_BUY || op->result != LEDGER_OK || op->key || *op->order ||
           error_fail(error, "a buy that is ok needs a key or an order");
}

static bool read_end(struct ledger *out, const json_t *line, struct error *error)
{
    int64_t number;
    if (!line_need_number(line, "op", 1, &number, error))
        return false;
    struct ledger_op *op = ledger_find_op(out, number);
    if (!op) { /* of a sort that was skipped, or of nothing */
        out->skipped++;
        return true;
    }
    if (op->end_us != LEDGER_NEVER)
        return error_fail(error, "op %lld ends twice", (long long)number);
    return take_answer(line, op, error);
}

static bool read_line(void *context, const json_t *line, struct error *error)
{
    struct ledger *out = context;
    const char *kind = json_string_value(json_object_get(line, "do"));
    if (json_object_get(line, "op") && kind)
        return read_begin(out, line, kind, error);
    if (json_object_get(line, "op"))
        return read_end(out, line, error);
    if (json_object_get(line, "ledger"))
        return error_fail(error, "a second ledger begins");
    if (json_object_get(line, "product"))
        return read_product(out, line, error);
    if (json_is_true(json_object_get(line, "done")))
        out->done = true;
    else if (!json_object_get(line, "note")) /* a note is for people */
        out->skipped++;
    return true;
}

bool ledger_read(struct ledger *out, FILE *from, struct error *error)
{
    struct lines lines = {
        .most = LINE_BYTES_MAX, .head = read_head, .line = read_line, .context = out};
    *out = (struct ledger){0};
    bool good = lines_read(&lines, from, error) && ledger_sort_products(out, error);
    out->cut = lines.cut;
    if (!good)
        ledger_fini(out);
    return good;
}

bool ledger_read_file(struct ledger *out, const char *path, struct error *error)
{
    FILE *from = lines_open(path, error);
    *out = (struct ledger){0};
    if (!from)
        return false;
    bool good = ledger_read(out, from, error) || error_prefix(error, "%s", path);
    fclose(from);
    return good;
}
