/* See sale_again.h. */
#include "loadtest/shop/sale/sale_again.h"

#include "loadtest/shop/load/shop_ledger_read.h"

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
static bool has_same_books(const struct sides *sides, const struct shop_books *books)
{
    if (books->has_left != shop_query_is_given(&sides->target->stock_left))
        return refuse(sides, books->has_left ? "it has audit.stock, which is not asked for there"
                                             : "it has no audit.stock, which is asked for there");
    if (books->has_rows != shop_query_is_given(&sides->target->orders))
        return refuse(sides, books->has_rows ? "it has audit.orders, which is not asked for there"
                                             : "it has no audit.orders, which is asked for there");
    return true;
}

static bool is_of(const struct sides *sides, const struct shop_record *record)
{
    const struct target *target = sides->target;
    return is_same_shop(sides, record->shop) &&
           is_same(sides, "product", record->product, target->product) &&
           is_same(sides, "stock", record->stock, target->stock) &&
           is_same(sides, "limit", record->limit, target->limit) &&
           has_same_books(sides, &record->books);
}

/* What the sale keeps of it. */
static void move(struct shop_record *record, struct sale_plan *plan, struct sale *out)
{
    plan->connections = record->load.connections;
    plan->rate_per_s = record->load.rate_per_s;
    plan->seed = record->load.seed;
    out->history = record->history;
    out->books = record->books;
    out->sent = record->sent;
    record->history = (struct shop_history){.items = NULL};
    record->books = (struct shop_books){.rows = NULL};
}

bool sale_judge_again(const char *ledger, struct sale_plan *plan, struct sale *out,
                      struct error *error)
{
    const struct sides sides = {ledger, plan->target, error};
    struct shop_record record;
    *out = (struct sale){.judgement = {.verdict = SHOP_VERDICT_INVALID}};
    if (!shop_ledger_read_file(&record, ledger, error))
        return false;
    bool good = is_of(&sides, &record);
    if (good)
        move(&record, plan, out);
    shop_record_fini(&record);
    return good && sale_judge(plan->target, out, error);
}
