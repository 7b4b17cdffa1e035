/* See ledger_read.h. A line's first fields say which it is. */
#include "loadtest/ledger/ledger_read.h"

#include "loadtest/base/pool.h"
#include "loadtest/ledger/ledger_write.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An answer of a shop, and so an order's id, may be of 1 MiB; in JSON six times that. */
enum { LINE_BYTES_MAX = 16384, SHOP_LINE_BYTES_MAX = 8 << 20 };

/* So that no sum of them overflows, whoever wrote the file. */
enum { QUANTITY_MAX = 1000000000, HOLD_S_MAX = 86400, STATUS_MAX = 999 };
#define STOCK_MAX INT64_C(9007199254740991)

struct reading {
    struct ledger *out;
    enum ledger_whose whose;
    const json_t *line; /* the one that is read */
    struct error *error;
    int64_t open;   /* a shop's purchases that have not ended */
    int64_t orders; /* that a shop's books have, as they say */
    bool sent;      /* a shop's load has ended */
};

#define refuse(reading, ...) error_fail((reading)->error, __VA_ARGS__)

/* --- the fields of a line, whoever wrote it: a number that is not an integer, or not in its range,
 * or a text that is none, is an error that names the field --- */

static const json_t *get(const struct reading *reading, const char *name)
{
    return json_object_get(reading->line, name);
}

/* One that is not there is `otherwise`. */
static bool take_number(const struct reading *reading, const char *name, int64_t otherwise,
                        int64_t *out)
{
    const json_t *value = get(reading, name);
    *out = value ? json_integer_value(value) : otherwise;
    return !value || json_is_integer(value) || refuse(reading, "\"%s\" is no integer", name);
}

/* One that may be left out, and then is 0; from 0 to `most`. */
static bool take_count(const struct reading *reading, const char *name, int64_t most, int64_t *out)
{
    return take_number(reading, name, 0, out) &&
           ((*out >= 0 && *out <= most) ||
            refuse(reading, "\"%s\" is not from 0 to %lld", name, (long long)most));
}

/* One that must be there, `least` or more. */
static bool need_number(const struct reading *reading, const char *name, int64_t least,
                        int64_t *out)
{
    return take_number(reading, name, INT64_MIN, out) &&
           (*out >= least || refuse(reading, "\"%s\" is missing or too small", name));
}

/* A text, "" when it is not there. */
static bool take_text(const struct reading *reading, const char *name, char *out, size_t size)
{
    const json_t *value = get(reading, name);
    const char *text = value ? json_string_value(value) : "";
    if (!text || strlen(text) >= size)
        return refuse(reading, "\"%s\" is no text of at most %zu bytes", name, size - 1);
    memcpy(out, text, strlen(text) + 1);
    return true;
}

/* A copy of at most `most` bytes, for the caller to free; NULL when it is not there, or empty. */
static bool copy_text(const struct reading *reading, const char *name, size_t most, char **out)
{
    const json_t *value = get(reading, name);
    const char *text = value ? json_string_value(value) : "";
    if (!text)
        return refuse(reading, "\"%s\" is no text", name);
    if (strlen(text) > most)
        return refuse(reading, "\"%s\" is no text of at most %zu bytes", name, most);
    *out = *text ? memory_copy(text) : NULL;
    return true;
}

static bool take_switch(const struct reading *reading, const char *name, bool otherwise, bool *out)
{
    const json_t *value = get(reading, name);
    *out = value ? json_is_true(value) : otherwise;
    return !value || json_is_boolean(value) ||
           refuse(reading, "\"%s\" is neither true nor false", name);
}

static bool take_meaning(const struct reading *reading, const char *name,
                         enum shop_meaning otherwise, enum shop_meaning *out)
{
    const json_t *value = get(reading, name);
    const char *word = json_string_value(value);
    int known = word ? shop_meaning_named(word) : -1;
    *out = value && known >= 0 ? (enum shop_meaning)known : otherwise;
    return !value || known >= 0 ||
           refuse(reading, "\"%s\" is none of the meanings of an answer", name);
}

