/* See rows_read.h. Only rows of a product's current epoch count: a PUT starts a new sale. */
#include "loadtest/judge/evidence/rows_read.h"

#include "loadtest/base/pool.h"
#include "loadtest/judge/connect.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows in the order of bytes, as bsearch looks for them. Status: 0 queued, 1 confirmed, 2
 * cancelled, 3 failed, 4 pending, 5 expired. The end of a hold by its name, so that tables without
 * that column can be read. The last column is what the feed says of the order last, where that is
 * not its status: its last change, unless that comes before the row itself, which says what the
 * order was at first. */
static const char products_sql[] =
    "SELECT id, epoch, initial_stock, stock + coalesce((SELECT sum(stock) FROM {schema}.bucket b"
    "   WHERE b.product_id = p.id AND b.epoch = p.epoch), 0),"
    "  coalesce(limit_per_user, 0), coalesce((SELECT sum(quantity) FROM {schema}.restock r"
    "   WHERE r.product_id = p.id AND r.epoch = p.epoch AND r.quantity > 0), 0)"
    " FROM {schema}.product p WHERE id = ANY ($1::bigint[]) ORDER BY id";

static const char orders_sql[] =
    "SELECT o.id::text, o.product_id, o.user_id::text, o.quantity, o.status, o.idempotency_key,"
    "  o.status = 4 AND coalesce((to_jsonb(o) ->> 'hold_until')::timestamptz"
    "   < clock_timestamp() - interval '10 s', true),"
    "  nullif(CASE WHEN c.entered >= o.entered THEN c.status WHEN o.published_at IS NOT NULL THEN 0"
    "   WHEN to_jsonb(o) ->> 'hold_until' IS NOT NULL THEN 4 WHEN o.status = 2 THEN 1"
    "   ELSE o.status END, o.status), o.status = 3 AND o.reason = 'lost'"
    " FROM {schema}.orders o JOIN {schema}.product p ON p.id = o.product_id AND p.epoch = o.epoch"
    " LEFT JOIN (SELECT DISTINCT ON (id) id, status, entered FROM {schema}.order_change"
    "   WHERE product_id = ANY ($1::bigint[])"
    "   ORDER BY id, entered DESC, status % 4 DESC, status DESC) c ON c.id = o.id"
    " WHERE p.id = ANY ($1::bigint[]) AND (o.status <> 3 OR"
    "  o.reason IS DISTINCT FROM 'not_committed') ORDER BY o.id::text COLLATE \"C\"";

static const char residue_sql[] =
    "SELECT count(*) FILTER (WHERE state LIKE 'idle in transaction%'"
    "   AND state_change < clock_timestamp() - interval '5 s'),"
    "  (SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()),"
    "  count(*) FILTER (WHERE wait_event_type = 'Lock'"
    "   AND state_change < clock_timestamp() - interval '5 s')"
    " FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid() AND $1 <> ''";

/* A list of numbers as PostgreSQL reads it. Owned by the caller. */
static char *list_products(const struct ledger *ledger)
{
    enum { DIGITS = 21 };
    size_t size = ledger->products_count * DIGITS + sizeof "{}", used = 1;
    char *text = memory_take(size);
    for (size_t i = 0; i < ledger->products_count; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, i ? "," : "",
                                 ledger->products[i].id);
    text[0] = '{';
    text[used] = '}';
    return text;
}

static void take_products(struct rows *out, const PGresult *result, int cell)
{
    for (int i = 0; i < PQntuples(result); i++) {
        struct row_product *to = array_add(&out->products, &out->products_count, sizeof *to);
        *to = (struct row_product){
            .id = tables_number(result, i, 0),
            .epoch = tables_number(result, i, 1),
            .initial = tables_number(result, i, 2),
            .stock = tables_number(result, i, 3),
            .limit = tables_number(result, i, 4),
            .restocked = tables_number(result, i, 5),
            .cell = cell,
        };
    }
}

