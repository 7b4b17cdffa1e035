/* See pgbench.h. The statements are those of sql/statements.sql, word for word where pgbench's
 * variables allow it, but for the sale that the server names in its one statement; a change there
 * belongs here too. */
#include "bench/tools/pgbench.h"

#include "loadtest/base/process.h"
#include "loadtest/judge/connect.h"

#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An id's first half is the same for the run and younger than every earlier id, as a UUIDv7's is;
 * its second half counts. So the indexes grow where the server's do. */
#define NUMBERS                                                                                    \
    "\\set n :n + 1\n"                                                                             \
    "\\set product random(:first, :last)\n"                                                        \
    "\\set low :client_id * 1000000000 + :n\n"

#define ID "(lpad(to_hex(:high ::bigint), 16, '0') || lpad(to_hex(:low ::bigint), 16, '0'))::uuid"

#define OPEN                                                                                       \
    "(opens_at IS NULL OR opens_at <= clock_timestamp())"                                          \
    " AND (closes_at IS NULL OR clock_timestamp() < closes_at)"

#define READ                                                                                       \
    "SELECT stock, epoch, version, limit_per_user, " OPEN " AS open FROM {schema}.product"         \
    " WHERE id = :product ::bigint"

#define INSERT(strategy)                                                                           \
    "INSERT INTO {schema}.orders (id, product_id, epoch, user_id, quantity, strategy, status, "    \
    "created_at)"                                                                                  \
    " VALUES (" ID ", :product ::bigint, :epoch ::bigint, :low ::bigint + 1, 1, '" strategy        \
    "', 1, now());\n"

static const struct {
    const char *strategy;
    const char *script;
} scripts[] = {
    {"pessimistic",
     NUMBERS "BEGIN;\n" READ " FOR UPDATE \\gset\n"
             "\\set left :stock - 1\n"
             "UPDATE {schema}.product SET stock = :left ::bigint, version = version + 1"
             " WHERE id = :product ::bigint AND epoch = :epoch ::bigint;\n" INSERT(
                 "pessimistic") "COMMIT;\n"},
    {"optimistic", NUMBERS READ
     " \\gset\n"
     "\\set left :stock - 1\n"
     "BEGIN;\n"
     "WITH taken AS (UPDATE {schema}.product SET stock = :left ::bigint, version = version + 1"
     " WHERE id = :product ::bigint AND epoch = :epoch ::bigint"
     " AND version = :version ::bigint RETURNING 1)"
     " SELECT count(*) AS won FROM taken \\gset\n"
     "\\if :won\n" INSERT("optimistic") "COMMIT;\n"
                                        "\\else\n"
                                        "ROLLBACK;\n"
                                        "\\endif\n"},
    {"conditional",
     NUMBERS "WITH taken AS (UPDATE {schema}.product SET stock = stock - 1, version = version + 1"
             " WHERE id = :product ::bigint AND stock >= 1 AND limit_per_user IS NULL AND " OPEN
             " RETURNING id, epoch)"
             " INSERT INTO {schema}.orders"
             " (id, product_id, epoch, user_id, quantity, strategy, status, created_at)"
             " SELECT " ID ", id, epoch, :low ::bigint + 1, 1, 'conditional', 1, now()"
             " FROM taken;\n"},
};

enum { VARIABLES_MAX = 64 };

/* The conninfo as variables for pgbench's environment: NAME=VALUE, NULL at the end. A password must
 * not stand in its command line. */
struct environment {
    char *texts[VARIABLES_MAX + 1]; /* owned */
};

static bool add(struct environment *out, size_t *count, const char *name, const char *value)
{
    if (*count == VARIABLES_MAX || asprintf(&out->texts[*count], "%s=%s", name, value) < 0)
        return false;
    ++*count;
    return true;
}

static void drop_variables(struct environment *environment)
{
    for (size_t i = 0; environment->texts[i]; i++)
        free(environment->texts[i]);
    environment->texts[0] = NULL;
}

/* False when libpq cannot read it, or it has a password for a key file, which no variable takes.
 * What no variable takes else (keepalives, the program's name) is left out. */
