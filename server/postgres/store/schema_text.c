/*
 * What makes the tables, as one statement: the server runs it (schema.c), and --print-schema prints
 * it for whoever owns the database.
 *
 * It makes what is missing, the schema too, from whatever version it finds, and changes nothing
 * where nothing is missing; it is one transaction, and instances and people who run it at once wait
 * for each other. The search_path is set for its own transaction, so it leaves nothing behind in
 * the session, which may be a pooler's. A schema that is newer ends it.
 */
#include "postgres/store/schema_text.h"
#include "postgres/pg_internal.h"

#include <stdlib.h>
#include <string.h>

/* The identifier of this name, in double quotes whether it needs them or not; or with single quotes
 * its literal. */
static void put_quoted(FILE *to, const char *name, char quote)
{
    fputc(quote, to);
    for (; *name; name++) {
        if (*name == quote)
            fputc(quote, to);
        fputc(*name, to);
    }
    fputc(quote, to);
}

static void put_start(FILE *to, const char *name)
{
    fputs("DO $seckill$\nDECLARE\n    seckill_found integer;\nBEGIN\n"
          "PERFORM pg_advisory_xact_lock(" SCHEMA_LOCK ");\n"
          "IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = ",
          to);
    put_quoted(to, name, '\'');
    fputs(") THEN\n    CREATE SCHEMA ", to);
    put_quoted(to, name, '"');
    fputs(";\nEND IF;\nSET LOCAL search_path TO ", to);
    put_quoted(to, name, '"');
    fputs(", pg_temp;\nIF NOT EXISTS (SELECT FROM pg_class JOIN pg_namespace"
          " ON pg_namespace.oid = relnamespace\n"
          "               WHERE relname = 'seckill_schema' AND nspname = ",
          to);
    put_quoted(to, name, '\'');
    fputs(") THEN\n    CREATE TABLE seckill_schema (version integer NOT NULL);\nEND IF;\n"
          "SELECT coalesce(max(version), 0) INTO seckill_found FROM seckill_schema;\n",
          to);
}

static void put_text(FILE *to, const char *name)
{
    put_start(to, name);
    fprintf(to,
            "IF seckill_found > %d THEN\n    RAISE EXCEPTION 'the schema is version %%, and this"
            " server knows %d', seckill_found;\nEND IF;\n",
            SQL_SCHEMA_VERSION, SQL_SCHEMA_VERSION);
    for (int i = 0; i < SQL_SCHEMA_VERSION; i++)
        fprintf(to, "IF seckill_found < %d THEN\n%sEND IF;\n", i + 1, sql_schema[i]);
    fprintf(to,
            "IF seckill_found < %d THEN\nINSERT INTO seckill_schema VALUES (%d);\nEND IF;\n"
            "END $seckill$;\n",
            SQL_SCHEMA_VERSION, SQL_SCHEMA_VERSION);
}

char *schema_text(const char *name)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    if (!to)
        return NULL;
    put_text(to, name);
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

/* Psql goes on after an error, and says 0, unless it is told otherwise. */
void schema_print(FILE *to, const char *name)
{
    fprintf(
        to,
        "-- The tables of seckill-server, version %d; an older version's are brought up to it.\n"
        "-- Run it as their owner: psql -v ON_ERROR_STOP=1 -d DATABASE -f FILE\n",
        SQL_SCHEMA_VERSION);
    put_text(to, name);
    fputs("\n-- What a role that serves needs, here named shop:\n-- GRANT USAGE ON SCHEMA ", to);
    put_quoted(to, name, '"');
    fputs(" TO shop;\n", to);
    for (int i = 0; i < SQL_TABLES; i++) {
        fprintf(to, "-- GRANT %s ON ", sql_rights[i]);
        put_quoted(to, name, '"');
        fprintf(to, ".%s TO shop;\n", sql_tables[i]);
    }
}
