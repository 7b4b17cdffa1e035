/* See audit.h. */
#include "loadtest/shop/audit/audit.h"

#include "base/clock.h"
#include "loadtest/base/process.h"
#include "loadtest/judge/connect.h"
#include "loadtest/shop/fill.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { QUIET_EVERY_MS = 100, ANSWER_BYTES_MAX = 16 << 20 };

/* --- questions --- */

/* Owned; NULL: it names something else. */
static char *fill_sql(const struct target *target, const char *sql)
{
    char product[24], stock[24];
    const struct fill_field fields[] = {{"product", product}, {"stock", stock}};
    snprintf(product, sizeof product, "%" PRId64, target->product);
    snprintf(stock, sizeof stock, "%" PRId64, target->stock);
    return fill(sql, fields, sizeof fields / sizeof fields[0], FILL_PLAIN);
}

/* NULL with the error: a text that is not in UTF-8 cannot be told. */
static json_t *rows_of(const PGresult *result, struct error *error)
{
    json_t *rows = json_array();
    for (int i = 0; i < PQntuples(result); i++) {
        json_t *values = json_array();
        json_array_append_new(rows, values);
        for (int j = 0; j < PQnfields(result); j++) {
            bool null = PQgetisnull(result, i, j) == 1;
            json_t *value = null ? json_null() : json_string(PQgetvalue(result, i, j));
            if (json_array_append_new(values, value) != 0) {
                error_fail(error, "row %d is not text in UTF-8", i + 1);
                json_decref(rows);
                return NULL;
            }
        }
    }
    return rows;
}

static bool run_sql(PGconn *connection, const char *sql, json_t **answer, struct error *error)
{
    PGresult *result = PQexec(connection, sql);
    ExecStatusType status = PQresultStatus(result);
    bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ||
                connect_failed(connection, "PostgreSQL", error);
    if (good && answer) {
        *answer = rows_of(result, error);
        good = *answer != NULL;
    }
    PQclear(result);
    return good;
}

/* Whatever the shop's database keeps its texts in. */
static bool speak_utf8(PGconn *connection, struct error *error)
{
    return PQsetClientEncoding(connection, "UTF8") == 0 ||
           connect_failed(connection, "PostgreSQL", error);
}

static bool ask_sql(const struct target *target, const char *text, json_t **answer,
                    struct error *error)
{
    char *sql = fill_sql(target, text);
    if (!sql)
        return error_fail(error, "its SQL names something else than {product} and {stock}");
    PGconn *connection =
        connect_open(target->database ? target->database : "", "seckill-loadtest", error);
    bool good =
        connection && speak_utf8(connection, error) && run_sql(connection, sql, answer, error);
    PQfinish(connection);
    free(sql);
    return good;
}

/* The next line that a command has said on stderr; there need be none. */
static void add_said(FILE *log, struct error *error)
{
    char said[240];
    size_t used = strlen(error->text);
    if (log && fgets(said, sizeof said, log))
        snprintf(error->text + used, sizeof error->text - used, "%.*s", (int)strcspn(said, "\n"),
                 said);
}

char *audit_run(const struct shop_asker *asker, const char *command, size_t most,
                struct error *error)
{
    char product[40], stock[40];
    const char *const environment[] = {product, stock, NULL};
    const char *const argv[] = {"sh", "-c", command, NULL};
    snprintf(product, sizeof product, "PRODUCT=%" PRId64, asker->target->product);
    snprintf(stock, sizeof stock, "STOCK=%" PRId64, asker->target->stock);
    char *output = memory_take(most + 2);
    FILE *log = fopen(asker->log, "a+e");
    if (log)
        fseek(log, 0, SEEK_END); /* what others have said is passed over */
    const struct process_capture capture = {.environment = environment,
                                            .log_path = asker->log,
                                            .output = output,
                                            .size = most + 2,
                                            .limit_ms = asker->limit_ms};
    bool good = process_capture(argv, &capture, error);
    if (!good)
        add_said(log, error);
    else if (strlen(output) > most)
        good = error_fail(error, "the command printed more than %zu MiB", most >> 20);
    if (log)
        fclose(log);
    if (good)
        return output;
    free(output);
    return NULL;
}

static bool ask_command(const struct shop_asker *asker, const char *command, json_t **answer,
                        struct error *error)
{
    json_error_t where;
    char *output = audit_run(asker, command, ANSWER_BYTES_MAX, error);
    bool good = output != NULL;
    if (good && answer) {
        *answer = json_loads(output, JSON_DECODE_ANY, &where);
        good = *answer || error_fail(error, "the command printed no JSON (line %d: %s): %.100s",
                                     where.line, where.text, output);
    }
    free(output);
    return good;
}

/* `answer` gets what it said, as JSON, owned by the caller: of SQL an array of rows that are arrays
 * of texts and nulls. NULL: only its success counts. */
static bool ask(const struct shop_asker *asker, const char *name, const struct shop_query *query,
                json_t **answer, struct error *error)
{
    return (query->sql ? ask_sql(asker->target, query->sql, answer, error)
                       : ask_command(asker, query->command, answer, error)) ||
           error_prefix(error, "%s", name);
}

