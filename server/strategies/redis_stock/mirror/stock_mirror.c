/*
 * Loading a mirror.
 *
 * Happy path: lock the product's row; see that Redis has no mirror; add up the orders that wait and
 * have no row in PostgreSQL; send the users' units, and then the mirror itself.
 *
 * Failure modes:
 * - The row is held for longer than the caller waits: STOCK_HELD.
 * - Anything else fails: there is no mirror, which means "not loaded". The users that were sent are
 *   deleted, and the next order begins again.
 * - A product with a limit has many users: loading has a time of its own, LOAD_US, or less where
 *   somebody is to be answered before.
 */
#include "strategies/redis_stock/mirror/stock_mirror.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/random/random.h"
#include "sale/purchase.h"
#include "strategies/redis_stock/mirror/stock_waiting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FORGET_PIECE = 500,
    HOLDERS_PIECE = 1000,
    LOAD_US = 15000000,
    LEFT_US = 1000000,     /* for deleting what a failed load has left */
    UNFINISHED_MS = 30000, /* how long that is kept where it cannot be deleted; beyond LOAD_US */
    USER_LINE = 48
};

enum stock_result stock_mirror_forget(struct stock_link *link, int64_t product_id, int64_t *gone)
{
    return stock_mirror_forget_run(link, product_id, 1, 1, gone);
}

enum stock_result stock_mirror_forget_run(struct stock_link *link, int64_t first, int64_t count,
                                          int64_t step, int64_t *gone)
{
    char prefix[STOCK_KEY_MAX];
    char loaded[STOCK_KEY_MAX];
    char ids[FORGET_PIECE][STOCK_NUMBER_MAX];
    const char *arguments[FORGET_PIECE + 2] = {loaded, prefix};

    *gone = 0;
    stock_key(link->shard, NULL, -1, prefix);
    stock_key(link->shard, "loaded", -1, loaded);
    for (int64_t done = 0; done < count;) {
        int piece = 0;
        int64_t n = 0;
        for (; piece < FORGET_PIECE && done < count; piece++, done += step) {
            stock_number(first + done, ids[piece]);
            arguments[piece + 2] = ids[piece];
        }
        if (redis_script(link->redis, LUA_STOCK_FORGET, 1, piece + 2, arguments, link->until_us,
                         &n) != REDIS_OK)
            return stock_redis_failed(link->redis);
        *gone += n;
    }
    return STOCK_DONE;
}

enum stock_result stock_mirror_forget_late(struct stock_link *link, int64_t product_id,
                                           int64_t until_us)
{
    int64_t gone;

    link->until_us = until_us;
    do {
        if (redis_connect(link->redis, link->until_us) &&
            stock_mirror_forget(link, product_id, &gone) == STOCK_DONE)
            return STOCK_DONE;
        clock_sleep_until(clock_mono_us() + STOCK_PAUSE_US);
    } while (clock_mono_us() < until_us);
    return STOCK_UNREACHABLE;
}

enum stock_result stock_mirror_generation(struct stock_link *link, int64_t product_id,
                                          char out[STOCK_GENERATION_MAX])
{
    char mirror[STOCK_KEY_MAX];
    struct redis_reply *reply;

    stock_key(link->shard, "mirror", product_id, mirror);
    if (redis_call(link->redis, 3, (const char *const[]){"HGET", mirror, "generation"},
                   link->until_us, &reply) != REDIS_OK)
        return stock_redis_failed(link->redis);
    const char *text = redis_reply_text(reply);
    snprintf(out, STOCK_GENERATION_MAX, "%s", text ? text : "");
    redis_reply_free(reply);
    return STOCK_DONE;
}

static int64_t time_or_none(const struct pg *pg, int column)
{
    return pg_is_null(pg, 0, column) ? -1 : pg_get_time(pg, 0, column);
}

