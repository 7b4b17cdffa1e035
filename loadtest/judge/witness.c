/* See witness.h. Only rows of a product's current epoch count: a PUT starts a new sale. */
#include "loadtest/judge/witness.h"

#include "loadtest/base/pool.h"
#include "loadtest/judge/connect.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct witness {
    struct tables tables; /* its connection owned */
    size_t cell;          /* its number; 0: there are no cells */
    PGresult *sales;      /* owned: ids and epochs as they were remembered; NULL: none */
    PGresult *list;       /* owned: of a cell that is compared with others; NULL: none */
    int64_t first, last;
    struct witness *next; /* owned: of the next cell; NULL: there is none */
};

/* What an order may be told after it was accepted. Whatever else has failed was taken back. */
#define REFUSED                                                                                    \
    "o.reason IN ('sold_out', 'limit_reached', 'sale_not_open') OR o.reason LIKE 'duplicate %'"

/* One statement is one snapshot. Status: 0 queued, 1 confirmed, 2 cancelled, 3 failed, 4 pending
 * (to be paid), 5 expired. An order that failed as "not_committed" and a restock of nothing are
 * tombstones: they say that something was not done, and nobody was told that it had been accepted.
 * A user's share of the limit is what they have: what they wait for may still be refused. The
 * figures stand in the order of struct books. */
static const char audit_sql[] =
    "WITH item AS MATERIALIZED ("
    "  SELECT id, epoch, initial_stock, limit_per_user,"
    "    stock + coalesce((SELECT sum(stock) FROM {schema}.bucket b"
    "      WHERE b.product_id = p.id AND b.epoch = p.epoch), 0) AS stock"
    "  FROM {schema}.product p WHERE id BETWEEN $1 AND $2),"
    " sale AS MATERIALIZED ("
    "  SELECT o.product_id AS id, o.user_id, o.quantity, o.status, o.strategy, o.idempotency_key"
    "  FROM {schema}.orders o JOIN item i ON i.id = o.product_id AND i.epoch = o.epoch"
    "  WHERE o.status <> 3),"
    " refill AS ("
    "  SELECT r.product_id AS id, r.quantity, r.strategy"
    "  FROM {schema}.restock r JOIN item i ON i.id = r.product_id AND i.epoch = r.epoch"
    "  WHERE r.quantity > 0),"
    " sold AS ("
    "  SELECT id, sum(quantity) FILTER (WHERE status = 1) AS units,"
    "    count(*) FILTER (WHERE status IN (1, 4, 5)) AS rows,"
    "    sum(quantity) FILTER (WHERE status = 4) AS held,"
    "    sum(quantity) FILTER (WHERE status = 0) AS waiting"
    "  FROM sale GROUP BY id),"
    " refilled AS (SELECT id, sum(quantity) AS units, count(*) AS rows FROM refill GROUP BY id),"
    " doubled AS ("
    "  SELECT id, sum(n - 1) AS rows FROM ("
    "    SELECT id, count(*) AS n FROM sale WHERE idempotency_key <> ''"
    "    GROUP BY id, user_id, idempotency_key) AS by_key GROUP BY id),"
    " greedy AS ("
    "  SELECT id, count(*) AS users FROM ("
    "    SELECT s.id FROM sale s JOIN item i ON i.id = s.id"
    "    WHERE s.status IN (1, 4) AND i.limit_per_user IS NOT NULL"
    "    GROUP BY s.id, s.user_id, i.limit_per_user"
    "    HAVING sum(s.quantity) > i.limit_per_user) AS by_user GROUP BY id),"
    " denied AS ("
    "  SELECT o.product_id AS id, count(*) FILTER (WHERE " REFUSED ") AS rows,"
    "    count(*) FILTER (WHERE (" REFUSED ") IS NOT TRUE) AS revoked,"
    "    sum(o.quantity) FILTER (WHERE o.reason = 'lost') AS lost"
    "  FROM {schema}.orders o JOIN item i ON i.id = o.product_id AND i.epoch = o.epoch"
    "  WHERE o.status = 3 AND o.reason IS DISTINCT FROM 'not_committed' GROUP BY o.product_id),"
    " names AS ("
    "  SELECT id, string_agg(DISTINCT strategy, ',' ORDER BY strategy) AS list FROM ("
    "    SELECT id, strategy FROM sale UNION ALL SELECT id, strategy FROM refill) AS every"
    "  GROUP BY id)"
    " SELECT i.id, i.epoch, coalesce(i.limit_per_user, 0), coalesce(names.list, ''),"
    "   i.initial_stock, coalesce(refilled.units, 0), coalesce(sold.units, 0),"
    "   coalesce(sold.held, 0), i.stock, coalesce(doubled.rows, 0), coalesce(greedy.users, 0),"
    "   coalesce(sold.waiting, 0), coalesce(sold.rows, 0), coalesce(refilled.rows, 0),"
    "   coalesce(denied.rows, 0), coalesce(denied.revoked, 0), coalesce(denied.lost, 0)"
    " FROM item i LEFT JOIN sold USING (id) LEFT JOIN refilled USING (id)"
    "   LEFT JOIN doubled USING (id) LEFT JOIN greedy USING (id) LEFT JOIN names USING (id)"
    "   LEFT JOIN denied USING (id)"
    " ORDER BY i.id";