/* --- the beginning, and the products --- */

static bool check_whose(const struct reading *reading)
{
    bool is_shops = get(reading, "shop") != NULL;
    if (is_shops == (reading->whose == LEDGER_OF_SHOP))
        return true;
    return refuse(reading, is_shops ? "a shop's ledger: seckill-loadtest shop TARGET.yaml --judge "
                                      "judges it"
                                    : "a ledger of `record`: seckill-loadtest check judges it");
}

static bool read_shop(const struct reading *reading)
{
    struct ledger *out = reading->out;
    if (!copy_text(reading, "shop", SIZE_MAX, &out->shop))
        return false;
    out->shop = out->shop ? out->shop : memory_copy("");
    return need_number(reading, "connections", 1, &out->load.connections) &&
           need_number(reading, "rate_per_s", 0, &out->load.rate_per_s) &&
           need_number(reading, "seed", 0, &out->seed);
}

static bool read_head(struct reading *reading)
{
    int64_t format;
    if (get(reading, "shop_ledger"))
        return refuse(reading, "of a version before 0.1.0: run the sale again");
    if (!get(reading, "ledger"))
        return refuse(reading, "no ledger: \"ledger\" is missing");
    return need_number(reading, "ledger", 1, &format) &&
           (format == LEDGER_FORMAT ||
            refuse(reading, "format %lld, which this program does not know: it writes %d",
                   (long long)format, LEDGER_FORMAT)) &&
           check_whose(reading) && take_number(reading, "seed", 0, &reading->out->seed) &&
           (reading->whose == LEDGER_OF_SERVERS || read_shop(reading));
}

static bool read_product(struct reading *reading)
{
    struct ledger_product product = {0};
    bool is_shops = reading->out->shop != NULL;
    bool good = need_number(reading, "product", !is_shops, &product.id) &&
                need_number(reading, "stock", is_shops, &product.stock) &&
                take_count(reading, "limit", INT64_MAX, &product.limit) &&
                take_count(reading, "epoch", INT64_MAX, &product.epoch) &&
                (product.stock <= STOCK_MAX || refuse(reading, "\"stock\" is too large")) &&
                (!is_shops || reading->out->products_count == 0 ||
                 refuse(reading, "a shop's sale is of one product"));
    ledger_add_product(reading->out, &product);
    return good;
}

/* --- operations on our own servers --- */

static bool is_whole(const struct reading *reading, const struct ledger_op *op)
{
    bool takes_units = op->kind == LEDGER_BUY || op->kind == LEDGER_RESTOCK;
    if (takes_units && (op->product <= 0 || op->quantity <= 0))
        return refuse(reading, "a %s needs a product and a quantity", ledger_kind_name(op->kind));
    if (!takes_units && !op->order)
        return refuse(reading, "a %s needs an order", ledger_kind_name(op->kind));
    if (op->quantity < 0 || op->quantity > QUANTITY_MAX)
        return refuse(reading, "\"quantity\" is not from 0 to %d", QUANTITY_MAX);
    return true;
}

static bool fill_begin(const struct reading *reading, struct ledger_op *op)
{
    return need_number(reading, "op", 1, &op->number) &&
           need_number(reading, "at_us", 0, &op->start_us) &&
           copy_text(reading, "user", LEDGER_KEY_MAX, &op->user) &&
           take_number(reading, "product", 0, &op->product) &&
           take_number(reading, "quantity", 0, &op->quantity) &&
           take_count(reading, "hold_s", HOLD_S_MAX, &op->hold_s) &&
           take_text(reading, "strategy", op->strategy, sizeof op->strategy) &&
           copy_text(reading, "key", LEDGER_KEY_MAX, &op->key) &&
           (op->kind == LEDGER_BUY || /* its answer names the order */
            copy_text(reading, "order", LEDGER_ID_SIZE - 1, &op->order)) &&
           is_whole(reading, op);
}

