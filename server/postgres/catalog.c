#include "postgres/catalog.h"

#include "base/clock.h"
#include "postgres/pg.h"

#include <stdlib.h>
#include <string.h>

/* The longest wait for one row; and for the transactions that keep a page from being final. */
enum { LOCK_MOST_MS = 2000, FINAL_WAIT_US = 100000, FINAL_PAUSE_US = 5000 };

static enum catalog_result failed(struct pg *pg, struct error *error)
{
    *error = *pg_error(pg);
    return CATALOG_FAILED;
}

static void read_product(const struct pg *pg, int row, struct product *out)
{
    *out = (struct product){
        .id = pg_get_int8(pg, row, 0),
        .has_name = !pg_is_null(pg, row, 1),
        .initial_stock = pg_get_int8(pg, row, 2),
        .stock = pg_get_int8(pg, row, 3),
        .has_limit = !pg_is_null(pg, row, 4),
        .limit_per_user = pg_get_int8(pg, row, 4),
        .has_opens_at = !pg_is_null(pg, row, 5),
        .opens_at_us = pg_get_time(pg, row, 5),
        .has_closes_at = !pg_is_null(pg, row, 6),
        .closes_at_us = pg_get_time(pg, row, 6),
        .epoch = pg_get_int8(pg, row, 7),
        .version = pg_get_int8(pg, row, 8),
        .reserved = pg_get_int8(pg, row, 9),
        .has_hold = !pg_is_null(pg, row, 10),
        .hold_s = pg_get_int8(pg, row, 10),
        .elsewhere = pg_get_bool(pg, row, 11),
    };
    if (out->has_name)
        pg_get_text(pg, row, 1, out->name, sizeof out->name);
}

enum catalog_result catalog_product(struct pg *pg, int64_t id, int64_t until_us,
                                    struct product *out, struct error *error)
{
    if (pg_exec(pg, SQL_PRODUCT_GET, PG_ARGS(pg_int8(id)), until_us) != PG_OK)
        return failed(pg, error);
    if (pg_rows(pg) == 0)
        return CATALOG_NOT_FOUND;
    read_product(pg, 0, out);
    return CATALOG_OK;
}

enum catalog_result catalog_products(struct pg *pg, int64_t after, int limit, int64_t until_us,
                                     struct product *out, int *n, struct error *error)
{
    if (pg_exec(pg, SQL_PRODUCTS_PAGE, PG_ARGS(pg_int8(after), pg_int8(limit)), until_us) != PG_OK)
        return failed(pg, error);
    *n = pg_rows(pg);
    for (int row = 0; row < *n; row++)
        read_product(pg, row, &out[row]);
    return CATALOG_OK;
}

/* A write's last step. */
static enum catalog_result commit(struct pg *pg, int64_t until_us, struct error *error)
{
    enum pg_status status = pg_commit(pg, until_us);

    pg_lock_until(pg, 0, 0);
    if (status == PG_OK)
        return CATALOG_OK;
    *error = *pg_error(pg);
    return status == PG_TIMEOUT || status == PG_LOST ? CATALOG_UNKNOWN : CATALOG_FAILED;
}

static enum catalog_result undo(struct pg *pg, enum pg_status status, int64_t until_us,
                                struct error *error)
{
    enum catalog_result result = failed(pg, error);

    pg_rollback(pg, until_us);
    pg_lock_until(pg, 0, 0);
    return status == PG_BUSY ? CATALOG_HELD : result;
}

static enum catalog_result give_up(struct pg *pg, enum catalog_result result, int64_t until_us)
{
    pg_rollback(pg, until_us);
    pg_lock_until(pg, 0, 0);
    return result;
}

/* Begins a transaction with a write that waits for products' rows until `wait_until_us`. */
static enum pg_status write_rows(struct pg *pg, enum sql statement, const struct pg_value *values,
                                 int count, int64_t wait_until_us, int64_t until_us)
{
    if (pg_may_commit(pg) != PG_OK)
        return PG_FAILED;
    for (;;) {
        pg_begin(pg);
        pg_lock_until(pg, wait_until_us, LOCK_MOST_MS);
        enum pg_status status = pg_exec(pg, statement, values, count, until_us);
        if (status != PG_BUSY || clock_mono_us() >= wait_until_us) {
            pg_lock_until(pg, until_us, LOCK_MOST_MS);
            return status;
        }
        pg_rollback(pg, until_us);
    }
}