/* A status is the number of a state, less one: NONE. */
static enum ledger_state state(int64_t status)
{
    return status >= 0 && status < LEDGER_STATES - 1 ? (enum ledger_state)(status + 1)
                                                     : LEDGER_FAILED;
}

static void take_orders(struct rows *out, const PGresult *result, int cell)
{
    out->has_orders = true;
    for (int i = 0; i < PQntuples(result); i++) {
        struct row_order *to = rows_add_order(out);
        to->id = memory_copy(PQgetvalue(result, i, 0));
        to->user = memory_copy(PQgetvalue(result, i, 2));
        to->key = PQgetisnull(result, i, 5) ? NULL : memory_copy(PQgetvalue(result, i, 5));
        to->cell = cell;
        to->product = tables_number(result, i, 1);
        to->quantity = tables_number(result, i, 3);
        to->state = state(tables_number(result, i, 4));
        to->overdue = PQgetvalue(result, i, 6)[0] == 't';
        to->lost = PQgetvalue(result, i, 8)[0] == 't';
        to->told =
            PQgetisnull(result, i, 7) ? LEDGER_STATE_NONE : state(tables_number(result, i, 7));
    }
}

static void take_residue(struct rows *out, const PGresult *result, int cell)
{
    (void)cell;
    out->idle_transactions += tables_number(result, 0, 0);
    out->prepared += tables_number(result, 0, 1);
    out->waiting += tables_number(result, 0, 2);
}

static bool read_all(struct rows *out, const struct tables *tables, const char *products, int cell,
                     struct error *error)
{
    static const struct {
        const char *sql;
        void (*take)(struct rows *, const PGresult *, int);
    } parts[] = {
        {products_sql, take_products}, {orders_sql, take_orders}, {residue_sql, take_residue}};
    PGresult *begun = PQexec(tables->connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    bool good = PQresultStatus(begun) == PGRES_COMMAND_OK ||
                connect_failed(tables->connection, "the checker's snapshot", error);
    PQclear(begun);
    for (size_t i = 0; good && i < sizeof parts / sizeof parts[0]; i++) {
        PGresult *result = tables_ask(tables, parts[i].sql, 1, &products, error);
        good = result != NULL;
        if (good)
            parts[i].take(out, result, cell);
        PQclear(result);
    }
    return good;
}

static bool is_of_sale(const struct row_product *row, const struct ledger *ledger)
{
    const struct ledger_product *product = ledger_find_product(ledger, row->id);
    return product && product->epoch == row->epoch;
}

/* The products of several cells, in the order of one. Of a product that is in several, the row of
 * the ledger's sale counts. */
static void join(struct rows *out, const struct ledger *ledger)
{
    struct row_product *products = out->products;
    size_t kept = 0;
    if (!products) /* no cell has any */
        return;
    qsort(products, out->products_count, sizeof *products, rows_compare);
    for (size_t i = 0; i < out->products_count; i++) {
        struct row_product *next = &products[i];
        struct row_product *last = kept > 0 ? &products[kept - 1] : NULL;
        if (!last || last->id != next->id) {
            products[kept++] = *next;
            continue;
        }
        bool better = is_of_sale(next, ledger) && !is_of_sale(last, ledger);
        struct row_product *stray = array_add(&out->strays, &out->strays_count, sizeof *stray);
        *stray = better ? *last : *next;
        if (better)
            *last = *next;
        last->restocked += stray->restocked; /* as all of them have its orders */
    }
    out->products_count = kept;
}

bool rows_read(struct rows *out, const struct ledger *ledger, const struct rows_place *place,
               struct error *error)
{
    char *products = list_products(ledger);
    bool good = true;
    for (size_t i = 0; good && i < place->count; i++) {
        struct tables tables;
        good = tables_open(&tables, place->databases[i], "seckill-loadtest check", place->schema,
                           error) &&
               read_all(out, &tables, products, place->count > 1 ? (int)i + 1 : 0, error);
        PQfinish(tables.connection);
        if (!good && place->count > 1)
            error_prefix(error, "cell %zu", i + 1);
    }
    free(products);
    join(out, ledger);
    return good;
}
