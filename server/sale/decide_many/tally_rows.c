/*
 * What a tally reads and writes in PostgreSQL.
 *
 * The rows are locked first, and stay so until the commit: what the later statements read of their
 * sales cannot change in between, because everybody who sells holds the product's row. The writes
 * name all the same what they expect.
 */
#include "sale/decide_many/tally.h"

#include "postgres/fast_path.h"

enum { STOCK_VALUES = 4 };

/* The arrays that a statement takes, side by side. */
struct tally_columns {
    int count;
    int64_t products[TALLY_MAX];
    int64_t epochs[TALLY_MAX];
    int64_t users[TALLY_MAX];
    int64_t units[TALLY_MAX];
};

static void add_column(struct tally_columns *to, const struct tally *tally, int product,
                       int64_t user_id, int64_t units)
{
    to->products[to->count] = tally->products.a[product];
    to->epochs[to->count] = tally->rows[product].epoch;
    to->users[to->count] = user_id;
    to->units[to->count++] = units;
}

static int take_rows(struct tally *tally, enum pg_status status)
{
    struct pg *pg = tally->pg;
    int found = status == PG_OK ? pg_rows(pg) : 0;

    for (int i = 0; i < found; i++) {
        int at = pairs_find(&tally->products, pg_get_int8(pg, i, PRODUCT_ROW_COLUMNS), 0);
        purchase_row_at(pg, i, &tally->rows[at]);
        tally->known[at] = true;
    }
    return found;
}

enum pg_status tally_lock(struct tally *tally, int64_t until_us, int *found)
{
    enum pg_status status =
        pg_exec(tally->pg, SQL_BATCH_LOCK,
                PG_ARGS(pg_int8s(tally->products.a, tally->products.count), pg_int8(tally->fence)),
                until_us);

    *found = take_rows(tally, status);
    return status;
}

/* Which of the products one statement can sell, and how much is left of them. */
static void note(const struct tally *tally)
{
    for (int i = 0; i < tally->products.count; i++) {
        const struct product_row *row = &tally->rows[i];
        if (!tally->known[i])
            continue;
        fast_path_note(tally->pg, tally->products.a[i], row->epoch,
                       row->open && purchase_row_is_simple(row) && row->stock >= tally->asked[i]);
        if (!row->split)
            fast_path_note_left(tally->pg, tally->products.a[i], row->open ? row->stock : 0);
    }
}

enum pg_status tally_look(struct tally *tally)
{
    enum pg_status status =
        pg_exec(tally->pg, SQL_BATCH_LOOK,
                PG_ARGS(pg_int8s(tally->products.a, tally->products.count)), tally->until_us);

    take_rows(tally, status);
    note(tally);
    return status;
}

enum pg_status tally_lock_free(struct tally *tally)
{
    struct pg *pg = tally->pg;
    enum pg_status status =
        pg_exec(pg, SQL_BATCH_LOCK_FREE,
                PG_ARGS(pg_int8s(tally->products.a, tally->products.count)), tally->until_us);

    for (int i = 0; status == PG_OK && i < pg_rows(pg); i++) {
        int at = pairs_find(&tally->products, pg_get_int8(pg, i, PRODUCT_ROW_COLUMNS), 0);
        tally->busy[at] = pg_get_bool(pg, i, PRODUCT_ROW_COLUMNS + 1);
        tally->known[at] = !tally->busy[at];
        if (tally->known[at])
            purchase_row_at(pg, i, &tally->rows[at]);
    }
    return status;
}

static enum pg_status fold_buckets(struct tally *tally)
{
    enum pg_status status = PG_OK;

    for (int i = 0; status == PG_OK && i < tally->products.count; i++) {
        struct product_row *row = &tally->rows[i];
        if (!tally->known[i] || !row->split || tally->asked[i] <= row->stock)
            continue;
        status =
            pg_exec(tally->pg, SQL_STOCK_FOLD,
                    PG_ARGS(pg_int8(tally->products.a[i]), pg_int8(row->epoch)), tally->until_us);
        if (status == PG_OK && pg_rows(tally->pg) == 0)
            status = pg_withheld(tally->pg, "product");
        if (status == PG_OK)
            row->stock = pg_get_int8(tally->pg, 0, 0);
    }
    return status;
}