/* After the new epoch was written, so the products' rows are locked. */
static enum pg_status retire(struct pg *pg, int64_t first_id, int64_t count, int64_t until_us)
{
    enum pg_status status =
        pg_exec(pg, SQL_BUCKETS_END, PG_ARGS(pg_int8(first_id), pg_int8(count)), until_us);

    if (status == PG_OK)
        status = pg_exec(pg, SQL_RETIRE, PG_ARGS(pg_int8(first_id), pg_int8(count)), until_us);
    return status;
}

/* It has to follow another sale than the one that is there; or else its row was withheld. */
static enum catalog_result put_missed(struct pg *pg, const struct product *product,
                                      int64_t until_us, struct error *error)
{
    enum pg_status status = product->epoch == 0 ? PG_OK
                                                : pg_exec(pg, SQL_PRODUCT_READ,
                                                          PG_ARGS(pg_int8(product->id)), until_us);

    if (status == PG_OK && product->epoch != 0 &&
        (pg_rows(pg) == 0 || pg_get_int8(pg, 0, 1) != product->epoch))
        return give_up(pg, CATALOG_REFUSED, until_us);
    return undo(pg, status == PG_OK ? pg_withheld(pg, "product") : status, until_us, error);
}

enum catalog_result catalog_product_put(struct pg *pg, struct product *product, bool *created,
                                        int64_t wait_until_us, int64_t until_us,
                                        struct error *error)
{
    enum pg_status status =
        write_rows(pg, SQL_PRODUCT_PUT,
                   PG_ARGS(pg_int8(product->id), pg_text(product->has_name ? product->name : NULL),
                           pg_int8(product->stock),
                           pg_int8_or_null(product->has_limit, product->limit_per_user),
                           pg_time_or_null(product->has_opens_at, product->opens_at_us),
                           pg_time_or_null(product->has_closes_at, product->closes_at_us),
                           pg_int8_or_null(product->epoch != 0, product->epoch),
                           pg_int8_or_null(product->has_hold, product->hold_s)),
                   wait_until_us, until_us);

    if (status != PG_OK)
        return undo(pg, status, until_us, error);
    if (pg_rows(pg) == 0)
        return put_missed(pg, product, until_us, error);
    int64_t epoch = pg_get_int8(pg, 0, 0);
    int64_t version = pg_get_int8(pg, 0, 1);
    status = version == 1 ? PG_OK : retire(pg, product->id, 1, until_us);
    enum catalog_result result =
        status == PG_OK ? commit(pg, until_us, error) : undo(pg, status, until_us, error);
    if (result != CATALOG_OK)
        return result;
    product->initial_stock = product->stock;
    product->reserved = 0;
    product->epoch = epoch;
    product->version = version;
    *created = version == 1;
    return CATALOG_OK;
}

/* An order that waits for a bucket has read the product's row: it finds none, and reads again. */
static enum pg_status fold_buckets(struct pg *pg, int64_t id, int64_t epoch, int64_t until_us)
{
    enum pg_status status =
        pg_exec(pg, SQL_STOCK_FOLD, PG_ARGS(pg_int8(id), pg_int8(epoch)), until_us);

    return status == PG_OK && pg_rows(pg) == 0 ? pg_withheld(pg, "product") : status;
}

enum catalog_result catalog_product_patch(struct pg *pg, struct product *product, unsigned given,
                                          int64_t wait_until_us, int64_t until_us,
                                          struct error *error)
{
    enum pg_status status =
        write_rows(pg, SQL_PRODUCT_PATCH,
                   PG_ARGS(pg_int8(product->id), pg_int8((given & PRODUCT_NAME) != 0),
                           pg_text(product->has_name ? product->name : NULL),
                           pg_int8((given & PRODUCT_LIMIT) != 0),
                           pg_int8_or_null(product->has_limit, product->limit_per_user),
                           pg_int8((given & PRODUCT_OPENS) != 0),
                           pg_time_or_null(product->has_opens_at, product->opens_at_us),
                           pg_int8((given & PRODUCT_CLOSES) != 0),
                           pg_time_or_null(product->has_closes_at, product->closes_at_us),
                           pg_int8((given & PRODUCT_HOLD) != 0),
                           pg_int8_or_null(product->has_hold, product->hold_s)),
                   wait_until_us, until_us);

