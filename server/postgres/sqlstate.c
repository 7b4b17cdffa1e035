/* From PostgreSQL's error codes to a statement's status: the one place that knows them (PostgreSQL
 * documentation, appendix A). A table by prefix; the longer ones come first.
 *
 * 22P02 is the statements' own word (sql/statements.sql): parameters are binary, there is no text
 * to convert. Only what is listed as UNIQUE, BUG or REFUSED is the fault of a row. A code that is
 * not in the table is about the server: 25006 (read-only), 42xxx (the schema or the privileges are
 * not there), 53xxx (disk, memory, connections), 54xxx, 55xxx, 57014 (cancelled), 58xxx, XXxxx. */
#include "postgres/pg_internal.h"

#include <string.h>

bool pg_ends_session(const char *sqlstate)
{
    static const char *const states[] = {
        "25006", /* the server went read-only, or is a standby by now; another one may not be */
        "26000", /* a prepared statement is gone, as behind a pooler, */
        "42P05", /* or was there before */
        "0A000", /* a cached plan's result has changed with the schema */
    };

    for (size_t i = 0; sqlstate && i < sizeof states / sizeof *states; i++)
        if (strcmp(sqlstate, states[i]) == 0)
            return true;
    return false;
}

bool pg_misses_schema(const char *sqlstate)
{
    static const char *const states[] = {
        "42P01", /* a table, */
        "42703", /* a column, */
        "42883", /* a function, */
        "3F000", /* a schema */
    };

    for (size_t i = 0; sqlstate && i < sizeof states / sizeof *states; i++)
        if (strcmp(sqlstate, states[i]) == 0)
            return true;
    return false;
}

enum pg_status pg_classify(const char *sqlstate)
{
    static const struct {
        const char *state;
        enum pg_status status;
    } meanings[] = {
        {"40001", PG_CONFLICT}, {"40P01", PG_CONFLICT}, {"26000", PG_CONFLICT},
        {"42P05", PG_CONFLICT}, {"0A000", PG_CONFLICT}, {"55P03", PG_BUSY},
        {"23505", PG_UNIQUE},   {"23514", PG_BUG},      {"57P", PG_LOST},
        {"25P04", PG_LOST},     {"40003", PG_LOST},     {"25P03", PG_LOST},
        {"08", PG_LOST},        {"22P02", PG_WITHHELD}, {"22", PG_BUG},
        {"23", PG_REFUSED},     {"27", PG_REFUSED},     {"44", PG_REFUSED},
        {"P0", PG_REFUSED},
    };

    if (!sqlstate)
        return PG_LOST;
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strncmp(sqlstate, meanings[i].state, strlen(meanings[i].state)) == 0)
            return meanings[i].status;
    return PG_FAILED;
}
