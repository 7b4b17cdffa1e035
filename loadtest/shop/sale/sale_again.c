/* A sale that is judged again: see sale.h. */
#include "loadtest/shop/sale/sale.h"

#include "loadtest/ledger/ledger_read.h"

#include <inttypes.h>
#include <string.h>

/* What the ledger says of the sale, and what the target. */
struct sides {
    const char *ledger; /* its path */
    const struct target *target;
    struct error *error;
};

static bool refuse(const struct sides *sides, const char *what)
{
    struct error *error = sides->error;
    error_fail(error,
               "%s is of another sale than %s: %s; a ledger is judged with the target file "
               "that it was made with",
               sides->ledger, sides->target->path, what);
    return false;
}

static bool is_same(const struct sides *sides, const char *what, int64_t theirs, int64_t ours)
{
    char text[120];
    snprintf(text, sizeof text, "its %s is %" PRId64 ", and there it is %" PRId64, what, theirs,
             ours);
    return theirs == ours || refuse(sides, text);
}

static bool is_same_shop(const struct sides *sides, const char *shop)
{
    char text[240];
    snprintf(text, sizeof text, "its shop is called %.80s, and there it is %.80s (name)", shop,
             sides->target->name);
    return strcmp(shop, sides->target->name) == 0 || refuse(sides, text);
}

/* A claim is never "not checked" because the file has come to ask for more since. */
static bool has_same_books(const struct sides *sides, const struct rows *books)
{
    if (books->has_left != shop_query_is_given(&sides->target->stock_left))
        return refuse(sides, books->has_left ? "it has audit.stock, which is not asked for there"
                                             : "it has no audit.stock, which is asked for there");
    if (books->has_orders != shop_query_is_given(&sides->target->orders))
        return refuse(sides, books->has_orders
                                 ? "it has audit.orders, which is not asked for there"
                                 : "it has no audit.orders, which is asked for there");
    return true;
}

static bool is_of(const struct sides *sides, const struct ledger *ledger)
{
    const struct target *target = sides->target;
    const struct ledger_product *product = &ledger->products[0];
    return is_same_shop(sides, ledger->shop) &&
           is_same(sides, "product", product->id, target->product) &&
           is_same(sides, "stock", product->stock, target->stock) &&
           is_same(sides, "limit", product->limit, target->limit) &&
           has_same_books(sides, &ledger->books);
}

bool sale_judge_again(const char *path, struct sale_plan *plan, struct sale *out,
                      struct error *error)
{
    const struct sides sides = {path, plan->target, error};
    struct ledger *ledger = &out->ledger;
    *out = (struct sale){.judgement = {.verdict = SHOP_VERDICT_INVALID}};
    if (!ledger_read_file(ledger, path, LEDGER_OF_SHOP, error))
        return false;
    if (!is_of(&sides, ledger)) {
        ledger_fini(ledger);
        return false;
    }
    plan->connections = ledger->load.connections;
    plan->rate_per_s = ledger->load.rate_per_s;
    plan->seed = ledger->seed;
    return sale_judge(plan->target, out, error);
}
