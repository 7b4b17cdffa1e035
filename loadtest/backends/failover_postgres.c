/* See failover.h: what concerns PostgreSQL. */
#include "loadtest/backends/failover.h"

#include "base/clock.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

enum { POLL_US = 10000 };

/* The first column of the first row, "" without one. */
static bool ask(const char *conninfo, const char *sql, char *out, size_t size, struct error *error)
{
    char with_limit[1024];

    snprintf(with_limit, sizeof with_limit, "%s connect_timeout=10", conninfo);
    PGconn *connection = PQconnectdb(with_limit);
    PGresult *result = PQexec(connection, sql);
    ExecStatusType status = PQresultStatus(result);
    bool done = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;

    snprintf(out, size, "%s", done && PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    if (!done)
        error_fail(error, "PostgreSQL: %s", PQerrorMessage(connection));
    PQclear(result);
    PQfinish(connection);
    return done;
}

static bool wait_for(const char *conninfo, const char *sql, const char *wanted, int64_t limit_us,
                     struct error *error)
{
    int64_t until_us = clock_mono_us() + limit_us;
    char found[256] = "";

    do {
        if (!ask(conninfo, sql, found, sizeof found, error))
            return false;
        if (strcmp(found, wanted) == 0)
            return true;
        clock_sleep_until(clock_mono_us() + POLL_US);
    } while (clock_mono_us() < until_us);
    return error_fail(error, "\"%s\" is not \"%s\" but \"%s\"", sql, wanted, found);
}

bool failover_wait_standby(const char *primary, int64_t limit_us, struct error *error)
{
    char lsn[64], sql[256];

    if (!ask(primary, "SELECT pg_current_wal_lsn()", lsn, sizeof lsn, error))
        return false;
    snprintf(
        sql, sizeof sql,
        "SELECT replay_lsn >= '%s' FROM pg_stat_replication WHERE application_name = 'standby'",
        lsn);
    return wait_for(primary, sql, "t", limit_us, error);
}

bool failover_set_synchronous(const char *primary, bool synchronous, struct error *error)
{
    char ignored[8];

    return ask(primary,
               synchronous ? "ALTER SYSTEM SET synchronous_standby_names = 'standby'"
                           : "ALTER SYSTEM RESET synchronous_standby_names",
               ignored, sizeof ignored, error) &&
           ask(primary, "SELECT pg_reload_conf()", ignored, sizeof ignored, error) &&
           wait_for(primary, "SELECT current_setting('synchronous_standby_names')",
                    synchronous ? "standby" : "", 10 * CLOCK_US_PER_S, error);
}

bool failover_promote_standby(const char *standby, int64_t limit_us, struct error *error)
{
    char ignored[8];

    return ask(standby, "SELECT pg_promote(false)", ignored, sizeof ignored, error) &&
           wait_for(standby, "SELECT pg_is_in_recovery()", "f", limit_us, error);
}