    if (status != PG_OK)
        return undo(pg, status, until_us, error);
    if (pg_rows(pg) == 0)
        return give_up(pg, CATALOG_NOT_FOUND, until_us);
    if (pg_get_int8(pg, 0, 0) != 1)
        return give_up(pg, pg_get_int8(pg, 0, 0) == 0 ? CATALOG_REFUSED : CATALOG_UNCOUNTED,
                       until_us);
    if (pg_get_bool(pg, 0, 2))
        status = fold_buckets(pg, product->id, pg_get_int8(pg, 0, 1), until_us);
    if (status == PG_OK)
        status = pg_exec(pg, SQL_PRODUCT_GET, PG_ARGS(pg_int8(product->id)), until_us);
    if (status != PG_OK)
        return undo(pg, status, until_us, error);
    read_product(pg, 0, product);
    return commit(pg, until_us, error);
}

enum catalog_result catalog_products_put(struct pg *pg, int64_t first_id, int64_t count,
                                         int64_t stock, int64_t wait_until_us, int64_t until_us,
                                         struct error *error)
{
    enum pg_status status =
        write_rows(pg, SQL_PRODUCTS_PUT, PG_ARGS(pg_int8(first_id), pg_int8(count), pg_int8(stock)),
                   wait_until_us, until_us);

    if (status == PG_OK && pg_affected(pg) != count)
        status = pg_withheld(pg, "product");
    if (status == PG_OK)
        status = retire(pg, first_id, count, until_us);
    return status == PG_OK ? commit(pg, until_us, error) : undo(pg, status, until_us, error);
}

/* An answer about a product whose commits may be undone waits until they are flushed; and any,
 * where the server may have been left behind (pg_is_current). */
static enum catalog_result flush_early(struct pg *pg, bool early, int64_t until_us,
                                       struct error *error)
{
    return (!early && pg_is_current(pg)) || pg_flush_reads(pg, until_us) == PG_OK
               ? CATALOG_OK
               : failed(pg, error);
}

enum catalog_result catalog_order(struct pg *pg, const struct uuid *id, int64_t until_us,
                                  struct order_record *out, struct error *error)
{
    if (pg_look(pg, SQL_ORDER_READ, PG_ARGS(pg_uuid(id)), until_us) != PG_OK)
        return failed(pg, error);
    bool found = pg_rows(pg) > 0;
    bool early = found && order_record_read(pg, 0, out);
    enum catalog_result told = flush_early(pg, early, until_us, error);
    return told == CATALOG_OK && !found ? CATALOG_NOT_FOUND : told;
}

/* The payment's transaction has locked the order's row before its COMMIT was sent, so a lock on
 * that row means that it has ended. */
enum catalog_result catalog_order_settle(struct pg *pg, const struct uuid *id, int64_t wait_ms,
                                         int64_t until_us, struct error *error)
{
    pg_lock_until(pg, until_us, wait_ms);
    enum pg_status status = pg_exec(pg, SQL_ORDER_READ_SETTLED, PG_ARGS(pg_uuid(id)), until_us);
    pg_lock_until(pg, 0, 0);
    if (status == PG_BUSY)
        return CATALOG_HELD;
    return status == PG_OK ? CATALOG_OK : failed(pg, error);
}

/* The payment, and the order as it is then. One that was queued has perhaps become pending between
 * the two: that is asked once more. */
static enum pg_status pay_and_read(struct pg *pg, const struct uuid *id, int64_t until_us,
                                   struct order_record *out, bool *paid)
{
    enum pg_status status = PG_OK;

    *paid = false;
    out->status = STATUS_PENDING;
    for (int i = 0; status == PG_OK && !*paid && out->status == STATUS_PENDING && i < 2; i++) {
        status = pg_exec(pg, SQL_ORDER_PAY, PG_ARGS(pg_uuid(id)), until_us);
        *paid = status == PG_OK && pg_affected(pg) > 0;
        if (status == PG_OK)
            status = pg_exec(pg, SQL_ORDER_READ, PG_ARGS(pg_uuid(id)), until_us);
        if (status == PG_OK && pg_rows(pg) == 0)
            return status;
        if (status == PG_OK)
            order_record_read(pg, 0, out);
    }
    return status;
}

