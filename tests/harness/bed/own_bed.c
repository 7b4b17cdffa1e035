#include "lib/t.h"

#include "harness/bed/own_bed.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

struct bed *bed;

static int make(size_t servers)
{
    bed = bed_create(servers);
    return 0;
}

int own_bed_alone(void **state)
{
    (void)state;
    return make(0);
}

int own_bed_one(void **state)
{
    (void)state;
    return make(1);
}

int own_bed_two(void **state)
{
    (void)state;
    return make(2);
}

int own_bed_end(void **state)
{
    (void)state;
    bed_destroy(bed);
    return 0;
}

void own_bed_says(const char *text)
{
    if (!strstr(bed->output, text))
        fail_msg("it does not say '%s': %s", text, bed->output);
}

void own_bed_file_says(const char *name, const char *text)
{
    static char content[1 << 18];
    char path[128];
    snprintf(path, sizeof path, "%s/%s", bed->folder, name);
    FILE *from = t_open(path);
    size_t got = fread(content, 1, sizeof content - 1, from);
    content[got] = '\0';
    fclose(from);
    if (!strstr(content, text))
        fail_msg("%s does not say '%s'", path, text);
}

void own_bed_sql(const char *role, const char *text)
{
    char conninfo[512];
    snprintf(conninfo, sizeof conninfo, "%s%s%s", bed_database(), role ? " user=" : "",
             role ? role : "");
    PGconn *connection = PQconnectdb(conninfo);
    PGresult *result = PQexec(connection, text);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%.200s: %s", text, PQerrorMessage(connection));
    PQclear(result);
    PQfinish(connection);
}
