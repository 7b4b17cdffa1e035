/* See ledger_read.h. A line's first fields say which it is; a shop's lines are in shop_lines.c. */
#include "loadtest/ledger/ledger_read.h"

#include "loadtest/ledger/ledger_write.h"
#include "loadtest/ledger/reading.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An answer of a shop, and so an order's id, may be of 1 MiB; in JSON six times that. */
enum { LINE_BYTES_MAX = 16384, SHOP_LINE_BYTES_MAX = 8 << 20 };

/* So that no sum of them overflows, whoever wrote the file. */
enum { QUANTITY_MAX = 1000000000, HOLD_S_MAX = 86400 };
#define STOCK_MAX INT64_C(9007199254740991)

static bool check_whose(enum ledger_whose whose, bool is_shops, struct error *error)
{
    if (is_shops == (whose == LEDGER_OF_SHOP))
        return true;
    return error_fail(error, is_shops ? "a shop's ledger: seckill-loadtest shop TARGET.yaml "
                                        "--judge judges it"
                                      : "a ledger of `record`: seckill-loadtest check judges it");
}

static bool read_head(struct reading *reading, const json_t *line, struct error *error)
{
    int64_t format;
    if (json_object_get(line, "shop_ledger"))
        return error_fail(error, "of a version before 0.1.0: run the sale again");
    if (!json_object_get(line, "ledger"))
        return error_fail(error, "no ledger: \"ledger\" is missing");
    return line_need_number(line, "ledger", 1, &format, error) &&
           (format == LEDGER_FORMAT ||
            error_fail(error, "format %lld, which this program does not know: it writes %d",
                       (long long)format, LEDGER_FORMAT)) &&
           check_whose(reading->whose, json_object_get(line, "shop") != NULL, error) &&
           line_take_number(line, "seed", 0, &reading->out->seed, error) &&
           shop_read_head(reading, line, error);
}

static bool read_product(struct reading *reading, const json_t *line, struct error *error)
{
    struct ledger_product product = {0};
    bool is_shops = reading->out->shop != NULL;
    return line_need_number(line, "product", !is_shops, &product.id, error) &&
           line_need_number(line, "stock", is_shops, &product.stock, error) &&
           line_take_count(line, "limit", INT64_MAX, &product.limit, error) &&
           line_take_count(line, "epoch", INT64_MAX, &product.epoch, error) &&
           (product.stock <= STOCK_MAX || error_fail(error, "\"stock\" is too large")) &&
           (!is_shops || reading->out->products_count == 0 ||
            error_fail(error, "a shop's sale is of one product")) &&
           (ledger_add_product(reading->out, &product) || error_fail(error, "out of memory"));
}

static bool is_whole(const struct ledger_op *op, struct error *error)
{
    bool takes_units = op->kind == LEDGER_BUY || op->kind == LEDGER_RESTOCK;
    if (takes_units && (op->product <= 0 || op->quantity <= 0))
        return error_fail(error, "a %s needs a product and a quantity", ledger_kind_name(op->kind));
    if (!takes_units && !op->order)
        return error_fail(error, "a %s needs an order", ledger_kind_name(op->kind));
    if (op->quantity < 0 || op->quantity > QUANTITY_MAX)
        return error_fail(error, "\"quantity\" is not from 0 to %d", QUANTITY_MAX);
    return true;
}

static bool fill_begin(const json_t *line, struct ledger_op *op, struct error *error)
{
    return line_need_number(line, "op", 1, &op->number, error) &&
           line_need_number(line, "at_us", 0, &op->start_us, error) &&
           line_copy_text(line, "user", LEDGER_KEY_MAX, &op->user, error) &&
           line_take_number(line, "product", 0, &op->product, error) &&
           line_take_number(line, "quantity", 0, &op->quantity, error) &&
           line_take_count(line, "hold_s", HOLD_S_MAX, &op->hold_s, error) &&
           line_take_text(line, "strategy", op->strategy, sizeof op->strategy, error) &&
           line_copy_text(line, "key", LEDGER_KEY_MAX, &op->key, error) &&
           (op->kind == LEDGER_BUY || /* its answer names the order */
            line_copy_text(line, "order", LEDGER_ID_SIZE - 1, &op->order, error)) &&
           is_whole(op, error);
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
    bool good = fill_begin(line, &op, error);
    if (good && out->ops_count && out->ops[out->ops_count - 1].number >= op.number)
        good = error_fail(error, "op %lld begins behind a later one", (long long)op.number);
    if (!ledger_add_op(out, &op))
        return error_fail(error, "out of memory");
    return good;
}