void stock_read_terms(const struct pg *pg, int column, char out[STOCK_TERMS_MAX])
{
    int64_t limit = pg_is_null(pg, 0, column) ? NO_LIMIT : pg_get_int8(pg, 0, column);

    snprintf(out, STOCK_TERMS_MAX, "%lld %lld %lld", (long long)limit,
             (long long)time_or_none(pg, column + 1), (long long)time_or_none(pg, column + 2));
}

enum stock_result stock_mirror_check_terms(struct stock_link *link, int64_t product_id,
                                           const char *terms)
{
    char mirror[STOCK_KEY_MAX];
    struct redis_reply *reply;
    int64_t gone;

    stock_key(link->shard, "mirror", product_id, mirror);
    if (redis_call(link->redis, 4, (const char *const[]){"HMGET", mirror, "generation", "terms"},
                   link->until_us, &reply) != REDIS_OK)
        return stock_redis_failed(link->redis);
    const char *mirrored = redis_reply_text(redis_reply_at(reply, 1));
    bool loaded = redis_reply_text(redis_reply_at(reply, 0)) != NULL;
    bool same = mirrored && strcmp(mirrored, terms) == 0;
    redis_reply_free(reply);
    return loaded && !same ? stock_mirror_forget(link, product_id, &gone) : STOCK_DONE;
}

enum stock_result stock_mirror_correct(struct stock_link *link, int64_t product_id,
                                       const char *generation, int64_t units, int64_t user_id)
{
    char prefix[STOCK_KEY_MAX];
    char mirror[STOCK_KEY_MAX];
    char product[STOCK_NUMBER_MAX];
    char more[STOCK_NUMBER_MAX];
    char user[STOCK_NUMBER_MAX] = "";
    int64_t done = 0;

    stock_key(link->shard, NULL, -1, prefix);
    stock_key(link->shard, "mirror", product_id, mirror);
    stock_number(product_id, product);
    stock_number(units, more);
    if (user_id)
        stock_number(user_id, user);
    FAILPOINT("stock-correcting");
    if (*generation &&
        redis_script(link->redis, LUA_STOCK_CORRECT, 1, 6,
                     (const char *const[]){mirror, prefix, product, generation, more, user},
                     link->until_us, &done) != REDIS_OK)
        return stock_redis_failed(link->redis);
    if (done)
        return STOCK_DONE;
    return stock_mirror_forget(link, product_id, &done);
}

enum stock_result stock_mirror_look(struct stock_link *link, int64_t product_id,
                                    struct stock_look *out)
{
    char mirror[STOCK_KEY_MAX];
    char units[STOCK_KEY_MAX];
    char product[STOCK_NUMBER_MAX];
    struct redis_reply *reply;

    stock_key(link->shard, "mirror", product_id, mirror);
    stock_key(link->shard, "units", -1, units);
    stock_number(product_id, product);
    if (redis_eval(link->redis, LUA_STOCK_LOOK, 2, 3, (const char *const[]){mirror, units, product},
                   link->until_us, &reply) != REDIS_OK)
        return stock_redis_failed(link->redis);
    *out = (struct stock_look){.loaded = redis_reply_count(reply) == 4,
                               .epoch = redis_reply_number(redis_reply_at(reply, 0)),
                               .stock = redis_reply_number(redis_reply_at(reply, 1)),
                               .units = redis_reply_number(redis_reply_at(reply, 2))};
    out->untouched = out->loaded && out->stock == redis_reply_number(redis_reply_at(reply, 3));
    redis_reply_free(reply);
    return STOCK_DONE;
}

enum stock_result stock_mirror_forget_ended(struct stock_link *link, int64_t product_id,
                                            int64_t epoch, int64_t *gone)
{
    struct stock_look look;
    enum stock_result result = stock_mirror_look(link, product_id, &look);

    *gone = 0;
    /* One that is loaded meanwhile, and deleted for it, is loaded again. */
    if (result != STOCK_DONE || !look.loaded || look.epoch != epoch)
        return result;
    return stock_mirror_forget(link, product_id, gone);
}

