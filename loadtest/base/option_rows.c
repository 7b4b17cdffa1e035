/* See option_rows.h. */
#include "loadtest/base/option_rows.h"

#include <stdlib.h>
#include <string.h>

enum { LOADS = COMMAND_RUN | COMMAND_SWEEP, ANY = LOADS | COMMAND_AUDIT };

#define AT(member) offsetof(struct options, member)

static const struct option_row backends[] = {
    {"threads", LOADS, OPTION_COUNT, AT(threads), "0", 0, 256, NULL, "N",
     "wrk's threads, rounded up to a multiple of the instances; 0: one a core"},
    {"seed", LOADS, OPTION_COUNT, AT(seed), "1", 0, 1000000000, NULL, "N",
     "the same seed buys with the same user ids in the same order of products"},
    {"first-product", LOADS, OPTION_COUNT, AT(first_product), "1000001", 1000000, 8000000, NULL,
     "ID", "products ID, ID+1, … are sold, and reset"},
    {"database", ANY, OPTION_TEXT, AT(database), "", 0, 0, "SECKILL_DATABASE", "CONNINFO",
     "PostgreSQL, as libpq takes it (the PG* variables)"},
    {"redis", LOADS, OPTION_TEXT, AT(redis), "", 0, 0, "SECKILL_REDIS", "URL",
     "Redis for the started servers"},
    {"stock-redis", LOADS, OPTION_TEXT, AT(stock_redis), "", 0, 0, "SECKILL_STOCK_REDIS", "URL",
     "Redis for their redis-stock (--redis)"},
    {"amqp", LOADS, OPTION_TEXT, AT(amqp), "", 0, 0, "SECKILL_AMQP", "URL",
     "RabbitMQ for the started servers"},
    {"redlock", LOADS, OPTION_TEXT, AT(redlock), "", 0, 0, "SECKILL_REDLOCK", "URL,URL,URL",
     "Redlock's Redis nodes for the started servers"},
    {"memcached", LOADS, OPTION_TEXT, AT(memcached), "", 0, 0, "SECKILL_MEMCACHED", "ADDRESS",
     "memcached for the started servers"},
    {"zookeeper", LOADS, OPTION_TEXT, AT(zookeeper), "", 0, 0, "SECKILL_ZOOKEEPER", "HOSTS",
     "ZooKeeper for the started servers"},
    {"admin-token", LOADS, OPTION_TEXT, AT(admin_token), "", 0, 0, "SECKILL_ADMIN_TOKEN", "T",
     "sent with admin calls, and given to the started servers"},
    {"out", LOADS, OPTION_TEXT, AT(out), "", 0, 0, NULL, "DIR",
     "where the files go (a new folder in results/)"},
    {"server-binary", LOADS, OPTION_TEXT, AT(server_binary), "", 0, 0, NULL, "PATH",
     "the seckill-server to start (the one beside this program)"},
};

const struct option_table option_table_backends = {.rows = backends,
                                                   .count = sizeof backends / sizeof backends[0]};

/* A pointer into the options for a row: the one place where the table's offsets are used. */
static void *field(struct options *options, const struct option_row *row)
{
    return (char *)options + row->offset;
}

static struct options_range range_of(const struct option_row *row)
{
    return (struct options_range){.flag = row->flag, .min = row->min, .max = row->max};
}

static bool read_value(struct options *options, const struct option_row *row, const char *text,
                       struct error *error)
{
    struct options_range range = range_of(row);
    switch (row->kind) {
    case OPTION_TEXT:
        *(const char **)field(options, row) = text;
        return true;
    case OPTION_COUNT:
        return options_read_count(&range, text, field(options, row), error);
    case OPTION_SECONDS:
        return options_read_seconds(&range, text, field(options, row), error);
    case OPTION_LIST:
        return options_read_list(row->flag, text, field(options, row), error);
    case OPTION_NUMBERS:
        return options_read_instances(&range, text, options, error);
    case OPTION_SCENARIO:
        return options_read_scenario(row->flag, text, field(options, row), error);
    case OPTION_SWITCH:
        *(bool *)field(options, row) = true;
        return true;
    }
    return error_fail(error, "--%s: a kind without a reader", row->flag);
}