static bool read_begin(struct reading *reading, const char *kind)
{
    struct ledger *out = reading->out;
    struct ledger_op op = {.end_us = LEDGER_NEVER};
    int known = ledger_kind_of(kind);
    if (known < 0) {
        out->skipped++;
        return true;
    }
    op.kind = (enum ledger_kind)known;
    bool good = fill_begin(reading, &op);
    if (good && out->ops_count && out->ops[out->ops_count - 1].number >= op.number)
        good = refuse(reading, "op %lld begins behind a later one", (long long)op.number);
    ledger_add_op(out, &op);
    return good;
}

/* The order of an answer is the buy's; of other operations it is kept where it is another one than
 * they asked about. */
static bool take_order(const struct reading *reading, struct ledger_op *op)
{
    char **to = op->kind == LEDGER_BUY ? &op->order : &op->named;
    if (!copy_text(reading, "order", LEDGER_ID_SIZE - 1, to))
        return false;
    if (op->named && op->order && strcmp(op->named, op->order) == 0) {
        free(op->named);
        op->named = NULL;
    }
    return true;
}

/* The answer of `op`. */
static bool take_answer(const struct reading *reading, struct ledger_op *op)
{
    char is[8], state[LEDGER_NAME_SIZE];
    int64_t status;
    if (!need_number(reading, "end_us", op->start_us, &op->end_us) ||
        !take_text(reading, "is", is, sizeof is) ||
        !take_count(reading, "status", STATUS_MAX, &status) ||
        !take_text(reading, "code", op->code, sizeof op->code) || !take_order(reading, op) ||
        !take_text(reading, "state", state, sizeof state) ||
        !take_number(reading, "fence", 0, &op->fence))
        return false;
    int result = ledger_result_of(is);
    int known = ledger_state_of(state);
    if (result < 0)
        return refuse(reading, "\"is\" is none of ok, fail and info");
    if (known < 0)
        return refuse(reading, "\"state\" is no state of an order");
    op->result = (enum ledger_result)result;
    op->status = (int)status;
    op->state = (enum ledger_state)known;
    return op->kind != LEDGER_BUY || op->result != LEDGER_OK || op->key || op->order ||
           refuse(reading, "a buy that is ok needs a key or an order");
}

/* --- purchases of a shop: what an answer meant stands in "is", one word for a result, a code and a
 * state --- */

/* Purchases begin in the order of their numbers, and none is missing. */
static bool read_purchase(struct reading *reading, int64_t number)
{
    struct ledger *out = reading->out;
    int64_t wanted = (int64_t)out->ops_count + 1;
    if (number != wanted)
        return refuse(reading, "op %lld begins where op %lld should", (long long)number,
                      (long long)wanted);
    if (out->products_count == 0)
        return refuse(reading, "op %lld begins, and the product is missing", (long long)number);
    struct ledger_op *op = ledger_add_op(
        out, &(struct ledger_op){.number = number, .end_us = LEDGER_NEVER, .status = -1});
    reading->open++;
    return need_number(reading, "due_us", 0, &op->due_us) &&
           take_count(reading, "at_us", INT64_MAX, &op->start_us) &&
           copy_text(reading, "user", SIZE_MAX, &op->user) &&
           copy_text(reading, "key", SIZE_MAX, &op->key) &&
           take_switch(reading, "repeat", false, &op->repeat);
}

/* The end of a purchase that was sent. */
static bool take_sale(const struct reading *reading, struct ledger_op *op)
{
    reading->out->load.answered++;
    return need_number(reading, "sent_us", op->due_us, &op->start_us) &&
           need_number(reading, "end_us", op->start_us > 0 ? op->start_us : 1, &op->end_us) &&
           take_meaning(reading, "became", op->first, &op->last) &&
           copy_text(reading, "order", SIZE_MAX, &op->order) &&
           (op->last == op->first || op->first == SHOP_ACCEPTED ||
            refuse(reading, "only what was accepted becomes something else"));
}

/* The end of a purchase that was not sent, since a step failed, or said no. */
static bool take_unasked(const struct reading *reading, struct ledger_op *op)
{
    if (op->first == SHOP_UNKNOWN)
        return true;
    reading->out->load.answered++;
    return need_number(reading, "end_us", op->due_us > 0 ? op->due_us : 1, &op->end_us);
}

