/*
 * The settings that a session makes for itself, and poolers, which lend one server session to many.
 *
 * Directly connected, the settings are those of the session: one statement when it is opened. A
 * pooler lends each transaction a server session that other clients use next, so a session's
 * settings would stay behind in it. Behind a pooler the same statement is sent before each
 * transaction, or before a statement that is one by itself, and sets for that transaction alone.
 *
 * How a pooler is recognised: PostgreSQL tells a client the process that serves it, for cancel
 * requests. A pooler tells a number of its own, because the process changes. The first statement
 * compares the two in the server, and sets nothing when they differ. A proxy that only passes bytes
 * on is no pooler, and changes nothing.
 *
 * Named statements: PgBouncer keeps them apart from 1.21 on, with max_prepared_statements above 0,
 * and then the server session has the statement under another name. Where it has the client's name,
 * they are not kept apart: a statement would be missing, or be another client's. Pooling by
 * sessions looks the same, and one transaction cannot tell the two.
 *
 * Failure modes:
 * - Named statements are not kept apart: the session is refused, and store_trouble says so until
 *   one is not. Until that is known, no statement is sent with a name, except the one that asks; it
 *   is dropped before its transaction ends.
 * - The connection breaks while it is there: a pooler closes a server session whose client leaves
 *   it in a transaction.
 *
 * Source: PgBouncer, "Config", max_prepared_statements; "Features", SQL feature map for pooling
 * modes.
 */
#include "postgres/pg_internal.h"

#include "metrics/cost.h"

static const char unsuited_pooler[] =
    "the pooler in front of it does not keep named prepared statements apart: use PgBouncer 1.21 "
    "or later with pool_mode=transaction and max_prepared_statements above 0, or no pooler";

/* In a transaction, so that it is one server session that is asked and tidied up. */
static enum pg_status ask_for_names(struct pg *pg, bool *kept_apart, int64_t until_us)
{
    enum pg_status status = pg_exec(pg, SQL_BEGIN, PG_NO_ARGS, until_us);

    if (status != PG_OK)
        return status;
    pg->in_transaction = true;
    status = pg_exec(pg, SQL_STATEMENT_NAMES, PG_NO_ARGS, until_us);
    if (status != PG_OK)
        return status;
    *kept_apart = pg_get_int8(pg, 0, 0) == 0;
    if (!*kept_apart)
        status = pg_exec(pg, SQL_STATEMENT_NAMES_DROP, PG_NO_ARGS, until_us);
    pg_rollback(pg, until_us);
    return status;
}

/* False: what is in between is no good, or has not said. */
static bool suits(struct pg *pg, int64_t until_us)
{
    bool kept_apart = false;

    if (ask_for_names(pg, &kept_apart, until_us) != PG_OK || !pg->conn)
        return false;
    pg->unsuited = !kept_apart;
    if (pg->unsuited) {
        pg_set_error(pg, ERROR_UNAVAILABLE, unsuited_pooler);
        store_set_trouble(pg->store, unsuited_pooler);
    }
    return kept_apart;
}

static bool set_up(struct pg *pg, int64_t until_us)
{
    struct pg_settings settings;

    pg->generation = store_schema(pg->store, pg->schema);
    pg->plans_number = atomic_load_explicit(&pg->store->plans_number, memory_order_relaxed);
    const struct pg_command *command = pg_settings(pg, &settings);
    if (pg_exec(pg, command->statement, command->values, command->count, until_us) != PG_OK)
        return false;
    bool pooled = pg_get_int8(pg, 0, 0) == 0;
    pg->server_started_us = pg_get_time(pg, 0, 1);
    if (pooled && !suits(pg, until_us))
        return false;
    pg->pooled = pooled;
    pg->standby = !pooled && pg_tells_standby(pg);
    return pg->set_up = true;
}

bool pg_set_up(struct pg *pg, int64_t until_us)
{
    struct cost before = cost_of_thread[COST_POSTGRESQL];
    bool suited = set_up(pg, until_us);

    cost_of_thread[COST_POSTGRESQL] = before;
    return suited;
}