/* --- books --- */

/* A value stands alone, or is the first of the first row. Borrowed; NULL: there is none. */
static const json_t *value_of(const json_t *answer)
{
    while (json_is_array(answer))
        answer = json_array_get(answer, 0);
    return answer;
}

static bool number_of(const json_t *value, int64_t *out)
{
    char *end = NULL;
    if (json_is_integer(value)) {
        *out = json_integer_value(value);
        return true;
    }
    const char *text = json_string_value(value);
    if (!text || !*text)
        return false;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return *end == '\0' && errno == 0;
}

/* PostgreSQL's true is "t". */
static bool is_yes(const json_t *value)
{
    int64_t number = 0;
    const char *text = json_string_value(value);
    return json_is_true(value) || (text && (strcmp(text, "t") == 0 || strcmp(text, "true") == 0)) ||
           (number_of(value, &number) && number > 0);
}

bool audit_wait_quiet(const struct shop_asker *asker, struct error *error)
{
    const struct target *target = asker->target;
    int64_t deadline_us = clock_mono_us() + target->quiet.within_us;
    if (!shop_query_is_given(&target->quiet))
        return true;
    for (;;) {
        json_t *answer = NULL;
        if (!ask(asker, "quiet", &target->quiet, &answer, error))
            return false;
        bool quiet = is_yes(value_of(answer));
        json_decref(answer);
        if (quiet)
            return true;
        if (clock_mono_us() > deadline_us)
            return error_fail(error, "quiet: something was still under way after %" PRId64 " ms",
                              target->quiet.within_us / 1000);
        if (!process_sleep_ms(QUIET_EVERY_MS))
            return error_fail(error, "interrupted");
    }
}

static bool read_left(const struct shop_asker *asker, struct rows *out, struct error *error)
{
    json_t *answer = NULL;
    if (!ask(asker, "stock_left", &asker->target->stock_left, &answer, error))
        return false;
    out->has_left = number_of(value_of(answer), &out->left) && out->left >= -ROWS_LEFT_MAX &&
                    out->left <= ROWS_LEFT_MAX;
    json_decref(answer);
    return out->has_left ||
           error_fail(error, "stock_left: it must be one whole number from %" PRId64 " to %" PRId64,
                      -ROWS_LEFT_MAX, ROWS_LEFT_MAX);
}

/* Owned; NULL: none. */
static char *name_of(const json_t *value)
{
    if (!value || json_is_null(value))
        return NULL;
    return json_is_string(value) ? memory_copy(json_string_value(value))
                                 : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
}

static bool add_row(struct rows *out, const json_t *values, size_t number, struct error *error)
{
    const json_t *units = json_array_get(values, 2);
    struct row_order *row = json_is_array(values) ? rows_add_order(out) : NULL;
    if (!row)
        return error_fail(error, "orders: row %zu is no array of id, user and units", number);
    row->id = name_of(json_array_get(values, 0));
    row->user = name_of(json_array_get(values, 1));
    row->quantity = 1;
    if (units && !json_is_null(units) &&
        (!number_of(units, &row->quantity) || row->quantity < 0 || row->quantity > ROWS_UNITS_MAX))
        return error_fail(error,
                          "orders: the units of row %zu are no whole number from 0 to %" PRId64,
                          number, ROWS_UNITS_MAX);
    return true;
}

static bool read_rows(const struct shop_asker *asker, struct rows *out, struct error *error)
{
    json_t *answer = NULL;
    if (!ask(asker, "orders", &asker->target->orders, &answer, error))
        return false;
    bool good = json_is_array(answer) ||
                error_fail(error, "orders: it must be an array of rows: [[id, user, units], …]");
    for (size_t i = 0; good && i < json_array_size(answer); i++)
        good = add_row(out, json_array_get(answer, i), i + 1, error);
    out->has_orders = good;
    json_decref(answer);
    return good;
}

bool audit_read(const struct shop_asker *asker, struct rows *out, struct error *error)
{
    const struct target *target = asker->target;
    *out = (struct rows){0};
    return (!shop_query_is_given(&target->stock_left) || read_left(asker, out, error)) &&
           (!shop_query_is_given(&target->orders) || read_rows(asker, out, error));
}

static bool is_fresh(const struct target *target, const struct rows *books, struct error *error)
{
    if (books->orders_count > 0)
        return error_fail(error,
                          "the sale does not begin: there are %zu orders already (reset does not "
                          "take them away, or orders asks for others too)",
                          books->orders_count);
    if (books->has_left && books->left != target->stock)
        return error_fail(error,
                          "the sale does not begin: %" PRId64 " are left, and stock says %" PRId64,
                          books->left, target->stock);
    return true;
}

bool audit_begin(const struct shop_asker *asker, struct error *error)
{
    const struct shop_query *reset = &asker->target->reset;
    struct rows books = {0};
    bool good = (!shop_query_is_given(reset) || ask(asker, "reset", reset, NULL, error)) &&
                audit_read(asker, &books, error) && is_fresh(asker->target, &books, error);
    rows_fini(&books);
    return good;
}
