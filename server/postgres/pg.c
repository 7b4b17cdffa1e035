/*
 * Statements and transactions: what is sent as one bundle (bundle.c), and what the session's
 * transaction is afterwards.
 *
 * Happy path: pg_begin costs nothing; the BEGIN travels with the first statement. pg_exec_commit
 * sends the last statements and the COMMIT together. A new limit on waits for locks travels with
 * the statement that it is for (store/waits.c).
 *
 * Failure modes: those of bundle.c. A ROLLBACK that does not succeed closes the session.
 */
#include "postgres/pg_internal.h"

#include "base/clock.h"

#include <string.h>

enum { COMMANDS_MAX = 5, CURRENT_US = 1000000 };

static bool send_all(struct pg *pg, const struct pg_command *commands, int n, int64_t until_us)
{
    for (int i = 0; i < n; i++)
        if (!pg_send_command(pg, &commands[i]))
            return false;
    return PQpipelineSync(pg->conn) && pg_flush(pg, until_us);
}

static enum pg_status run(struct pg *pg, const struct pg_command *commands, int n, int main,
                          int64_t until_us)
{
    pg_forget_result(pg);
    if (!pg->conn) {
        pg_set_error(pg, ERROR_UNAVAILABLE, "not connected");
        return PG_LOST;
    }
    if (!send_all(pg, commands, n, until_us))
        return pg_give_up(pg, until_us);
    pg_cost_round_trip();
    enum pg_status told = pg_limit_read(pg, until_us);
    if (!pg->conn)
        return told;
    enum pg_status status = pg_read_bundle(pg, commands, n, main, until_us);
    return told == PG_OK ? status : pg_limit_untold(pg);
}

static void begin_as(struct pg *pg, enum sql begin)
{
    if (pg_in_transaction(pg))
        return;
    pg->begin = begin;
    pg->begin_pending = true;
}

void pg_begin(struct pg *pg)
{
    begin_as(pg, SQL_BEGIN);
}

void pg_begin_serializable(struct pg *pg)
{
    begin_as(pg, SQL_BEGIN_SERIALIZABLE);
}

/* A session that is lent has the isolation that its role or somebody else has left in it. */
static enum sql begin_of(const struct pg *pg)
{
    return pg->pooled && pg->begin == SQL_BEGIN ? SQL_BEGIN_READ_COMMITTED : pg->begin;
}

/* [BEGIN] [what a pooler takes away, session_setup.c] the statements [COMMIT], in one round trip;
 * the last statement's result is kept. */
static enum pg_status run_bundle(struct pg *pg, const struct pg_command *statements, int count,
                                 bool commit, int64_t until_us)
{
    struct pg_command commands[COMMANDS_MAX];
    struct pg_settings settings;
    bool inside = pg->in_transaction;
    int n = 0;

    if (!pg_limit_send(pg))
        return pg_give_up(pg, until_us);
    if (pg->begin_pending) {
        commands[n++] = (struct pg_command){.statement = begin_of(pg)};
        pg->begin_pending = false;
        pg->in_transaction = pg->conn != NULL; /* a session that is gone begins nothing */
    }
    if (pg->pooled && !(inside && pg_limit_suits(pg)))
        commands[n++] = *pg_settings(pg, &settings);
    for (int i = 0; i < count; i++)
        commands[n++] = statements[i];
    int kept = n - 1;
    if (commit)
        commands[n++] = (struct pg_command){.statement = SQL_COMMIT};
    enum pg_status status = run(pg, commands, n, kept, until_us);
    if (commit && status == PG_OK) {
        pg->in_transaction = false;
        pg_limit_ended(pg, true);
    }
    return status;
}

enum pg_status pg_exec(struct pg *pg, enum sql statement, const struct pg_value *values, int count,
                       int64_t until_us)
{
    struct pg_command command = {statement, values, count};

    return run_bundle(pg, &command, 1, false, until_us);
}

enum pg_status pg_exec_commit(struct pg *pg, const struct pg_command *statements, int count,
                              int64_t until_us)
{
    return run_bundle(pg, statements, count, true, until_us);
}

enum pg_status pg_commit(struct pg *pg, int64_t until_us)
{
    struct pg_command commit = {.statement = SQL_COMMIT};

    enum pg_status status = run(pg, &commit, 1, 0, until_us);

    /* A COMMIT that the server answered ended the transaction, one way or the other. */
    pg->in_transaction = false;
    pg_limit_ended(pg, status == PG_OK);
    return status;
}

