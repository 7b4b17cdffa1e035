/* See json_lines.h. */
#include "loadtest/ledger/json_lines.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct json_lines {
    FILE *to; /* owned */
    char path[1200];
    bool failed;
};

struct json_lines *json_lines_create(const char *path, struct error *error)
{
    struct json_lines *lines = calloc(1, sizeof *lines);
    if (!lines) {
        error_fail(error, "out of memory");
        return NULL;
    }
    snprintf(lines->path, sizeof lines->path, "%s", path);
    lines->to = fopen(path, "we");
    if (!lines->to) {
        error_fail(error, "%s: %s", path, strerror(errno));
        free(lines);
        return NULL;
    }
    return lines;
}

void json_lines_put(struct json_lines *lines, json_t *line)
{
    if (!line || json_dumpf(line, lines->to, JSON_COMPACT) != 0 || putc('\n', lines->to) == EOF)
        lines->failed = true;
    json_decref(line);
}

void json_lines_set_number(json_t *line, const char *name, int64_t value)
{
    json_object_set_new(line, name, json_integer(value));
}

void json_lines_set_text(json_t *line, const char *name, const char *value)
{
    if (value && *value)
        json_object_set_new(line, name, json_string(value));
}

void json_lines_set_began(json_t *line)
{
    char began[CLOCK_RFC3339_LENGTH + 1];
    clock_format_rfc3339(clock_wall_us(), began);
    json_lines_set_text(line, "began", began);
    json_lines_set_text(line, "clock", "CLOCK_MONOTONIC");
}

bool json_lines_flush(struct json_lines *lines, struct error *error)
{
    if (fflush(lines->to) != 0 || ferror(lines->to))
        lines->failed = true;
    return !lines->failed || error_fail(error, "%s cannot be written: %s", lines->path,
                                        errno ? strerror(errno) : "out of memory");
}

bool json_lines_close(struct json_lines *lines, struct error *error)
{
    if (!lines)
        return true;
    bool good = json_lines_flush(lines, error);
    if (fclose(lines->to) != 0 && good)
        good = error_fail(error, "%s: %s", lines->path, strerror(errno));
    free(lines);
    return good;
}
