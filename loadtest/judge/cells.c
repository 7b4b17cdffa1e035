/* See cells.h. Each database is asked for its own rows in one order, and two such lists are walked
 * side by side for what both have. */
#include "loadtest/judge/cells.h"

#include "loadtest/base/pool.h"
#include "loadtest/judge/connect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_MAX = 10 };

/* Without those that have moved away: there is nothing to sell and nothing was sold, or their sale
 * ended when no sale does, which is the mark of ops/haproxy/move-product.sh. */
static const char products_sql[] =
    "SELECT id FROM {schema}.product p WHERE id BETWEEN $1 AND $2 AND $3::int > 0"
    " AND closes_at IS DISTINCT FROM '2000-01-01Z' AND (initial_stock > 0 OR stock > 0 OR "
    "EXISTS (SELECT FROM {schema}.orders o"
    "  WHERE o.product_id = p.id AND o.epoch = p.epoch)) ORDER BY id";

/* The cell in the id's text: the first two digits of its last group. */
static const char strays_sql[] =
    "SELECT o.product_id, o.id, substr(o.id::text, 25, 2) FROM {schema}.orders o"
    " JOIN {schema}.product p ON p.id = o.product_id AND p.epoch = o.epoch"
    " WHERE p.id BETWEEN $1 AND $2 AND substr(o.id::text, 25, 2) <> lpad(to_hex($3::int), 2, '0') "
    "ORDER BY o.id";

/* Status 3: failed, so that the key is free. */
static const char keys_sql[] =
    "SELECT o.user_id, o.idempotency_key, o.id FROM {schema}.orders o"
    " JOIN {schema}.product p ON p.id = o.product_id AND p.epoch = o.epoch"
    " WHERE p.id BETWEEN $1 AND $2 AND $3::int > 0 AND o.status <> 3 AND o.idempotency_key <> ''"
    " ORDER BY o.user_id, o.idempotency_key COLLATE \"C\", o.id";

/* The findings of one kind so far. */
struct kind {
    FILE *to;
    int64_t count;
};

struct cell {
    size_t number;
    struct tables tables;      /* its connection owned */
    PGresult *products, *keys; /* owned */
};

static bool shows(struct kind *kind)
{
    return kind->count++ < SHOWN_MAX;
}

static void end_kind(const struct kind *kind, int64_t *wrong)
{
    if (kind->count > SHOWN_MAX)
        fprintf(kind->to, "and %" PRId64 " more\n", kind->count - SHOWN_MAX);
    *wrong += kind->count;
}

static PGresult *ask(const struct cell *cell, const struct cells_plan *plan, const char *sql,
                     struct error *error)
{
    const int64_t numbers[] = {plan->first, plan->last, (int64_t)cell->number};
    return tables_ask_numbers(&cell->tables, sql, 3, numbers, error);
}

static bool open_cell(struct cell *cell, const struct cells_plan *plan, struct error *error)
{
    if (!tables_open(&cell->tables, plan->databases[cell->number - 1], "seckill-loadtest",
                     plan->schema, error))
        return false;
    cell->products = ask(cell, plan, products_sql, error);
    cell->keys = cell->products ? ask(cell, plan, keys_sql, error) : NULL;
    return cell->keys != NULL;
}

static void close_cell(struct cell *cell)
{
    PQclear(cell->products);
    PQclear(cell->keys);
    PQfinish(cell->tables.connection);
}

static bool find_strays(const struct cell *cell, const struct cells_plan *plan, struct kind *kind,
                        struct error *error)
{
    PGresult *rows = ask(cell, plan, strays_sql, error);
    for (int i = 0; rows && i < PQntuples(rows); i++) {
        if (shows(kind))
            fprintf(kind->to, "product %s: order %s is in cell %zu, and its id names cell %ld\n",
                    PQgetvalue(rows, i, 0), PQgetvalue(rows, i, 1), cell->number,
                    strtol(PQgetvalue(rows, i, 2), NULL, 16));
    }
    PQclear(rows);
    return rows != NULL;
}

/* By a number, and by a text behind it where there is one. */
static int compare(const PGresult *a, int i, const PGresult *b, int k)
{
    int64_t left = tables_number(a, i, 0), right = tables_number(b, k, 0);
    int by = (left > right) - (left < right);
    return by || PQnfields(a) == 1 ? by : strcmp(PQgetvalue(a, i, 1), PQgetvalue(b, k, 1));
}

/* Calls `each` for what both lists have. */
static void walk(const struct cell *one, const PGresult *a, const struct cell *two,
                 const PGresult *b, struct kind *kind,
                 void (*each)(struct kind *kind, const struct cell *one, int i,
                              const struct cell *two, int k))
{
    for (int i = 0, k = 0; i < PQntuples(a) && k < PQntuples(b);) {
        int by = compare(a, i, b, k);
        if (by == 0 && shows(kind))
            each(kind, one, i, two, k);
        i += by <= 0;
        k += by >= 0;
    }
}

static void say_product(struct kind *kind, const struct cell *one, int i, const struct cell *two,
                        int k)
{
    (void)k;
    fprintf(kind->to, "product %s is in cell %zu, and in cell %zu\n",
            PQgetvalue(one->products, i, 0), one->number, two->number);
}

static void say_key(struct kind *kind, const struct cell *one, int i, const struct cell *two, int k)
{
    fprintf(kind->to, "user %s: the key %s has an order in cell %zu, %s, and in cell %zu, %s\n",
            PQgetvalue(one->keys, i, 0), PQgetvalue(one->keys, i, 1), one->number,
            PQgetvalue(one->keys, i, 2), two->number, PQgetvalue(two->keys, k, 2));
}

static bool look(const struct cell *cells, const struct cells_plan *plan, FILE *to, int64_t *wrong,
                 struct error *error)
{
    struct kind products = {to, 0}, strays = {to, 0}, keys = {to, 0};
    for (size_t i = 0; i < plan->count; i++)
        for (size_t k = i + 1; k < plan->count; k++)
            walk(&cells[i], cells[i].products, &cells[k], cells[k].products, &products,
                 say_product);
    end_kind(&products, wrong);
    for (size_t i = 0; i < plan->count; i++)
        if (!find_strays(&cells[i], plan, &strays, error))
            return false;
    end_kind(&strays, wrong);
    for (size_t i = 0; i < plan->count; i++)
        for (size_t k = i + 1; k < plan->count; k++)
            walk(&cells[i], cells[i].keys, &cells[k], cells[k].keys, &keys, say_key);
    end_kind(&keys, wrong);
    return true;
}

bool cells_audit(const struct cells_plan *plan, FILE *to, int64_t *wrong, struct error *error)
{
    struct cell *cells = memory_take(plan->count * sizeof *cells);
    bool good = true;
    *wrong = 0;
    for (size_t i = 0; good && i < plan->count; i++) {
        cells[i].number = i + 1;
        good = open_cell(&cells[i], plan, error) || error_prefix(error, "cell %zu", i + 1);
    }
    good = good && look(cells, plan, to, wrong, error);
    for (size_t i = 0; i < plan->count; i++)
        close_cell(&cells[i]);
    free(cells);
    return good;
}