static bool was_answered(const struct reading *reading, const struct ledger_op *op)
{
    if (get(reading, "order"))
        return true;
    if (op->first == SHOP_UNKNOWN)
        return get(reading, "status") != NULL;
    return op->result != LEDGER_FAIL || get(reading, "sent_us");
}

static bool take_meaning_of(struct reading *reading, struct ledger_op *op)
{
    enum shop_meaning meaning;
    bool asked;
    int64_t status;
    if (!take_switch(reading, "asked", true, &asked) ||
        !take_meaning(reading, "is", SHOP_UNKNOWN, &meaning) ||
        !take_count(reading, "status", STATUS_MAX, &status))
        return false;
    reading->open--;
    op->status = (int)status;
    op->unasked = !asked;
    ledger_op_means(op, meaning);
    if (asked)
        return take_sale(reading, op);
    if (was_answered(reading, op))
        return refuse(reading, "op %lld was not asked, and was answered", (long long)op->number);
    return take_unasked(reading, op);
}

/* --- how a shop's load went, and its books --- */

static bool read_load(struct reading *reading)
{
    struct ledger_load *load = &reading->out->load;
    int64_t failures;
    if (reading->sent)
        return refuse(reading, "the load ends twice");
    if (!take_text(reading, "first_failure", load->first_failure, sizeof load->first_failure) ||
        !need_number(reading, "failures", 0, &failures) ||
        !need_number(reading, "began_us", 0, &load->began_us) ||
        !need_number(reading, "ended_us", load->began_us, &load->ended_us) ||
        !take_count(reading, "late_us", INT64_MAX, &load->late_us))
        return false;
    load->failures = (size_t)failures;
    reading->sent = true;
    return true;
}

/* What the books say once: how many are left, or how many orders there are. */
static bool read_figure(struct reading *reading, const char *name, bool *is_there, int64_t least,
                        int64_t *out)
{
    if (*is_there)
        return refuse(reading, "\"%s\" stands there twice", name);
    *is_there = true;
    return need_number(reading, name, least, out);
}

static bool read_left(struct reading *reading)
{
    struct rows *books = &reading->out->books;
    return read_figure(reading, "stock_left", &books->has_left, -ROWS_LEFT_MAX, &books->left) &&
           (books->left <= ROWS_LEFT_MAX || refuse(reading, "\"stock_left\" is too large"));
}

/* NULL stays. */
static char *copy_name(const json_t *value)
{
    return json_is_string(value) ? memory_copy(json_string_value(value)) : NULL;
}

static bool is_name(const json_t *value)
{
    return json_is_string(value) || json_is_null(value);
}

static bool read_row(struct reading *reading)
{
    const json_t *row = get(reading, "row"), *id = json_array_get(row, 0);
    const json_t *user = json_array_get(row, 1), *units = json_array_get(row, 2);
    struct rows *books = &reading->out->books;
    if (!is_name(id) || !is_name(user) || !json_is_integer(units) ||
        json_integer_value(units) < 0 || json_integer_value(units) > ROWS_UNITS_MAX)
        return refuse(reading, "\"row\" is no order's id, user and units");
    if ((int64_t)books->orders_count >= reading->orders)
        return refuse(reading, "\"orders\" is %lld, and here is one more",
                      (long long)reading->orders);
    struct row_order *into = rows_add_order(books);
    into->quantity = json_integer_value(units);
    into->id = copy_name(id);
    into->user = copy_name(user);
    return true;
}

/* Nothing is missing before it. */
static bool read_done(struct reading *reading)
{
    struct ledger *out = reading->out;
    if (reading->open > 0)
        return refuse(reading, "the end, and %lld purchases have none", (long long)reading->open);
    if (!reading->sent)
        return refuse(reading, "the end, and the load has none");
    if (out->products_count == 0)
        return refuse(reading, "the end, and the product is missing");
    out->done = (int64_t)out->books.orders_count == reading->orders;
    return out->done || refuse(reading, "the end, and there are %zu of %lld orders",
                               out->books.orders_count, (long long)reading->orders);
}