static const char look_sql[] =
    "SELECT coalesce(sum(p.stock), 0) +"
    "  (SELECT coalesce(sum(b.stock), 0) FROM {schema}.bucket b"
    "   JOIN {schema}.product q ON q.id = b.product_id AND q.epoch = b.epoch"
    "   WHERE q.id BETWEEN $1 AND $2),"
    "  (SELECT count(*) FROM {schema}.orders o"
    "   JOIN {schema}.product q ON q.id = o.product_id AND q.epoch = o.epoch"
    "   WHERE q.id BETWEEN $1 AND $2),"
    "  (SELECT count(*) FROM {schema}.orders o"
    "   JOIN {schema}.product q ON q.id = o.product_id AND q.epoch = o.epoch"
    "   WHERE q.id BETWEEN $1 AND $2 AND o.status = 0),"
    "  EXISTS (SELECT FROM {schema}.orders o"
    "   JOIN {schema}.product q ON q.id = o.product_id AND q.epoch <> o.epoch"
    "   WHERE q.id BETWEEN $1 AND $2)::int"
    " FROM {schema}.product p WHERE p.id BETWEEN $1 AND $2";

static const char hold_sql[] =
    "SELECT coalesce(sum(rows), 0), count(*), coalesce(max(units), 0) FROM ("
    "  SELECT count(*) AS rows, sum(o.quantity) AS units FROM {schema}.orders o"
    "  JOIN {schema}.product p ON p.id = o.product_id AND p.epoch = o.epoch"
    "  WHERE p.id BETWEEN $1 AND $2 AND o.status = 1 GROUP BY o.user_id) AS by_user";

#define SOLD                                                                                       \
    " FROM {schema}.orders o JOIN {schema}.product p ON p.id = o.product_id AND p.epoch = o.epoch" \
    " WHERE p.id BETWEEN $1 AND $2 AND o.status = 1 AND coalesce(o.idempotency_key, '') "

static const char keyed_sql[] =
    "SELECT o.id, o.idempotency_key, o.product_id, o.user_id, o.quantity" SOLD "<> ''"
    " ORDER BY reverse(o.id::text) LIMIT $3";

static const char keyless_sql[] = "SELECT count(*)" SOLD "= ''";

/* In this database, but for this session, or of a standby. While nobody writes, every reader has
 * the number of the next transaction, which keeps nothing. */
static const char oldest_held_sql[] =
    "SELECT coalesce((SELECT number::text FROM ("
    "  SELECT unnest(ARRAY[backend_xid, backend_xmin]) AS number FROM pg_stat_activity"
    "  WHERE (datname = current_database() OR datid IS NULL) AND pid <> pg_backend_pid()"
    "    AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)"
    "  UNION ALL SELECT xmin FROM pg_replication_slots"
    "  UNION ALL SELECT transaction FROM pg_prepared_xacts WHERE database = current_database()"
    " ) AS held WHERE age(number) > age(pg_snapshot_xmax(pg_current_snapshot())::xid)"
    " ORDER BY age(number) DESC LIMIT 1), '')";

const char *witness_schema(const struct witness *witness)
{
    return witness->tables.schema;
}