enum catalog_result catalog_order_pay(struct pg *pg, const struct uuid *id, int64_t wait_ms,
                                      int64_t until_us, struct order_record *out,
                                      struct error *error)
{
    bool paid;

    if (pg_may_commit(pg) != PG_OK)
        return failed(pg, error);
    pg_begin(pg);
    pg_lock_until(pg, until_us, wait_ms);
    enum pg_status status = pay_and_read(pg, id, until_us, out, &paid);
    if (status != PG_OK)
        return undo(pg, status, until_us, error);
    if (pg_rows(pg) == 0)
        return give_up(pg, CATALOG_NOT_FOUND, until_us);
    if (paid)
        return commit(pg, until_us, error);
    give_up(pg, CATALOG_OK, until_us);
    if (out->status == STATUS_QUEUED)
        return CATALOG_QUEUED;
    /* What somebody else has made of it may have been read before it is on a disk, or a standby. */
    return pg_flush_reads(pg, until_us) == PG_OK ? CATALOG_OK : failed(pg, error);
}

static enum pg_status exec_page(struct pg *pg, const struct order_page *page, int64_t until_us)
{
    static const struct uuid first = {{0}};
    struct pg_value values[5] = {pg_uuid(page->has_after ? &page->after : &first),
                                 pg_int8(page->limit),
                                 pg_int8_or_null(page->has_status, page->status)};

    if (page->user_id) {
        values[3] = pg_int8(page->user_id);
        values[4] = pg_int8_or_null(page->product_id != 0, page->product_id);
        return pg_look(pg, SQL_ORDERS_PAGE_USER, values, 5, until_us);
    }
    if (page->product_id) {
        values[3] = pg_int8(page->product_id);
        return pg_look(pg, SQL_ORDERS_PAGE_PRODUCT, values, 4, until_us);
    }
    return pg_look(pg, SQL_ORDERS_PAGE, values, 3, until_us);
}

/* Of the page that was read: how many of its rows, from the first on, nothing can precede any more.
 */
static int count_final(const struct pg *pg)
{
    int count = 0;

    while (count < pg_rows(pg) && pg_get_bool(pg, count, ORDER_RECORD_COLUMNS))
        count++;
    return count;
}

static int compare_ids(const void *a, const void *b)
{
    const struct order_record *first = a;
    const struct order_record *second = b;

    return memcmp(first->id.bytes, second->id.bytes, sizeof first->id.bytes);
}

/* A full page waits a moment for transactions that are just committing. */
enum catalog_result catalog_orders(struct pg *pg, const struct order_page *page, int64_t until_us,
                                   struct order_record *out, int *n, struct uuid *next,
                                   bool *has_next, struct error *error)
{
    int64_t final_until_us = clock_earlier(until_us, clock_mono_us() + FINAL_WAIT_US);
    bool early = false;
    int final;

    for (;;) {
        if (exec_page(pg, page, until_us) != PG_OK)
            return failed(pg, error);
        *n = pg_rows(pg);
        final = count_final(pg);
        if (*n < page->limit || final == *n || clock_mono_us() >= final_until_us)
            break;
        clock_sleep_until(clock_mono_us() + FINAL_PAUSE_US);
    }
    for (int row = 0; row < *n; row++)
        early |= order_record_read(pg, row, &out[row]);
    *has_next = *n == page->limit && final > 0;
    if (*has_next)
        *next = out[final - 1].id;
    qsort(out, (size_t)*n, sizeof *out, compare_ids);
    return flush_early(pg, early, until_us, error);
}

/* A change that a crash could undo would leave its number to another one, so what was read is
 * flushed. */
