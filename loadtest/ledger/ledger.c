/* See ledger.h. */
#include "loadtest/ledger/ledger.h"

#include "loadtest/base/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[LEDGER_KINDS] = {"buy", "cancel", "restock", "read", "pay"};
static const char *const results[LEDGER_RESULTS] = {"info", "ok", "fail"};
static const char *const states[LEDGER_STATES] = {"",       "queued",  "confirmed", "cancelled",
                                                  "failed", "pending", "expired"};
static const char *const meanings[SHOP_MEANINGS] = {
    [SHOP_UNKNOWN] = "unknown",   [SHOP_SOLD] = "sold",       [SHOP_ACCEPTED] = "accepted",
    [SHOP_SOLD_OUT] = "sold_out", [SHOP_REFUSED] = "refused", [SHOP_SHED] = "shed",
};

static int find_word(const char *const *words, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], name) == 0)
            return i;
    }
    return -1;
}

/* A word's name, and the word of a name. */
#define WORDS(name_of, named, type, list)                                                          \
    const char *name_of(enum type word)                                                            \
    {                                                                                              \
        return (list)[word];                                                                       \
    }                                                                                              \
    int named(const char *name)                                                                    \
    {                                                                                              \
        return find_word(list, sizeof(list) / sizeof *(list), name);                               \
    }
WORDS(ledger_kind_name, ledger_kind_of, ledger_kind, kinds)
WORDS(ledger_result_name, ledger_result_of, ledger_result, results)
WORDS(ledger_state_name, ledger_state_of, ledger_state, states)
WORDS(shop_meaning_name, shop_meaning_named, shop_meaning, meanings)

struct row_order *rows_add_order(struct rows *rows)
{
    struct row_order *added = array_add(&rows->orders, &rows->orders_count, sizeof *added);
    added->state = LEDGER_CONFIRMED;
    return added;
}

void rows_fini(struct rows *rows)
{
    for (size_t i = 0; i < rows->orders_count; i++) {
        free(rows->orders[i].id);
        free(rows->orders[i].user);
        free(rows->orders[i].key);
    }
    free(rows->products);
    free(rows->strays);
    free(rows->orders);
    free(rows->mirrors);
    *rows = (struct rows){0};
}

int rows_compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

void *rows_find(const void *items, size_t count, size_t item_bytes, int64_t number)
{
    return count ? bsearch(&number, items, count, item_bytes, rows_compare) : NULL;
}

const struct row_product *rows_find_product(const struct rows *rows, int64_t id)
{
    return rows_find(rows->products, rows->products_count, sizeof *rows->products, id);
}

/* A sale is one of its row, whatever its buyer's status was; what is shed, or refused for another
 * reason, did nothing. */
void ledger_op_means(struct ledger_op *op, enum shop_meaning meaning)
{
    static const struct {
        enum ledger_result result;
        enum ledger_state state;
    } means[SHOP_MEANINGS] = {[SHOP_UNKNOWN] = {LEDGER_INFO, LEDGER_STATE_NONE},
                              [SHOP_SOLD] = {LEDGER_OK, LEDGER_CONFIRMED},
                              [SHOP_ACCEPTED] = {LEDGER_OK, LEDGER_QUEUED},
                              [SHOP_SOLD_OUT] = {LEDGER_FAIL, LEDGER_STATE_NONE},
                              [SHOP_REFUSED] = {LEDGER_FAIL, LEDGER_STATE_NONE},
                              [SHOP_SHED] = {LEDGER_FAIL, LEDGER_STATE_NONE}};
    op->means = true;
    op->first = op->last = meaning;
    op->result = means[meaning].result;
    op->state = means[meaning].state;
    snprintf(op->code, sizeof op->code, "%s",
             op->result == LEDGER_FAIL ? shop_meaning_name(meaning) : "");
}

void ledger_fini(struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->ops_count; i++) {
        free(ledger->ops[i].user);
        free(ledger->ops[i].key);
        free(ledger->ops[i].order);
        free(ledger->ops[i].named);
    }
    free(ledger->shop);
    rows_fini(&ledger->books);
    free(ledger->ops);
    free(ledger->products);
    *ledger = (struct ledger){0};
}

void ledger_add_product(struct ledger *ledger, const struct ledger_product *product)
{
    struct ledger_product *added =
        array_add(&ledger->products, &ledger->products_count, sizeof *added);
    *added = *product;
}

struct ledger_op *ledger_add_op(struct ledger *ledger, const struct ledger_op *op)
{
    struct ledger_op *added = array_add(&ledger->ops, &ledger->ops_count, sizeof *added);
    *added = *op;
    return added;
}

struct ledger_op *ledger_find_op(const struct ledger *ledger, int64_t number)
{
    return rows_find(ledger->ops, ledger->ops_count, sizeof *ledger->ops, number);
}

const struct ledger_product *ledger_find_product(const struct ledger *ledger, int64_t id)
{
    return rows_find(ledger->products, ledger->products_count, sizeof *ledger->products, id);
}

int ledger_compare_texts(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

static int compare(const struct ledger_op *a, const struct ledger_op *b, enum ledger_by by)
{
    switch (by) {
    case LEDGER_BY_PRODUCT:
        return rows_compare(&a->product, &b->product);
    case LEDGER_BY_USER:
        return ledger_compare_texts(a->user, b->user);
    case LEDGER_BY_KEY:
        return ledger_compare_texts(a->key, b->key);
    case LEDGER_BY_ORDER:
        return ledger_compare_texts(a->order, b->order);
    case LEDGER_BY_PAYMENT:
        return (b->kind == LEDGER_PAY) - (a->kind == LEDGER_PAY);
    case LEDGER_BY_START:
        return rows_compare(&a->start_us, &b->start_us);
    case LEDGER_BY_END:
        return rows_compare(&a->end_us, &b->end_us);
    case LEDGER_BY_NUMBER:
        break;
    }
    return rows_compare(&a->number, &b->number);
}

static int compare_in_turn(const void *a, const void *b, void *orders)
{
    const struct ledger_op *const *left = a, *const *right = b;
    const enum ledger_by *by = orders;
    int difference = compare(*left, *right, by[0]);
    if (difference == 0)
        difference = compare(*left, *right, by[1]);
    return difference ? difference : compare(*left, *right, LEDGER_BY_NUMBER);
}

void ledger_sort(const struct ledger_op **ops, size_t count, enum ledger_by by, enum ledger_by then)
{
    enum ledger_by orders[] = {by, then};
    qsort_r(ops, count, sizeof *ops, compare_in_turn, orders);
}

size_t ledger_run(const struct ledger_op *const *ops, size_t from, size_t count, enum ledger_by by)
{
    size_t to = from + 1;
    while (to < count && compare(ops[from], ops[to], by) == 0)
        to++;
    return to;
}

bool ledger_sort_products(struct ledger *ledger, struct error *error)
{
    if (ledger->products_count > 1)
        qsort(ledger->products, ledger->products_count, sizeof *ledger->products, rows_compare);
    for (size_t i = 1; i < ledger->products_count; i++) {
        if (ledger->products[i].id == ledger->products[i - 1].id)
            return error_fail(error, "product %lld is put on sale twice",
                              (long long)ledger->products[i].id);
    }
    return true;
}