static enum pg_status read_shares(struct tally *tally)
{
    struct pg *pg = tally->pg;
    struct tally_columns of;

    of.count = 0;
    for (int i = 0; i < tally->shares.count; i++)
        add_column(&of, tally, (int)tally->shares.a[i], tally->shares.b[i], 0);
    if (of.count == 0)
        return PG_OK;
    enum pg_status status =
        pg_exec(pg, SQL_BATCH_UNITS,
                PG_ARGS(pg_int8s(of.products, of.count), pg_int8s(of.epochs, of.count),
                        pg_int8s(of.users, of.count)),
                tally->until_us);
    for (int i = 0; status == PG_OK && i < pg_rows(pg); i++)
        tally->held[pg_get_int8(pg, i, 0) - 1] = pg_get_int8(pg, i, 1);
    return status;
}

enum pg_status tally_read(struct tally *tally)
{
    note(tally);
    enum pg_status status = fold_buckets(tally);
    return status == PG_OK ? read_shares(tally) : status;
}

enum pg_status tally_write(struct tally *tally, enum sql statement, const struct pg_value *values,
                           int count, int64_t rows, const char *table)
{
    enum pg_status status = pg_exec(tally->pg, statement, values, count, tally->until_us);

    return status == PG_OK && pg_affected(tally->pg) != rows ? pg_withheld(tally->pg, table)
                                                             : status;
}

enum pg_status tally_write_shares(struct tally *tally)
{
    struct tally_columns of;

    of.count = 0;
    for (int i = 0; i < tally->shares.count; i++)
        if (tally->added[i] > 0)
            add_column(&of, tally, (int)tally->shares.a[i], tally->shares.b[i], tally->added[i]);
    if (of.count == 0)
        return PG_OK;
    enum pg_status status =
        tally_write(tally, SQL_BATCH_PURCHASE_ADD,
                    PG_ARGS(pg_int8s(of.products, of.count), pg_int8s(of.epochs, of.count),
                            pg_int8s(of.users, of.count), pg_int8s(of.units, of.count)),
                    of.count, "purchase");
    /* A buy from a bucket, which does not lock the product's row, may have been faster. */
    for (int i = 0; status == PG_OK && i < of.count; i++)
        if (!pg_get_bool(tally->pg, i, 0))
            status = PG_CONFLICT;
    return status;
}

/* Fills the arrays and the values of SQL_BATCH_TAKE, which borrow from them. How many products. */
static int list_stocks(const struct tally *tally, struct tally_columns *of,
                       struct pg_value values[STOCK_VALUES])
{
    of->count = 0;
    for (int i = 0; i < tally->products.count; i++)
        if (tally->taken[i] > 0)
            add_column(of, tally, i, 0, tally->taken[i]);
    values[0] = pg_int8s(of->products, of->count);
    values[1] = pg_int8s(of->epochs, of->count);
    values[2] = pg_int8s(of->units, of->count);
    values[3] = pg_int8(tally->fence);
    return of->count;
}

enum pg_status tally_write_stocks(struct tally *tally)
{
    struct tally_columns of;
    struct pg_value values[STOCK_VALUES];
    int count = list_stocks(tally, &of, values);

    return count == 0 ? PG_OK
                      : tally_write(tally, SQL_BATCH_TAKE, values, STOCK_VALUES, 1, "product");
}

enum pg_status tally_commit(struct tally *tally, const struct pg_command *insert, int rows,
                            bool keyed)
{
    struct tally_columns of;
    struct pg_value values[STOCK_VALUES];
    struct pg_command commands[2] = {*insert};
    int count = rows > 0;

    if (rows > 0 && keyed) {
        enum pg_status status =
            pg_exec(tally->pg, insert->statement, insert->values, insert->count, tally->until_us);
        tally->key_missed = status == PG_OK && pg_affected(tally->pg) != rows;
        if (tally->key_missed)
            return PG_CONFLICT;
        if (status != PG_OK)
            return status;
        count = 0;
    }
    if (list_stocks(tally, &of, values) > 0)
        commands[count++] = (struct pg_command){SQL_BATCH_TAKE, values, STOCK_VALUES};
    tally->committing = true;
    return count > 0 ? pg_exec_commit(tally->pg, commands, count, tally->until_us)
                     : pg_commit(tally->pg, tally->until_us);
}