static enum pg_status read_feed(struct pg *pg, struct feed_position *position, int limit,
                                int64_t until_us, struct order_record *out, int *n)
{
    enum pg_status status = pg_exec(pg, SQL_FEED_PAGE,
                                    PG_ARGS(pg_int8(position->transaction), pg_uuid(&position->id),
                                            pg_int8(position->status), pg_int8(limit)),
                                    until_us);

    *n = status == PG_OK ? pg_rows(pg) : 0;
    if (*n == 0)
        return status;
    for (int row = 0; row < *n; row++)
        order_record_read(pg, row, &out[row]);
    position->transaction = pg_get_int8(pg, *n - 1, ORDER_RECORD_COLUMNS);
    position->id = out[*n - 1].id;
    position->status = (int)out[*n - 1].status;
    status = pg_may_commit(pg);
    if (status == PG_OK)
        status = pg_exec(pg, SQL_FLUSH_READ, PG_NO_ARGS, until_us);
    return status == PG_OK ? pg_commit(pg, until_us) : status;
}

/* In one transaction: through a pooler, too, the origin and the page are the same server's. */
enum catalog_result catalog_feed(struct pg *pg, struct feed_position *position, int limit,
                                 int64_t until_us, struct order_record *out, int *n,
                                 struct error *error)
{
    struct feed_position next = *position;

    pg_begin(pg);
    enum pg_status status = pg_exec(pg, SQL_FEED_ORIGIN, PG_NO_ARGS, until_us);
    next.origin = status == PG_OK ? pg_get_int8(pg, 0, 0) : 0;
    if (status == PG_OK && position->transaction != 0 && position->origin != next.origin)
        return give_up(pg, CATALOG_REFUSED, until_us);
    if (status == PG_OK)
        status = read_feed(pg, &next, limit, until_us, out, n);
    if (status != PG_OK)
        return undo(pg, status, until_us, error);
    *position = next;
    return give_up(pg, CATALOG_OK, until_us); /* of an empty page */
}

enum catalog_result catalog_audit(struct pg *pg, int64_t product_id, int64_t until_us,
                                  struct audit *out, struct error *error)
{
    if (pg_exec(pg, SQL_AUDIT, PG_ARGS(pg_int8(product_id)), until_us) != PG_OK)
        return failed(pg, error);
    if (pg_rows(pg) == 0)
        return CATALOG_NOT_FOUND;
    *out = (struct audit){
        .product_id = product_id,
        .epoch = pg_get_int8(pg, 0, 0),
        .initial_stock = pg_get_int8(pg, 0, 1),
        .restocked = pg_get_int8(pg, 0, 2),
        .stock = pg_get_int8(pg, 0, 3),
        .sold = pg_get_int8(pg, 0, 4),
        .duplicate_orders = pg_get_int8(pg, 0, 5),
        .limit_violations = pg_get_int8(pg, 0, 6),
        .queued = pg_get_int8(pg, 0, 7),
        .held = pg_get_int8(pg, 0, 10),
        .lost = pg_get_int8(pg, 0, 11),
    };
    pg_get_text(pg, 0, 8, out->strategies, sizeof out->strategies);
    int64_t supply = out->initial_stock + out->restocked;
    int64_t taken = out->sold + out->held;
    int64_t gap = supply - taken - out->stock;
    out->oversold = taken > supply ? taken - supply : 0;
    out->lost_updates = gap < 0 ? -gap : gap;
    out->consistent = out->oversold == 0 && out->lost_updates == 0 && out->duplicate_orders == 0 &&
                      out->limit_violations == 0 && out->stock >= 0;
    return flush_early(pg, pg_get_bool(pg, 0, 9), until_us, error);
}

bool order_record_read(const struct pg *pg, int row, struct order_record *out)
{
    out->id = pg_get_uuid(pg, row, 0);
    out->product_id = pg_get_int8(pg, row, 1);
    out->user_id = pg_get_int8(pg, row, 2);
    out->quantity = pg_get_int8(pg, row, 3);
    pg_get_text(pg, row, 4, out->strategy, sizeof out->strategy);
    out->status = (enum order_status)pg_get_int2(pg, row, 5);
    pg_get_text(pg, row, 6, out->reason, sizeof out->reason);
    out->created_us = pg_get_time(pg, row, 7);
    out->epoch = pg_get_int8(pg, row, 8);
    out->hold_until_us = pg_is_null(pg, row, 10) ? 0 : pg_get_time(pg, row, 10);
    return pg_get_bool(pg, row, 9);
}
