/* See ledger.h. */
#include "loadtest/ledger/ledger.h"

#include "loadtest/base/pool.h"

#include <stdio.h>
#include <stdlib.h>

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

static void drop_texts(const struct ledger_op *op)
{
    free(op->user);
    free(op->key);
    free(op->order);
    free(op->named);
}

void ledger_fini(struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->ops_count; i++)
        drop_texts(&ledger->ops[i]);
    free(ledger->shop);
    rows_fini(&ledger->books);
    free(ledger->ops);
    free(ledger->products);
    *ledger = (struct ledger){0};
}

bool ledger_add_product(struct ledger *ledger, const struct ledger_product *product)
{
    struct ledger_product *added =
        array_add(&ledger->products, &ledger->products_count, sizeof *added);
    if (added)
        *added = *product;
    return added != NULL;
}

struct ledger_op *ledger_add_op(struct ledger *ledger, const struct ledger_op *op)
{
    struct ledger_op *added = array_add(&ledger->ops, &ledger->ops_count, sizeof *added);
    if (added)
        *added = *op;
    else
        drop_texts(op);
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