struct witness *witness_create(const char *conninfo, const char *schema, struct error *error)
{
    struct witness *witness = memory_take(sizeof *witness);
    if (tables_open(&witness->tables, conninfo, "seckill-loadtest", schema, error))
        return witness;
    if (!witness->tables.connection)
        error_prefix(error, "the witness cannot connect");
    witness_destroy(witness);
    return NULL;
}

struct witness *witness_create_cells(const char *const *conninfos, size_t count, const char *schema,
                                     struct error *error)
{
    struct witness *first = NULL;
    for (size_t i = count; i-- > 0;) {
        struct witness *cell = witness_create(conninfos[i], schema, error);
        if (!cell) {
            if (count > 1)
                error_prefix(error, "cell %zu", i + 1);
            witness_destroy(first);
            return NULL;
        }
        cell->cell = count > 1 ? i + 1 : 0;
        cell->next = first;
        first = cell;
    }
    return first;
}

void witness_destroy(struct witness *witness)
{
    while (witness) {
        struct witness *next = witness->next;
        PQclear(witness->sales);
        PQclear(witness->list);
        PQfinish(witness->tables.connection);
        free(witness);
        witness = next;
    }
}

/* What a statement gave; NULL: nothing, and the error says who asked. */
static PGresult *told(const struct witness *witness, PGresult *result, struct error *error)
{
    if (!result)
        error_prefix(error, "the witness");
    if (!result && witness->cell)
        error_prefix(error, "cell %zu", witness->cell);
    return result;
}

static PGresult *query_range(struct witness *witness, const char *sql, int64_t first, int64_t last,
                             struct error *error)
{
    const int64_t range[] = {first, last};
    return told(witness, tables_ask_numbers(&witness->tables, sql, 2, range, error), error);
}

bool witness_audit(struct witness *witness, int64_t first, int64_t last,
                   void (*each)(void *context, const struct witness_product *product),
                   void *context, struct error *error)
{
    if (!witness)
        return true;
    PGresult *rows = query_range(witness, audit_sql, first, last, error);
    if (!rows)
        return false;
    for (int i = 0; i < PQntuples(rows); i++) {
        struct witness_product product = {.cell = witness->cell,
                                          .id = tables_number(rows, i, 0),
                                          .epoch = tables_number(rows, i, 1),
                                          .limit = tables_number(rows, i, 2)};
        int64_t *figures = (void *)&product.audit;
        for (int k = 1; k <= BOOKS_OF_ROWS; k++)
            figures[k] = tables_number(rows, i, 3 + k);
        books_add_strategies(&product.audit, PQgetvalue(rows, i, 3));
        books_compute(&product.audit);
        each(context, &product);
    }
    PQclear(rows);
    return witness_audit(witness->next, first, last, each, context, error);
}

static void add(void *context, const struct witness_product *product)
{
    books_add(context, &product->audit);
}

bool witness_sum(struct witness *witness, int64_t first, int64_t last, struct books *sum,
                 struct error *error)
{
    *sum = (struct books){0};
    return witness_audit(witness, first, last, add, sum, error);
}

/* What a statement gives of these products, in its first row: so many numbers; the cells' sums. */
static bool query_numbers(struct witness *witness, const char *sql, int64_t first, int64_t last,
                          int64_t *out, int count, struct error *error)
{
    bool asked = true;
    for (; asked && witness; witness = witness->next) {
        PGresult *rows = query_range(witness, sql, first, last, error);
        for (int i = 0; rows && i < count; i++)
            out[i] += tables_number(rows, 0, i);
        PQclear(rows);
        asked = rows != NULL;
    }
    return asked;
}

bool witness_look(struct witness *witness, int64_t first, int64_t last, struct witness_state *state,
                  struct error *error)
{
    *state = (struct witness_state){0};
    return query_numbers(witness, look_sql, first, last, &state->stock, 4, error);
}

static PGresult *list_sales(struct witness *witness, struct error *error)
{
    static const char sql[] =
        "SELECT id, epoch FROM {schema}.product WHERE id BETWEEN $1 AND $2 ORDER BY id";
    return query_range(witness, sql, witness->first, witness->last, error);
}

static bool fail_again(int64_t product, struct error *error)
{
    return error_fail(error, "product %lld was put on sale again meanwhile", (long long)product);
}