/* --- lines --- */

/* The end of an operation, or the beginning of a shop's. */
static bool read_op(struct reading *reading)
{
    bool is_shops = reading->out->shop != NULL;
    int64_t number;
    if (!need_number(reading, "op", 1, &number))
        return false;
    if (reading->sent)
        return refuse(reading, "op %lld stands behind the end of the load", (long long)number);
    if (is_shops && !get(reading, "is"))
        return read_purchase(reading, number);
    struct ledger_op *op = ledger_find_op(reading->out, number);
    if (!op && is_shops)
        return refuse(reading, "op %lld ends, and has not begun", (long long)number);
    if (!op) { /* of a sort that was skipped, or of nothing */
        reading->out->skipped++;
        return true;
    }
    if (is_shops ? op->status != -1 : op->end_us != LEDGER_NEVER)
        return refuse(reading, "op %lld ends twice", (long long)number);
    return is_shops ? take_meaning_of(reading, op) : take_answer(reading, op);
}

static bool read_line_of_shop(struct reading *reading)
{
    if (reading->out->done)
        return refuse(reading, "it stands behind the end");
    if (get(reading, "op"))
        return read_op(reading);
    if (get(reading, "failures"))
        return read_load(reading);
    if (get(reading, "stock_left"))
        return read_left(reading);
    if (get(reading, "orders"))
        return read_figure(reading, "orders", &reading->out->books.has_orders, 0, &reading->orders);
    if (get(reading, "row"))
        return read_row(reading);
    return json_is_true(get(reading, "done")) ? read_done(reading)
                                              : refuse(reading, "no line of a ledger");
}

static bool read_line(struct reading *reading)
{
    const char *kind = json_string_value(get(reading, "do"));
    if (get(reading, "ledger"))
        return refuse(reading, "a second ledger begins");
    if (get(reading, "product") && !get(reading, "op"))
        return read_product(reading);
    if (reading->out->shop)
        return read_line_of_shop(reading);
    if (get(reading, "op"))
        return kind ? read_begin(reading, kind) : read_op(reading);
    if (json_is_true(get(reading, "done")))
        reading->out->done = true;
    else if (!get(reading, "note")) /* a note is for people */
        reading->out->skipped++;
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
static bool take(struct reading *reading, const char *text, size_t length, size_t number)
{
    size_t most = reading->whose == LEDGER_OF_SHOP ? SHOP_LINE_BYTES_MAX : LINE_BYTES_MAX;
    if (length > most)
        return refuse(reading, "longer than %zu bytes", most);
    if (number > 1 && strspn(text, " \t\r\n") >= length)
        return true;
    json_t *line = load(text, length, number);
    bool good = json_is_object(line);
    reading->line = line;
    if (good)
        good = number == 1 ? read_head(reading) : read_line(reading);
    else if (number > 1 && text[length - 1] != '\n')
        reading->out->cut = good = true;
    else
        refuse(reading, "no JSON object");
    json_decref(line);
    return good;
}

static bool read_lines(struct reading *reading, FILE *from)
{
    char *text = NULL;
    size_t size = 0, number = 0;
    ssize_t length;
    bool good = true;
    while (good && (length = getline(&text, &size, from)) > 0) {
        good = take(reading, text, (size_t)length, ++number);
        if (!good)
            error_prefix(reading->error, "line %zu", number);
    }
    free(text);
    if (good && !feof(from))
        return refuse(reading, "%s", strerror(errno));
    if (good && number == 0)
        return refuse(reading, "it is empty");
    return good;
}

bool ledger_read(struct ledger *out, FILE *from, enum ledger_whose whose, struct error *error)
{
    struct reading reading = {.out = out, .whose = whose, .error = error};
    *out = (struct ledger){0};
    bool good = read_lines(&reading, from) && ledger_sort_products(out, error) &&
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
