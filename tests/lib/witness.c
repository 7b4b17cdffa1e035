#include "lib/t.h"

#include "lib/witness.h"

#include "base/clock.h"

#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct witness {
    PGconn *conn;
};

static void ignore(void *context, const char *message)
{
    (void)context;
    (void)message;
}

struct witness *witness_open(const char *conninfo)
{
    struct witness *witness = calloc(1, sizeof *witness);

    assert_non_null(witness);
    witness->conn = PQconnectdb(conninfo);
    if (PQstatus(witness->conn) != CONNECTION_OK)
        fail_msg("the witness cannot connect: %s", PQerrorMessage(witness->conn));
    PQsetNoticeProcessor(witness->conn, ignore, NULL);
    /* Where servers make their tables; the role of that name finds it anyway, through a pooler too.
     */
    if (strcmp(PQuser(witness->conn), "seckill") != 0)
        witness_run(witness, "SELECT set_config('search_path', 'seckill, ' ||"
                             " current_setting('search_path'), false)");
    return witness;
}

void witness_close(struct witness *witness)
{
    if (!witness)
        return;
    PQfinish(witness->conn);
    free(witness);
}

__attribute__((format(printf, 2, 0))) static PGresult *run(struct witness *witness,
                                                           const char *format, va_list values)
{
    char *text = NULL;

    assert_true(vasprintf(&text, format, values) > 0);
    PGresult *result = PQexec(witness->conn, text);
    ExecStatusType kind = PQresultStatus(result);
    if (kind != PGRES_COMMAND_OK && kind != PGRES_TUPLES_OK)
        fail_msg("%s: %s", text, PQerrorMessage(witness->conn));
    free(text);
    return result;
}

void witness_run(struct witness *witness, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    PQclear(run(witness, format, values));
    va_end(values);
}

void witness_send(struct witness *witness, const char *format, ...)
{
    char *text = NULL;
    va_list values;

    va_start(values, format);
    assert_true(vasprintf(&text, format, values) > 0);
    va_end(values);
    if (!PQsendQuery(witness->conn, text))
        fail_msg("%s: %s", text, PQerrorMessage(witness->conn));
    free(text);
}

void witness_await(struct witness *witness, int64_t until_us)
{
    struct pollfd readable = {.fd = PQsocket(witness->conn), .events = POLLIN};
    PGresult *result;

    while (PQisBusy(witness->conn)) {
        if (poll(&readable, 1, clock_poll_ms(until_us)) != 1)
            fail_msg("the statement does not end");
        assert_true(PQconsumeInput(witness->conn));
    }
    while ((result = PQgetResult(witness->conn))) {
        ExecStatusType kind = PQresultStatus(result);
        PQclear(result);
        if (kind != PGRES_COMMAND_OK && kind != PGRES_TUPLES_OK)
            fail_msg("%s", PQerrorMessage(witness->conn));
    }
}

int64_t witness_number(struct witness *witness, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    PGresult *result = run(witness, format, values);
    va_end(values);
    if (PQntuples(result) < 1)
        fail_msg("no row: %s", format);
    int64_t number = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return number;
}

struct witness *witness_hold(const char *conninfo, int64_t product)
{
    struct witness *holder = witness_open(conninfo);

    witness_run(holder, "BEGIN");
    witness_number(holder, "SELECT id FROM product WHERE id = %lld FOR UPDATE", (long long)product);
    return holder;
}

void witness_release(struct witness *holder)
{
    witness_run(holder, "ROLLBACK");
    witness_close(holder);
}

int64_t witness_blocked(struct witness *witness)
{
    return witness_number(witness, "SELECT count(*) FROM pg_stat_activity WHERE"
                                   " wait_event_type = 'Lock' AND datname = current_database()");
}

void witness_wait_blocked(struct witness *witness, int64_t least)
{
    int64_t since_us = clock_mono_us();

    while (witness_blocked(witness) < least)
        t_wait(since_us, "%lld sessions never stand before a lock", (long long)least);
}

struct sale witness_sale(struct witness *witness, int64_t product)
{
    static const char text[] =
        "WITH p AS (SELECT * FROM product WHERE id = %lld),"
        " o AS (SELECT orders.* FROM orders, p WHERE product_id = p.id AND orders.epoch = p.epoch)"
        "SELECT stock + (SELECT coalesce(sum(stock), 0) FROM bucket"
        "   WHERE product_id = p.id AND bucket.epoch = p.epoch), initial_stock, epoch,"
        " (SELECT coalesce(sum(quantity), 0) FROM restock WHERE product_id = p.id"
        "   AND restock.epoch = p.epoch),"
        " (SELECT count(*) FROM o WHERE status = 1),"
        " (SELECT coalesce(sum(quantity), 0) FROM o WHERE status = 1),"
        " (SELECT count(*) FROM o WHERE status = 2),"
        " (SELECT count(*) FROM (SELECT 1 FROM o WHERE status IN (1, 4) GROUP BY user_id"
        "   HAVING sum(quantity) > p.limit_per_user) AS u),"
        " (SELECT coalesce(sum(n - 1), 0) FROM (SELECT count(*) AS n FROM o"
        "   WHERE idempotency_key IS NOT NULL GROUP BY user_id, idempotency_key) AS k),"
        " (SELECT count(*) FROM o WHERE status = 4),"
        " (SELECT coalesce(sum(quantity), 0) FROM o WHERE status = 4),"
        " (SELECT count(*) FROM o WHERE status = 5) FROM p";
    char query[sizeof text + 32];
    struct sale sale = {0};
    int64_t *const members[] = {&sale.stock,     &sale.initial_stock, &sale.epoch,
                                &sale.restocked, &sale.orders,        &sale.sold,
                                &sale.cancelled, &sale.over_limit,    &sale.repeated,
                                &sale.pending,   &sale.held,          &sale.expired};

    snprintf(query, sizeof query, text, (long long)product);
    PGresult *result = PQexec(witness->conn, query);
    if (PQntuples(result) != 1)
        fail_msg("product %lld: %s", (long long)product, PQerrorMessage(witness->conn));
    for (int i = 0; i < PQnfields(result); i++)
        *members[i] = strtoll(PQgetvalue(result, 0, i), NULL, 10);
    PQclear(result);
    return sale;
}

bool sale_is_exact(const struct sale *sale)
{
    return sale->stock >= 0 &&
           sale->initial_stock + sale->restocked - sale->sold - sale->held == sale->stock &&
           sale->over_limit == 0 && sale->repeated == 0;
}

void witness_expect_exact(struct witness *witness, int64_t product)
{
    struct sale sale = witness_sale(witness, product);

    if (!sale_is_exact(&sale))
        fail_msg("product %lld: %lld + %lld units, %lld sold, stock %lld; %lld over their limit, "
                 "%lld repeats of keys",
                 (long long)product, (long long)sale.initial_stock, (long long)sale.restocked,
                 (long long)sale.sold, (long long)sale.stock, (long long)sale.over_limit,
                 (long long)sale.repeated);
}