bool witness_remember(struct witness *witness, int64_t first, int64_t last, int64_t epoch,
                      struct error *error)
{
    if (!witness)
        return true;
    PQclear(witness->sales);
    witness->first = first;
    witness->last = last;
    witness->sales = list_sales(witness, error);
    int end = witness->sales ? PQntuples(witness->sales) - 1 : -1;
    if (end >= 0 && epoch && tables_number(witness->sales, end, 0) == last &&
        tables_number(witness->sales, end, 1) != epoch)
        return fail_again(last, error);
    return witness->sales && witness_remember(witness->next, first, last, epoch, error);
}

bool witness_same_sales(struct witness *witness, struct error *error)
{
    if (!witness)
        return true;
    PGresult *now = witness->sales ? list_sales(witness, error) : NULL;
    bool good = now || !witness->sales;
    for (int i = 0; good && now && i < PQntuples(witness->sales); i++) {
        if (i >= PQntuples(now) ||
            tables_number(now, i, 0) != tables_number(witness->sales, i, 0) ||
            tables_number(now, i, 1) != tables_number(witness->sales, i, 1))
            good = fail_again(tables_number(witness->sales, i, 0), error);
    }
    PQclear(now);
    return good && witness_same_sales(witness->next, error);
}

bool witness_holds(struct witness *witness, int64_t first, int64_t last,
                   struct witness_holdings *holdings, struct error *error)
{
    *holdings = (struct witness_holdings){0};
    return query_numbers(witness, hold_sql, first, last, &holdings->orders, 3, error);
}

bool witness_keyed(struct witness *witness, const struct witness_sample *sample,
                   bool (*each)(void *context, const struct witness_order *order), void *context,
                   struct error *error)
{
    const int64_t numbers[] = {sample->first, sample->last, sample->most};
    if (!witness)
        return true;
    PGresult *rows =
        told(witness, tables_ask_numbers(&witness->tables, keyed_sql, 3, numbers, error), error);
    bool good = rows != NULL;
    for (int i = 0; good && i < PQntuples(rows); i++) {
        const struct witness_order order = {.id = PQgetvalue(rows, i, 0),
                                            .key = PQgetvalue(rows, i, 1),
                                            .product = tables_number(rows, i, 2),
                                            .user = tables_number(rows, i, 3),
                                            .quantity = tables_number(rows, i, 4)};
        good = each(context, &order);
    }
    PQclear(rows);
    return good && witness_keyed(witness->next, sample, each, context, error);
}

bool witness_count_keyless(struct witness *witness, int64_t first, int64_t last, int64_t *count,
                           struct error *error)
{
    *count = 0;
    return query_numbers(witness, keyless_sql, first, last, count, 1, error);
}

bool witness_epoch(struct witness *witness, int64_t product, int64_t *epoch, struct error *error)
{
    PGresult *rows =
        query_range(witness, "SELECT epoch FROM {schema}.product WHERE id BETWEEN $1 AND $2",
                    product, product, error);
    if (!rows)
        return false;
    bool found = PQntuples(rows) == 1;
    if (found)
        *epoch = tables_number(rows, 0, 0);
    PQclear(rows);
    if (!found && witness->next)
        return witness_epoch(witness->next, product, epoch, error);
    return found ||
           error_fail(error,
                      "the witness's database (--database) has no product %lld in the schema "
                      "%s (--schema): the servers use another one",
                      (long long)product, witness->tables.schema);
}

/* The one field of what a statement with one value, or NULL and none, gives. */
static bool query_text(struct witness *witness, const char *sql, const char *value, char *out,
                       size_t size, struct error *error)
{
    PGresult *rows =
        told(witness, tables_ask(&witness->tables, sql, value != NULL, &value, error), error);
    if (!rows)
        return false;
    snprintf(out, size, "%s", PQgetvalue(rows, 0, 0));
    PQclear(rows);
    return true;
}

bool witness_oldest_held(struct witness *witness, char out[WITNESS_NUMBER_SIZE],
                         struct error *error)
{
    return query_text(witness, oldest_held_sql, NULL, out, WITNESS_NUMBER_SIZE, error);
}