/* The order of an answer is the buy's; of other operations it is kept where it is another one than
 * they asked about. */
static bool take_order(const json_t *line, struct ledger_op *op, struct error *error)
{
    char **to = op->kind == LEDGER_BUY ? &op->order : &op->named;
    if (!line_copy_text(line, "order", LEDGER_ID_SIZE - 1, to, error))
        return false;
    if (op->named && strcmp(op->named, op->order) == 0) {
        free(op->named);
        op->named = NULL;
    }
    return true;
}

/* The answer of `op`. */
static bool take_answer(const json_t *line, struct ledger_op *op, struct error *error)
{
    char is[8], state[LEDGER_NAME_SIZE];
    int64_t status;
    if (!line_need_number(line, "end_us", op->start_us, &op->end_us, error) ||
        !line_take_text(line, "is", is, sizeof is, error) ||
        !line_take_count(line, "status", READING_STATUS_MAX, &status, error) ||
        !line_take_text(line, "code", op->code, sizeof op->code, error) ||
        !take_order(line, op, error) ||
        !line_take_text(line, "state", state, sizeof state, error) ||
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
    return op->kind != LEDGER_BUY || op->result != LEDGER_OK || op->key || op->order ||
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

static bool read_line(struct reading *reading, const json_t *line, struct error *error)
{
    struct ledger *out = reading->out;
    const char *kind = json_string_value(json_object_get(line, "do"));
    if (json_object_get(line, "ledger"))
        return error_fail(error, "a second ledger begins");
    if (json_object_get(line, "product") && !json_object_get(line, "op"))
        return read_product(reading, line, error);
    if (out->shop)
        return shop_read_line(reading, line, error);
    if (json_object_get(line, "op"))
        return kind ? read_begin(out, line, kind, error) : read_end(out, line, error);
    if (json_is_true(json_object_get(line, "done")))
        out->done = true;
    else if (!json_object_get(line, "note")) /* a note is for people */
        out->skipped++;
    return true;
}

/* Of a file that somebody has edited the first line may begin with a byte order mark. */
static json_t *load(const char *text, size_t length, size_t number)
{
    json_error_t fault;
    size_t mark = number == 1 && length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    return json_loadb(text + mark, length - mark, JSON_REJECT_DUPLICATES, &fault);
}

/* What a getline gave: a last line that is no JSON and has no end was cut off. */
static bool take(struct reading *reading, const char *text, size_t length, size_t number,
                 struct error *error)
{
    size_t most = reading->whose == LEDGER_OF_SHOP ? SHOP_LINE_BYTES_MAX : LINE_BYTES_MAX;
    if (length > most)
        return error_fail(error, "longer than %zu bytes", most);
    if (number > 1 && strspn(text, " \t\r\n") >= length)
        return true;
    json_t *line = load(text, length, number);
    bool good = json_is_object(line);
    if (good)
        good = number == 1 ? read_head(reading, line, error) : read_line(reading, line, error);
    else if (number > 1 && text[length - 1] != '\n')
        reading->out->cut = good = true;
    else
        error_fail(error, "no JSON object");
    json_decref(line);
    return good;
}

static bool read_lines(struct reading *reading, FILE *from, struct error *error)
{
    char *text = NULL;
    size_t size = 0, number = 0;
    ssize_t length;
    bool good = true;
    while (good && (length = getline(&text, &size, from)) > 0) {
        good = take(reading, text, (size_t)length, ++number, error);
        if (!good)
            error_prefix(error, "line %zu", number);
    }
    free(text);
    if (good && !feof(from))
        return error_fail(error, "%s", strerror(errno));
    if (good && number == 0)
        return error_fail(error, "it is empty");
    return good;
}

bool ledger_read(struct ledger *out, FILE *from, enum ledger_whose whose, struct error *error)
{
    struct reading reading = {.out = out, .whose = whose};
    *out = (struct ledger){0};
    bool good = read_lines(&reading, from, error) && ledger_sort_products(out, error) &&
                (!out->shop || out->done ||
                 error_fail(error, "it was cut off: the run did not come to its end (no line "
                                   "\"done\"), so it has no verdict"));
    if (!good)
        ledger_fini(out);
    return good;
}

bool ledger_read_file(struct ledger *out, const char *path, enum ledger_whose whose,
                      struct error *error)
{
    FILE *from = fopen(path, "re");
    *out = (struct ledger){0};
    if (!from)
        return error_fail(error, "%s: %s", path, strerror(errno));
    bool good = ledger_read(out, from, whose, error) || error_prefix(error, "%s", path);
    fclose(from);
    return good;
}