static bool list_variables(struct environment *out, const char *conninfo, struct error *error)
{
    size_t count = 0;
    *out = (struct environment){.texts = {NULL}};
    if (!connect_is_conninfo(conninfo))
        return !*conninfo || add(out, &count, "PGDATABASE", conninfo) ||
               error_fail(error, "out of memory");
    PQconninfoOption *options = connect_parse(conninfo, error);
    bool good = options != NULL;
    for (const PQconninfoOption *one = options; good && one->keyword; one++) {
        if (!one->val)
            continue;
        if (one->envvar && !add(out, &count, one->envvar, one->val))
            good = error_fail(error, "out of memory");
        else if (!one->envvar && strcmp(one->keyword, "sslpassword") == 0)
            good = error_fail(error, "pgbench cannot be given sslpassword unseen");
    }
    PQconninfoFree(options);
    if (!good)
        drop_variables(out);
    return good;
}

bool pgbench_find(char *out, size_t size, struct error *error)
{
    if (process_find("pgbench", "", out, size))
        return true;
    glob_t found;
    bool good = glob("/usr/lib/postgresql/*/bin/pgbench", 0, NULL, &found) == 0;
    if (good)
        snprintf(out, size, "%s", found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
    return good || error_fail(error, "pgbench is needed (Debian's package is postgresql-contrib "
                                     "or postgresql)");
}

bool pgbench_parse(const char *output, double *transactions, double *per_s, struct error *error)
{
    static const char processed[] = "number of transactions actually processed: ";
    const char *count = strstr(output, processed);
    const char *rate = strstr(output, "\ntps = ");
    char *end = NULL;
    *transactions = count ? strtod(count + strlen(processed), NULL) : 0;
    *per_s = rate ? strtod(rate + strlen("\ntps = "), &end) : 0;
    if (*transactions <= 0 || *per_s <= 0)
        return error_fail(error, "pgbench did not print its figures: %.400s", output);
    if (strstr(output, "aborted in command"))
        return error_fail(error, "a client of pgbench was aborted: %.400s", output);
    return true;
}

static bool write_script(const struct pgbench_load *load, const char *schema, char *path,
                         size_t size, struct error *error)
{
    if (strchr(schema, ':'))
        return error_fail(error, "pgbench takes a colon in the schema's name for a variable");
    snprintf(path, size, "%s/pgbench-%s.sql", load->folder, load->strategy);
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        if (strcmp(scripts[i].strategy, load->strategy) != 0)
            continue;
        char *text = connect_qualify(scripts[i].script, schema);
        FILE *file = fopen(path, "w");
        bool good = file && text && fputs(text, file) >= 0;
        good = file && fclose(file) == 0 && good;
        free(text);
        return good || error_fail(error, "cannot write %s", path);
    }
    return error_fail(error, "there is no pgbench script for %s", load->strategy);
}

bool pgbench_run(const struct pgbench_load *load, struct witness *witness, double *orders_per_s,
                 struct error *error)
{
    char script[1200], output[16384] = "";
    if (!write_script(load, witness_schema(witness), script, sizeof script, error))
        return false;
    int64_t high = clock_wall_us() / CLOCK_US_PER_MS << 16;
    char clients[16], jobs[16], seconds[24], high_text[48], first[48], last[48];
    int64_t last_product = load->first_product + load->products - 1;
    snprintf(clients, sizeof clients, "%d", load->clients);
    snprintf(jobs, sizeof jobs, "%d", load->clients < 2 ? 1 : 2);
    snprintf(seconds, sizeof seconds, "%" PRId64, load->duration_s);
    snprintf(high_text, sizeof high_text, "high=%" PRId64, high);
    snprintf(first, sizeof first, "first=%" PRId64, load->first_product);
    snprintf(last, sizeof last, "last=%" PRId64, last_product);
    const char *const argv[] = {load->program, "-n",      "-M", "prepared", "-c", clients,
                                "-j",          jobs,      "-T", seconds,    "-f", script,
                                "-D",          high_text, "-D", first,      "-D", last,
                                "-D",          "n=0",     NULL};
    struct environment environment;
    if (!list_variables(&environment, load->conninfo, error))
        return false;
    struct process_capture capture = {.environment = (const char *const *)environment.texts,
                                      .output = output,
                                      .size = sizeof output,
                                      .limit_ms = (int)(load->duration_s * 1000 + 30000)};
    double transactions = 0, per_s = 0;
    struct books rows;
    bool ran = process_capture(argv, &capture, error);
    drop_variables(&environment);
    if (!ran || !pgbench_parse(output, &transactions, &per_s, error) ||
        !witness_sum(witness, load->first_product, last_product, &rows, error))
        return false;
    *orders_per_s = (double)rows.confirmed_rows * per_s / transactions;
    return true;
}