/* Defaults may lie outside the range: they stand for "not given". */
static bool set_fallback(struct options *options, const struct option_row *row,
                         char *(*environment)(const char *), struct error *error)
{
    const char *value = row->environment ? environment(row->environment) : NULL;
    if (value)
        return read_value(options, row, value, error);
    if (!row->fallback)
        return true;
    if (row->kind == OPTION_COUNT) {
        *(int64_t *)field(options, row) = strtoll(row->fallback, NULL, 10);
        return true;
    }
    return read_value(options, row, row->fallback, error);
}

static const struct option_row *find_row(const struct option_table *table, unsigned commands,
                                         const char *flag, size_t length)
{
    for (; table; table = table->more) {
        for (size_t i = 0; i < table->count; i++) {
            const struct option_row *row = &table->rows[i];
            if ((row->commands & commands) && strlen(row->flag) == length &&
                strncmp(row->flag, flag, length) == 0)
                return row;
        }
    }
    return NULL;
}

static bool set_fallbacks(const struct option_table *table, unsigned commands, struct options *out,
                          char *(*environment)(const char *), struct error *error)
{
    for (; table; table = table->more) {
        for (size_t i = 0; i < table->count; i++) {
            if ((table->rows[i].commands & commands) &&
                !set_fallback(out, &table->rows[i], environment, error))
                return false;
        }
    }
    return true;
}

/* "--flag=value", or "--flag" and what stands behind it: *at is its number in argv. */
static bool read_flag(const struct option_row *row, const struct option_line *line,
                      struct options *out, int *at, struct error *error)
{
    const char *equals = strchr(line->argv[*at], '=');
    if (row->kind == OPTION_SWITCH)
        return equals ? error_fail(error, "--%s takes no value", row->flag)
                      : read_value(out, row, "", error);
    if (equals)
        return read_value(out, row, equals + 1, error);
    if (++*at == line->argc)
        return error_fail(error, "--%s needs a value", row->flag);
    return read_value(out, row, line->argv[*at], error);
}

bool option_rows_parse(const struct option_table *table, unsigned commands,
                       const struct option_line *line, struct options *out,
                       struct option_given *given, bool *help, struct error *error)
{
    *help = false;
    given->count = 0;
    if (!set_fallbacks(table, commands, out, line->environment, error))
        return false;
    for (int i = 0; i < line->argc; i++) {
        if (strcmp(line->argv[i], "--help") == 0) {
            *help = true;
            return true;
        }
        if (strncmp(line->argv[i], "--", 2) != 0)
            return error_fail(error, "'%s' is no flag", line->argv[i]);
        const char *flag = line->argv[i] + 2;
        size_t length = strcspn(flag, "=");
        const struct option_row *row = find_row(table, commands, flag, length);
        if (!row)
            return error_fail(error, "--%.*s is unknown to %s", (int)length, flag, line->command);
        if (!read_flag(row, line, out, &i, error))
            return false;
        if (given->count < sizeof given->flags / sizeof given->flags[0])
            given->flags[given->count++] = row->flag;
    }
    return true;
}

void option_rows_print(FILE *to, const struct option_table *table, unsigned commands)
{
    for (; table; table = table->more) {
        for (size_t i = 0; i < table->count; i++) {
            const struct option_row *row = &table->rows[i];
            if (!(row->commands & commands))
                continue;
            char left[64];
            snprintf(left, sizeof left, "--%s %s", row->flag, row->value ? row->value : "");
            fprintf(to, "  %-26s %s", left, row->help);
            if (row->fallback && *row->fallback && *row->fallback != '-' &&
                row->kind != OPTION_SWITCH && strcmp(row->fallback, "0") != 0)
                fprintf(to, " (%s)", row->fallback);
            if (row->environment)
                fprintf(to, " [%s]", row->environment);
            fputc('\n', to);
        }
    }
}
