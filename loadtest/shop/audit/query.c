/* See query.h. */
#include "loadtest/shop/audit/query.h"

#include "loadtest/base/process.h"
#include "loadtest/judge/connect.h"
#include "loadtest/shop/fill.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Owned; NULL: out of memory, or it names something else. */
static char *fill_sql(const struct target *target, const char *sql)
{
    char product[24], stock[24];
    const struct fill_field fields[] = {{"product", product}, {"stock", stock}};
    snprintf(product, sizeof product, "%" PRId64, target->product);
    snprintf(stock, sizeof stock, "%" PRId64, target->stock);
    return fill(sql, fields, sizeof fields / sizeof fields[0], FILL_PLAIN);
}

/* NULL: a text in it is not in UTF-8, so it cannot be told. */
static json_t *row_of(const PGresult *result, int row)
{
    json_t *values = json_array();
    for (int i = 0; i < PQnfields(result); i++) {
        bool null = PQgetisnull(result, row, i) == 1;
        json_t *value = null ? json_null() : json_string(PQgetvalue(result, row, i));
        if (json_array_append_new(values, value) != 0) {
            json_decref(values);
            return NULL;
        }
    }
    return values;
}

/* NULL with the error. */
static json_t *rows_of(const PGresult *result, struct error *error)
{
    json_t *rows = json_array();
    for (int i = 0; i < PQntuples(result); i++) {
        if (json_array_append_new(rows, row_of(result, i)) != 0) {
            error_fail(error, "row %d is not text in UTF-8", i + 1);
            json_decref(rows);
            return NULL;
        }
    }
    return rows;
}

/* NULL with the error. */
static PGresult *run_sql(PGconn *connection, const char *sql, struct error *error)
{
    PGresult *result = PQexec(connection, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        return result;
    connect_failed(connection, "PostgreSQL", error);
    PQclear(result);
    return NULL;
}

/* Whatever the shop's database keeps its texts in. */
static bool speak_utf8(PGconn *connection, struct error *error)
{
    return PQsetClientEncoding(connection, "UTF8") == 0 ||
           connect_failed(connection, "PostgreSQL", error);
}

static PGresult *ask_sql(const struct target *target, const char *text, struct error *error)
{
    char *sql = fill_sql(target, text);
    if (!sql) {
        error_fail(error, "its SQL names something else than {product} and {stock}");
        return NULL;
    }
    PGconn *connection =
        connect_open(target->database ? target->database : "", "seckill-loadtest", error);
    PGresult *result =
        connection && speak_utf8(connection, error) ? run_sql(connection, sql, error) : NULL;
    PQfinish(connection);
    free(sql);
    return result;
}

/* The first line that a command has said on stderr since `from`. */
static void add_log(const char *log, long from, struct error *error)
{
    char said[240] = "";
    FILE *file = log ? fopen(log, "re") : NULL;
    if (!file)
        return;
    if (fseek(file, from, SEEK_SET) == 0) {
        size_t got = fread(said, 1, sizeof said - 1, file);
        said[got] = '\0';
        said[strcspn(said, "\n")] = '\0';
    }
    fclose(file);
    size_t used = strlen(error->text);
    snprintf(error->text + used, sizeof error->text - used, "%s", said);
}

static long length_of(const char *log)
{
    FILE *file = log ? fopen(log, "re") : NULL;
    long length = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
    if (file)
        fclose(file);
    return length > 0 ? length : 0;
}

/* What it wrote; owned; NULL with the error. */
static char *run_command(const struct shop_asker *asker, const char *command, struct error *error)
{
    char product[40], stock[40];
    const char *const environment[] = {product, stock, NULL};
    const char *const argv[] = {"sh", "-c", command, NULL};
    snprintf(product, sizeof product, "PRODUCT=%" PRId64, asker->target->product);
    snprintf(stock, sizeof stock, "STOCK=%" PRId64, asker->target->stock);
    char *output = malloc(QUERY_BYTES_MAX + 2);
    if (!output) {
        error_fail(error, "out of memory");
        return NULL;
    }
    long began = length_of(asker->log);
    const struct process_capture capture = {.environment = environment,
                                            .log_path = asker->log,
                                            .output = output,
                                            .size = QUERY_BYTES_MAX + 2,
                                            .limit_ms = asker->limit_ms};
    bool good = process_capture(argv, &capture, error);
    if (!good)
        add_log(asker->log, began, error);
    else if (strlen(output) > QUERY_BYTES_MAX)
        good = error_fail(error, "the command printed more than %d MiB", QUERY_BYTES_MAX >> 20);
    if (good)
        return output;
    free(output);
    return NULL;
}

static json_t *ask_command(const struct shop_asker *asker, const char *command, struct error *error)
{
    json_error_t where;
    char *output = run_command(asker, command, error);
    if (!output)
        return NULL;
    json_t *answer = json_loads(output, JSON_DECODE_ANY, &where);
    if (!answer)
        error_fail(error, "the command printed no JSON (line %d: %s): %.100s", where.line,
                   where.text, output);
    free(output);
    return answer;
}

json_t *query_ask(const struct shop_asker *asker, const char *name, const struct shop_query *query,
                  struct error *error)
{
    json_t *answer = NULL;
    if (query->sql) {
        PGresult *result = ask_sql(asker->target, query->sql, error);
        answer = result ? rows_of(result, error) : NULL;
        PQclear(result);
    } else
        answer = ask_command(asker, query->command, error);
    if (!answer)
        error_prefix(error, "%s", name);
    return answer;
}

bool query_do(const struct shop_asker *asker, const char *name, const struct shop_query *query,
              struct error *error)
{
    bool done = false;
    if (query->sql) {
        PGresult *result = ask_sql(asker->target, query->sql, error);
        done = result != NULL;
        PQclear(result);
    } else {
        char *output = run_command(asker, query->command, error);
        done = output != NULL;
        free(output);
    }
    return done || error_prefix(error, "%s", name);
}