/* The row as it stands under our lock, and the mirror to be. */
struct row {
    int64_t stock;
    int64_t epoch;
    int64_t limit; /* NO_LIMIT: none */
    bool early;    /* the figure may be undone until it is flushed */
    bool has_opens;
    bool has_closes;
    int64_t opens_us;
    int64_t closes_us;
    int64_t now_us;  /* by PostgreSQL's clock, */
    int64_t read_us; /* and by ours, a moment before */
    char generation[STOCK_GENERATION_MAX];
    char terms[STOCK_TERMS_MAX];
};

static enum stock_result lock_row(struct stock_link *link, int64_t product_id, struct row *row)
{
    struct pg *pg = link->pg;

    pg_begin(pg);
    enum pg_status status =
        pg_exec(pg, SQL_PRODUCT_LOCK, PG_ARGS(pg_int8(product_id)), link->until_us);
    int64_t read_us = clock_mono_us();
    if (status == PG_OK)
        status = pg_exec(pg, SQL_STOCK_ROW, PG_ARGS(pg_int8(product_id)), link->until_us);
    if (status == PG_BUSY)
        return STOCK_HELD;
    if (status != PG_OK)
        return stock_pg_failed(link->pg);
    if (pg_rows(pg) == 0)
        return STOCK_ABSENT;
    *row = (struct row){
        .stock = pg_get_int8(pg, 0, 0),
        .epoch = pg_get_int8(pg, 0, 1),
        .limit = pg_is_null(pg, 0, 2) ? NO_LIMIT : pg_get_int8(pg, 0, 2),
        .has_opens = !pg_is_null(pg, 0, 3),
        .has_closes = !pg_is_null(pg, 0, 4),
        .now_us = pg_get_time(pg, 0, 5),
        .read_us = read_us,
        .early = pg_get_bool(pg, 0, 6),
    };
    if (row->has_opens)
        row->opens_us = pg_get_time(pg, 0, 3);
    if (row->has_closes)
        row->closes_us = pg_get_time(pg, 0, 4);
    stock_read_terms(pg, 2, row->terms);
    /* Below 2^53, so that a script may take it for a number. */
    stock_number((int64_t)random_below(UINT64_C(1) << 52) + 1, row->generation);
    return STOCK_DONE;
}

static void name_users(const struct stock_link *link, int64_t product_id, const struct row *row,
                       char users[STOCK_KEY_MAX])
{
    stock_key(link->shard, "users", product_id, users);
    stock_key_add(users, ":");
    stock_key_add(users, row->generation);
}

static enum stock_result send_users(struct stock_link *link, int64_t product_id,
                                    const struct row *row, const char *lines)
{
    char users[STOCK_KEY_MAX];
    char life[STOCK_NUMBER_MAX];
    int64_t ignored;

    if (!*lines)
        return STOCK_DONE;
    name_users(link, product_id, row, users);
    stock_number(UNFINISHED_MS, life);
    return redis_script(link->redis, LUA_STOCK_USERS, 1, 3,
                        (const char *const[]){users, life, lines}, link->until_us,
                        &ignored) == REDIS_OK
               ? STOCK_DONE
               : stock_redis_failed(link->redis);
}