void pg_rollback(struct pg *pg, int64_t until_us)
{
    struct pg_command rollback = {.statement = SQL_ROLLBACK};
    struct error cause = pg->error;

    pg->begin_pending = false;
    if (!pg->conn || !pg->in_transaction)
        return;
    if (run(pg, &rollback, 1, 0, until_us) != PG_OK)
        pg_close(pg);
    pg->error = cause;
    pg->in_transaction = false;
    pg_limit_ended(pg, false);
}

bool pg_tells_standby(const struct pg *pg)
{
    const char *told = PQparameterStatus(pg->conn, "in_hot_standby");

    return told && strcmp(told, "on") == 0;
}

/* One that was promoted meanwhile is none any more; a primary ends its sessions before it becomes
 * one. */
static bool is_standby(const struct pg *pg)
{
    return pg->standby && pg->conn && pg_tells_standby(pg);
}

bool pg_is_current(const struct pg *pg)
{
    const struct store *store = pg->store;

    if (is_standby(pg))
        return false;
    return !store_waits(store) ||
           (atomic_load_explicit(&store->current_on, memory_order_relaxed) == pg_server(pg) &&
            clock_mono_us() - atomic_load_explicit(&store->current_us, memory_order_relaxed) <
                CURRENT_US);
}

const char *pg_count_standbys(struct pg *pg, int64_t until_us)
{
    char flushed[24];

    if (!store_counts(pg->store))
        return "";
    pg_get_text(pg, 0, 0, flushed, sizeof flushed);
    if (pg_exec(pg, SQL_STANDBYS_FLUSHED, PG_ARGS(pg_text(flushed)), until_us) != PG_OK)
        return "how many standbys have what is sold could not be asked";
    if (!pg_get_bool(pg, 0, 1))
        return "its role may not see what standbys have (--standbys): GRANT pg_monitor TO it";
    return pg_get_int8(pg, 0, 0) >= pg->store->limits.standbys
               ? ""
               : "fewer standbys of synchronous_standby_names have what is sold than --standbys "
                 "asks for";
}

enum pg_status pg_flush_log(struct pg *pg, int64_t until_us)
{
    enum pg_status status = pg_exec(pg, SQL_FLUSH_READ, PG_NO_ARGS, until_us);
    const char *lacks = status == PG_OK ? pg_count_standbys(pg, until_us) : "";

    if (!*lacks)
        return status;
    pg_set_error(pg, ERROR_UNAVAILABLE, lacks);
    return PG_FAILED;
}

enum pg_status pg_prove(struct pg *pg, int64_t until_us)
{
    return store_counts(pg->store) ? pg_flush_log(pg, until_us) : PG_OK;
}

static enum pg_status refuse_standby(struct pg *pg)
{
    pg_set_error(pg, ERROR_UNAVAILABLE, "it is a standby, and may be behind");
    return PG_FAILED;
}

/* Behind a pooler, which server it is is known within a transaction alone. */
enum pg_status pg_look(struct pg *pg, enum sql statement, const struct pg_value *values, int count,
                       int64_t until_us)
{
    struct pg_command look = {statement, values, count};

    if (!pg->pooled)
        return is_standby(pg) ? refuse_standby(pg)
                              : pg_exec(pg, statement, values, count, until_us);
    pg_begin(pg);
    enum pg_status status = pg_exec(pg, SQL_IN_RECOVERY, PG_NO_ARGS, until_us);
    if (status == PG_OK && pg_get_bool(pg, 0, 0))
        status = refuse_standby(pg);
    if (status == PG_OK)
        return pg_exec_commit(pg, &look, 1, until_us);
    pg_rollback(pg, until_us);
    return status;
}

enum pg_status pg_may_commit(struct pg *pg)
{
    if (!atomic_load_explicit(&pg->store->hangs, memory_order_relaxed))
        return PG_OK;
    pg_set_error(pg, ERROR_UNAVAILABLE, store_trouble(pg->store));
    return PG_FAILED;
}

/* A standby may be behind what is flushed here. */
enum pg_status pg_flush_reads(struct pg *pg, int64_t until_us)
{
    if (!store_waits(pg->store)) {
        enum pg_status status = pg_exec(pg, SQL_LOG_FLUSHED, PG_NO_ARGS, until_us);
        if (status != PG_OK || pg_get_bool(pg, 0, 0))
            return status;
    }
    return pg_may_commit(pg) == PG_OK ? pg_flush_log(pg, until_us) : PG_FAILED;
}
