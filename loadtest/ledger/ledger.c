/* See ledger.h. */
#include "loadtest/ledger/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[LEDGER_KINDS] = {"buy", "cancel", "restock", "read", "pay"};
static const char *const results[LEDGER_RESULTS] = {"info", "ok", "fail"};
static const char *const states[LEDGER_STATES] = {"",       "queued",  "confirmed", "cancelled",
                                                  "failed", "pending", "expired"};

const char *ledger_kind_name(enum ledger_kind kind)
{
    return kinds[kind];
}

const char *ledger_result_name(enum ledger_result result)
{
    return results[result];
}

const char *ledger_state_name(enum ledger_state state)
{
    return states[state];
}

static int find_word(const char *const *words, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], name) == 0)
            return i;
    }
    return -1;
}

int ledger_kind_of(const char *name)
{
    return find_word(kinds, LEDGER_KINDS, name);
}

int ledger_result_of(const char *name)
{
    return find_word(results, LEDGER_RESULTS, name);
}

int ledger_state_of(const char *name)
{
    return find_word(states, LEDGER_STATES, name);
}

void ledger_fini(struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->ops_count; i++)
        free(ledger->ops[i].key);
    free(ledger->ops);
    free(ledger->products);
    *ledger = (struct ledger){0};
}

/* Room for one more. NULL: no memory; the old list stays as it is. */
static void *make_room(void *items, size_t count, size_t *size, size_t item_bytes)
{
    if (count < *size)
        return items;
    size_t more = *size ? *size * 2 : 64;
    void *grown = reallocarray(items, more, item_bytes);
    if (grown)
        *size = more;
    return grown;
}

bool ledger_add_product(struct ledger *ledger, const struct ledger_product *product)
{
    struct ledger_product *items = make_room(ledger->products, ledger->products_count,
                                             &ledger->products_size, sizeof *ledger->products);
    if (!items)
        return false;
    ledger->products = items;
    items[ledger->products_count++] = *product;
    return true;
}

bool ledger_add_op(struct ledger *ledger, const struct ledger_op *op)
{
    struct ledger_op *items =
        make_room(ledger->ops, ledger->ops_count, &ledger->ops_size, sizeof *ledger->ops);
    if (!items) {
        free(op->key);
        return false;
    }
    ledger->ops = items;
    items[ledger->ops_count++] = *op;
    return true;
}

void ledger_take_named(struct ledger_op *op, const char *id)
{
    if (*op->order && strcmp(op->order, id) != 0)
        snprintf(op->named, sizeof op->named, "%s", id);
}

static int op_by_number(const void *key, const void *item)
{
    int64_t number = *(const int64_t *)key;
    int64_t other = ((const struct ledger_op *)item)->number;
    return (number > other) - (number < other);
}

struct ledger_op *ledger_find_op(const struct ledger *ledger, int64_t number)
{
    return ledger->ops_count
               ? bsearch(&number, ledger->ops, ledger->ops_count, sizeof *ledger->ops, op_by_number)
               : NULL;
}

static int by_id(const void *a, const void *b)
{
    int64_t left = ((const struct ledger_product *)a)->id;
    int64_t right = ((const struct ledger_product *)b)->id;
    return (left > right) - (left < right);
}

const struct ledger_product *ledger_find_product(const struct ledger *ledger, int64_t id)
{
    struct ledger_product wanted = {.id = id};
    return ledger->products_count ? bsearch(&wanted, ledger->products, ledger->products_count,
                                            sizeof *ledger->products, by_id)
                                  : NULL;
}

bool ledger_sort_products(struct ledger *ledger, struct error *error)
{
    if (ledger->products_count > 1)
        qsort(ledger->products, ledger->products_count, sizeof *ledger->products, by_id);
    for (size_t i = 1; i < ledger->products_count; i++) {
        if (ledger->products[i].id == ledger->products[i - 1].id)
            return error_fail(error, "product %lld is put on sale twice",
                              (long long)ledger->products[i].id);
    }
    return true;
}