/* What users hold by PostgreSQL's rows. */
static enum stock_result load_holders(struct stock_link *link, int64_t product_id,
                                      const struct row *row, char *lines)
{
    struct pg *pg = link->pg;
    enum stock_result result = STOCK_DONE;
    int64_t after = 0;
    int n = HOLDERS_PIECE;

    while (result == STOCK_DONE && n == HOLDERS_PIECE) {
        size_t length = 0;
        if (link->stopped && atomic_load(link->stopped))
            return STOCK_UNREACHABLE;
        if (pg_exec(pg, SQL_STOCK_HOLDERS,
                    PG_ARGS(pg_int8(product_id), pg_int8(row->epoch), pg_int8(after),
                            pg_int8(HOLDERS_PIECE)),
                    link->until_us) != PG_OK)
            return stock_pg_failed(link->pg);
        n = pg_rows(pg);
        *lines = '\0';
        for (int i = 0; i < n; i++) {
            after = pg_get_int8(pg, i, 0);
            length += (size_t)snprintf(lines + length, USER_LINE, "%lld %lld\n", (long long)after,
                                       (long long)pg_get_int8(pg, i, 1));
        }
        result = send_users(link, product_id, row, lines);
    }
    return result;
}

/* What users hold that PostgreSQL has not decided. */
static enum stock_result load_reserved_users(struct stock_link *link, int64_t product_id,
                                             const struct row *row,
                                             const struct stock_reservations *reserved, char *lines)
{
    enum stock_result result = STOCK_DONE;

    for (int i = 0; i < reserved->count && result == STOCK_DONE;) {
        size_t length = 0;
        for (int piece = 0; piece < HOLDERS_PIECE && i < reserved->count; piece++, i++)
            length += (size_t)snprintf(lines + length, USER_LINE, "%lld %lld\n",
                                       (long long)reserved->items[i].user_id,
                                       (long long)reserved->items[i].quantity);
        result = send_users(link, product_id, row, lines);
    }
    return result;
}

static enum stock_result load_users(struct stock_link *link, int64_t product_id,
                                    const struct row *row,
                                    const struct stock_reservations *reserved)
{
    if (row->limit == NO_LIMIT)
        return STOCK_DONE;
    char *lines = malloc((size_t)HOLDERS_PIECE * USER_LINE + 1);
    if (!lines)
        abort();
    enum stock_result result = load_holders(link, product_id, row, lines);
    if (result == STOCK_DONE)
        result = load_reserved_users(link, product_id, row, reserved, lines);
    free(lines);
    return result;
}

static void optional(bool present, int64_t n, char out[STOCK_NUMBER_MAX])
{
    *out = '\0';
    if (present)
        stock_number(n, out);
}

static enum stock_result send_mirror(struct stock_link *link, int64_t product_id,
                                     const struct row *row, int64_t reserved)
{
    char prefix[STOCK_KEY_MAX];
    char mirror[STOCK_KEY_MAX];
    char loaded[STOCK_KEY_MAX];
    char numbers[7][STOCK_NUMBER_MAX];
    int64_t ignored;

    stock_key(link->shard, NULL, -1, prefix);
    stock_key(link->shard, "mirror", product_id, mirror);
    stock_key(link->shard, "loaded", -1, loaded);
    stock_number(product_id, numbers[0]);
    stock_number(row->epoch, numbers[1]);
    stock_number(row->stock - reserved, numbers[2]);
    optional(row->limit != NO_LIMIT, row->limit, numbers[3]);
    /* A load may have taken seconds, which are no difference between two clocks. */
    stock_number(row->now_us + clock_mono_us() - row->read_us, numbers[4]);
    optional(row->has_opens, row->opens_us, numbers[5]);
    optional(row->has_closes, row->closes_us, numbers[6]);
    enum redis_status status =
        redis_script(link->redis, LUA_STOCK_LOAD, 2, 12,
                     (const char *const[]){mirror, loaded, prefix, numbers[0], numbers[1],
                                           row->generation, numbers[2], numbers[3], numbers[4],
                                           numbers[5], numbers[6], row->terms},
                     link->until_us, &ignored);
    if (status == REDIS_OK && FAILPOINT_FAILS("stock-load-reply")) {
        redis_close(link->redis);
        status = REDIS_LOST;
    }
    return status == REDIS_OK ? STOCK_DONE : stock_redis_failed(link->redis);
}

