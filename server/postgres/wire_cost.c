/*
 * What a statement costs: its bytes on the wire, and the flush of the log that its commit waits
 * for.
 *
 * libpq does not say how much it sends and receives (PQtrace writes text), and the kernel counts
 * bytes for TCP alone, not for a Unix socket (TCP_INFO). But libpq's messages follow from what is
 * given to it and what it gives back, so they are added up here: Parse, Bind, Describe and Execute
 * for a statement, one Sync a bundle, and the answers to them. TLS and notices are left out.
 * integration/database/test_cost_bytes.c compares the sum with what passes through a proxy.
 *
 * A commit waits for the log when its transaction has written something, and that is a statement
 * that can write and has matched a row. Locking a row writes, too. Whether PostgreSQL is set to
 * wait (synchronous_commit, fsync) is not looked at.
 *
 * Source: PostgreSQL documentation, "Frontend/Backend Protocol", Message Formats.
 */
#include "postgres/pg_internal.h"

#include "metrics/cost.h"

#include <stdlib.h>
#include <string.h>

enum {
    MESSAGE = 5, /* type and length */
    NUMBER2 = 2,
    NUMBER4 = 4,
    FIELD = 18, /* of a RowDescription, without its name */
    DESCRIBE_AND_EXECUTE = MESSAGE + 2 + MESSAGE + 1 + NUMBER4,
    BIND = MESSAGE + 1 + 4 * NUMBER2, /* without the statement's name and what is bound to it */
    SYNC_AND_READY = MESSAGE + MESSAGE + 1
};

static size_t text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static size_t bind_size(const char *name, const struct pg_parameters *parameters, int count)
{
    size_t size = BIND + text_size(name);

    for (int i = 0; i < count; i++)
        size += NUMBER2 + NUMBER4 + (parameters->values[i] ? (size_t)parameters->lengths[i] : 0);
    return size;
}

void pg_cost_sent(struct pg *pg, const struct pg_command *command,
                  const struct pg_parameters *parameters, const char *text)
{
    const char *name = sql_names[command->statement];
    size_t size = bind_size(name, parameters, command->count) + DESCRIBE_AND_EXECUTE;

    if (text) {
        size += MESSAGE + text_size(name) + text_size(text) + NUMBER2;
        /* "FOR UPDATE" and "DO UPDATE" are found, too. */
        pg->writes[command->statement] = strstr(text, "INSERT ") || strstr(text, "UPDATE") ||
                                         strstr(text, "DELETE ") || strstr(text, "emit_message");
    }
    cost_add(COST_POSTGRESQL, COST_STATEMENTS, 1);
    cost_add(COST_POSTGRESQL, COST_BYTES, size);
}

void pg_cost_sync(void)
{
    cost_add(COST_POSTGRESQL, COST_BYTES, SYNC_AND_READY);
}

void pg_cost_round_trip(void)
{
    cost_add(COST_POSTGRESQL, COST_ROUND_TRIPS, 1);
    pg_cost_sync();
}

/* BindComplete, the rows and what they are like, CommandComplete. */
static size_t answer_size(PGresult *result)
{
    int columns = PQnfields(result);
    size_t size = MESSAGE + MESSAGE + MESSAGE + text_size(PQcmdStatus(result));

    if (columns > 0)
        size += NUMBER2;
    for (int column = 0; column < columns; column++)
        size += text_size(PQfname(result, column)) + FIELD;
    for (int row = 0; row < PQntuples(result); row++) {
        size += MESSAGE + NUMBER2;
        for (int column = 0; column < columns; column++)
            size += NUMBER4 + (size_t)PQgetlength(result, row, column);
    }
    return size;
}

/* An ErrorResponse: each of its fields has a letter. Most statements fail when they are executed,
 * after BindComplete and NoData. */
static size_t error_size(const PGresult *result)
{
    static const char letters[] = "SVCMDHPpqWstcdnFLR";
    size_t size = MESSAGE + MESSAGE + MESSAGE + 1;

    for (const char *letter = letters; *letter; letter++) {
        size_t text = text_size(PQresultErrorField(result, *letter));
        size += text ? text + 1 : 0;
    }
    return size;
}

static bool has_written(const struct pg *pg, enum sql statement, PGresult *result)
{
    return pg->writes[statement] && strtol(PQcmdTuples(result), NULL, 10) > 0;
}

/* One that is released early waits for none. */
static void add_flush(const struct pg *pg)
{
    if (!pg->limit.told_early)
        cost_add(COST_POSTGRESQL, COST_FLUSHES, 1);
}

void pg_cost_received(struct pg *pg, enum sql statement, bool preparing, PGresult *result)
{
    ExecStatusType kind = PQresultStatus(result);

    if (kind != PGRES_COMMAND_OK && kind != PGRES_TUPLES_OK) {
        cost_add(COST_POSTGRESQL, COST_BYTES, error_size(result));
        return;
    }
    cost_add(COST_POSTGRESQL, COST_BYTES, preparing ? (size_t)MESSAGE : answer_size(result));
    if (preparing)
        return;
    if (statement == SQL_COMMIT || statement == SQL_ROLLBACK) {
        if (pg->written && strcmp(PQcmdStatus(result), "COMMIT") == 0)
            add_flush(pg);
        pg->written = false;
    } else if (statement == SQL_FLUSH_READ || has_written(pg, statement, result)) {
        /* Outside a transaction the statement is its own commit. */
        if (pg->in_transaction)
            pg->written = true;
        else
            add_flush(pg);
    }
}
