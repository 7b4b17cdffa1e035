/*
 * The tables' DDL, as one statement: the server runs it (schema.c), and --print-schema prints it
 * for the database's owner.
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

enum { TAG_SIZE = 40 };

static void put_doubled(FILE *to, const char *name, const char *twice)
{
    for (; *name; name++) {
        if (strchr(twice, *name))
            fputc(*name, to);
        fputc(*name, to);
    }
}

/* The identifier of this name, in quotes whether it needs them or not. */
static void put_identifier(FILE *to, const char *name)
{
    fputc('"', to);
    put_doubled(to, name, "\"");
    fputc('"', to);
}

/* Whatever standard_conforming_strings is. */
static void put_literal(FILE *to, const char *name)
{
    fputs("E'", to);
    put_doubled(to, name, "'\\");
    fputc('\'', to);
}

/* What stands around the text, which has the name in it: so the name must not have the tag in it.
 */
static void choose_tag(char tag[TAG_SIZE], const char *name)
{
    snprintf(tag, TAG_SIZE, "$seckill$");
    for (int i = 1; strstr(name, tag); i++)
        snprintf(tag, TAG_SIZE, "$seckill%d$", i);
}

static void put_start(FILE *to, const char *name)
{
    fputs("DECLARE\n    seckill_found integer;\nBEGIN\n"
          "PERFORM pg_advisory_xact_lock(" SCHEMA_LOCK ");\n"
          "IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = ",
          to);
    put_literal(to, name);
    fputs(") THEN\n    CREATE SCHEMA ", to);
    put_identifier(to, name);
    fputs(";\nEND IF;\nSET LOCAL search_path TO ", to);
    put_identifier(to, name);
    fputs(", pg_temp;\nIF current_schema() IS DISTINCT FROM ", to);
    put_literal(to, name);
    /* Else the tables would be made in pg_temp. */
    fputs(" THEN\n    RAISE insufficient_privilege USING MESSAGE = 'the schema may not be used';\n"
          "END IF;\nIF NOT EXISTS (SELECT FROM pg_class JOIN pg_namespace"
          " ON pg_namespace.oid = relnamespace\n"
          "               WHERE relname = 'seckill_schema' AND nspname = ",
          to);
    put_literal(to, name);
    fputs(") THEN\n    CREATE TABLE seckill_schema (version integer NOT NULL);\nEND IF;\n"
          "SELECT coalesce(max(version), 0) INTO seckill_found FROM seckill_schema;\n",
          to);
}

static void put_text(FILE *to, const char *name)
{
    char tag[TAG_SIZE];

    choose_tag(tag, name);
    fprintf(to, "DO %s\n", tag);
    put_start(to, name);
    fprintf(to,
            "IF seckill_found > %d THEN\n    RAISE EXCEPTION 'the schema is version %%, and this"
            " server knows %d', seckill_found;\nEND IF;\n",
            SQL_SCHEMA_VERSION, SQL_SCHEMA_VERSION);
    for (int i = 0; i < SQL_SCHEMA_VERSION; i++)
        fprintf(to, "IF seckill_found < %d THEN\n%sEND IF;\n", i + 1, sql_schema[i]);
    fprintf(to,
            "IF seckill_found < %d THEN\nINSERT INTO seckill_schema VALUES (%d);\nEND IF;\n"
            "END %s;\n",
            SQL_SCHEMA_VERSION, SQL_SCHEMA_VERSION, tag);
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
    put_identifier(to, name);
    fputs(" TO shop;\n", to);
    for (int i = 0; i < SQL_TABLES; i++) {
        fprintf(to, "-- GRANT %s ON ", sql_rights[i]);
        put_identifier(to, name);
        fprintf(to, ".%s TO shop;\n", sql_tables[i]);
    }
}