bool witness_time(struct witness *witness, int64_t after_us, char *out, size_t size,
                  struct error *error)
{
    char after[24];
    snprintf(after, sizeof after, "%lld", (long long)after_us);
    return query_text(witness,
                      "SELECT to_char((clock_timestamp() + $1::bigint * interval '1 us')"
                      "  AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')",
                      after, out, size, error);
}

bool witness_setting(struct witness *witness, const char *name, char *out, size_t size,
                     struct error *error)
{
    return query_text(witness, "SELECT current_setting($1)", name, out, size, error);
}

/* --- cells beside each other --- */

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

struct comparing {
    int64_t first, last; /* products */
    FILE *to;
    int64_t count; /* findings of one kind so far */
    struct error *error;
};

static bool shows(struct comparing *is)
{
    return is->count++ < SHOWN_MAX;
}

static PGresult *ask_cell(const struct witness *witness, const struct comparing *is,
                          const char *sql)
{
    const int64_t numbers[] = {is->first, is->last, (int64_t)witness->cell};
    return told(witness, tables_ask_numbers(&witness->tables, sql, 3, numbers, is->error),
                is->error);
}

static bool find_strays(const struct witness *cell, struct comparing *is)
{
    PGresult *rows = ask_cell(cell, is, strays_sql);
    for (int i = 0; rows && i < PQntuples(rows); i++) {
        if (shows(is))
            fprintf(is->to, "product %s: order %s is in cell %zu, and its id names cell %ld\n",
                    PQgetvalue(rows, i, 0), PQgetvalue(rows, i, 1), cell->cell,
                    strtol(PQgetvalue(rows, i, 2), NULL, 16));
    }
    PQclear(rows);
    return rows && (!cell->next || find_strays(cell->next, is));
}

/* By a number, and by a text behind it where there is one. */
static int compare(const PGresult *a, int i, const PGresult *b, int k)
{
    int64_t left = tables_number(a, i, 0), right = tables_number(b, k, 0);
    int by = (left > right) - (left < right);
    return by || PQnfields(a) == 1 ? by : strcmp(PQgetvalue(a, i, 1), PQgetvalue(b, k, 1));
}

/* A product, or a key, that both lists have. */
static void say_double(FILE *to, const struct witness *one, int i, const struct witness *two, int k)
{
    if (PQnfields(one->list) == 1)
        fprintf(to, "product %s is in cell %zu, and in cell %zu\n", PQgetvalue(one->list, i, 0),
                one->cell, two->cell);
    else
        fprintf(to, "user %s: the key %s has an order in cell %zu, %s, and in cell %zu, %s\n",
                PQgetvalue(one->list, i, 0), PQgetvalue(one->list, i, 1), one->cell,
                PQgetvalue(one->list, i, 2), two->cell, PQgetvalue(two->list, k, 2));
}

static void compare_lists(const struct witness *one, const struct witness *two,
                          struct comparing *is)
{
    for (int i = 0, k = 0; i < PQntuples(one->list) && k < PQntuples(two->list);) {
        int by = compare(one->list, i, two->list, k);
        if (by == 0 && shows(is))
            say_double(is->to, one, i, two, k);
        i += by <= 0;
        k += by >= 0;
    }
}

/* Each database is asked for its own rows in one order, and two such lists are walked side by side
 * for what both have. */
static bool find_doubles(struct witness *cells, struct comparing *is, const char *sql)
{
    for (struct witness *cell = cells; cell; cell = cell->next) {
        PQclear(cell->list);
        cell->list = ask_cell(cell, is, sql);
        if (!cell->list)
            return false;
    }
    for (const struct witness *one = cells; one; one = one->next)
        for (const struct witness *two = one->next; two; two = two->next)
            compare_lists(one, two, is);
    return true;
}

bool witness_audit_cells(struct witness *witness, int64_t first, int64_t last, FILE *to,
                         int64_t *wrong, struct error *error)
{
    static const char *const kinds[] = {products_sql, strays_sql, keys_sql};
    struct comparing is = {.first = first, .last = last, .to = to, .error = error};
    *wrong = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        is.count = 0;
        if (!(kinds[i] == strays_sql ? find_strays(witness, &is)
                                     : find_doubles(witness, &is, kinds[i])))
            return false;
        if (is.count > SHOWN_MAX)
            fprintf(to, "and %" PRId64 " more\n", is.count - SHOWN_MAX);
        *wrong += is.count;
    }
    return true;
}