/* With the row locked. Without a mirror nothing new is reserved, and without the row's lock nothing
 * is decided, so the reservations that are found are exactly those that count. */
static enum stock_result fill(struct stock_link *link, int64_t product_id, const struct row *row)
{
    struct stock_reservations reserved = {0};
    struct stock_look look;
    enum stock_result result = stock_mirror_look(link, product_id, &look);

    if (result != STOCK_DONE || (look.loaded && look.epoch == row->epoch))
        return result; /* another instance was first */
    FAILPOINT("stock-loading");
    result = stock_waiting_undecided(link, product_id, row->epoch, &reserved);
    if (result == STOCK_DONE)
        result = load_users(link, product_id, row, &reserved);
    FAILPOINT("stock-loaded");
    /* Shows that the session, and with it the row's lock, is still there, and begins PostgreSQL's
     * time for idle transactions anew. */
    if (result == STOCK_DONE &&
        pg_exec(link->pg, SQL_PRODUCT_READ, PG_ARGS(pg_int8(product_id)), link->until_us) != PG_OK)
        result = stock_pg_failed(link->pg);
    if (result == STOCK_DONE)
        link->until_us =
            clock_earlier(link->until_us,
                          clock_mono_us() + link->settings->work_timeout_ms * CLOCK_US_PER_MS / 2);
    if (result == STOCK_DONE)
        result = send_mirror(link, product_id, row, reserved.units);
    free(reserved.items);
    return result;
}

static void drop_users(struct stock_link *link, int64_t product_id, const struct row *row)
{
    char users[STOCK_KEY_MAX];
    int64_t gone;

    link->until_us = clock_mono_us() + LEFT_US;
    /* When the load's answer was lost the mirror may be there; it must not stay without its users.
     */
    if (!redis_connect(link->redis, link->until_us) ||
        stock_mirror_forget(link, product_id, &gone) != STOCK_DONE || row->limit == NO_LIMIT)
        return;
    name_users(link, product_id, row, users);
    if (redis_send(link->redis, 2, (const char *const[]){"UNLINK", users}, link->until_us) !=
        REDIS_OK)
        stock_redis_failed(link->redis);
}

/* The row is ours. */
static enum stock_result load_locked(struct stock_link *link, int64_t product_id, bool anew,
                                     int64_t load_until_us, const struct row *row)
{
    enum stock_result result = STOCK_DONE;
    int64_t gone;

    link->until_us = clock_earlier(clock_mono_us() + LOAD_US, load_until_us);
    if (anew)
        result = stock_mirror_forget(link, product_id, &gone);
    if (result == STOCK_DONE)
        result = fill(link, product_id, row);
    if (result != STOCK_DONE)
        drop_users(link, product_id, row);
    return result;
}

/* Makes what the mirror was made from as durable as a commit. */
static enum stock_result flush(struct stock_link *link)
{
    enum pg_status status = pg_exec(link->pg, SQL_FLUSH_READ, PG_NO_ARGS, link->until_us);

    if (status == PG_OK)
        status = pg_commit(link->pg, link->until_us);
    return status == PG_OK ? STOCK_DONE : stock_pg_failed(link->pg);
}

enum stock_result stock_mirror_load(struct stock_link *link, int64_t product_id, bool anew,
                                    int64_t load_until_us)
{
    struct row row;
    int64_t until_us = link->until_us;
    enum stock_result result = lock_row(link, product_id, &row);

    if (result == STOCK_DONE)
        result = load_locked(link, product_id, anew, load_until_us, &row);
    if (result == STOCK_DONE && row.early) {
        result = flush(link);
        if (result != STOCK_DONE)
            drop_users(link, product_id, &row);
    }
    pg_rollback(link->pg, link->until_us);
    link->until_us = until_us;
    if (result == STOCK_DONE)
        log_debug("redis-stock: product %lld is loaded, epoch %lld", (long long)product_id,
                  (long long)row.epoch);
    return result;
}
