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
