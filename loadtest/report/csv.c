/* See files.h. */
#include "loadtest/report/files.h"

#include <string.h>

enum { NAME_BYTES = 64 };

/* A name stands for a member, or for a member of one whose name it begins with. */
static const json_t *find(const json_t *object, const char *name)
{
    const json_t *found = json_object_get(object, name);
    for (const char *at = strchr(name, '_'); !found && at; at = strchr(at + 1, '_')) {
        char front[NAME_BYTES];
        snprintf(front, sizeof front, "%.*s", (int)(at - name), name);
        found = find(json_object_get(object, front), at + 1);
    }
    return found;
}

static void write_text(FILE *file, const char *text, bool quoted)
{
    if (!quoted) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text; text++)
        fprintf(file, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', file);
}

static void write_value(FILE *file, const json_t *value, char format)
{
    if (json_is_integer(value))
        fprintf(file, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        fprintf(file, "%.*f", format - '0', json_real_value(value));
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "true" : "false", file);
    else if (json_is_array(value))
        for (size_t i = 0; i < json_array_size(value); i++)
            fprintf(file, "%s%s", i ? " " : "", json_string_value(json_array_get(value, i)));
    else
        write_text(file, value ? json_string_value(value) : "", format == 'q');
}

/* `row` NULL: the titles. */
static void write_line(FILE *file, const char *columns, const json_t *row)
{
    for (const char *at = columns; *at; at += *at == ',') {
        char name[NAME_BYTES];
        size_t length = strcspn(at, ":,"), whole = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        if (at > columns)
            fputc(',', file);
        char format = '0';
        if (length < whole)
            format = at[length + 1];
        if (row)
            write_value(file, find(row, name), format);
        else
            fputs(name, file);
        at += whole;
    }
    fputc('\n', file);
}

bool files_write_csv(const char *folder, const char *name, const char *columns, const json_t *rows,
                     struct error *error)
{
    FILE *file = files_create(folder, name, error);
    if (file)
        write_line(file, columns, NULL);
    for (size_t i = 0; file && i < json_array_size(rows); i++)
        write_line(file, columns, json_array_get(rows, i));
    return file && files_close(file, name, error);
}
