/* See fill.h. A text is walked through once, part by part: what stands as it is, or a field. */
#include "loadtest/shop/fill.h"

#include "loadtest/base/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS  "0123456789"

/* 0: no name begins here, or it is too long to be one. */
static size_t name_length(const char *at)
{
    size_t length = strspn(at, LETTERS DIGITS "_");
    return length > FILL_NAME_MAX || strspn(at, DIGITS) > 0 ? 0 : length;
}

bool fill_is_name(const char *name)
{
    size_t length = name_length(name);
    return length > 0 && name[length] == '\0';
}

/* The length of the name when a field begins at the brace, else 0. */
static size_t field_length(const char *brace)
{
    size_t length = name_length(brace + 1);
    return length > 0 && brace[1 + length] == '}' ? length : 0;
}

static bool is_control(char c)
{
    return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

bool fill_fits_header(const char *value)
{
    while (*value && !is_control(*value))
        value++;
    return *value == '\0';
}

/* What a form does with a character: all but those of `stay` are written by percent, those of
 * `marked` have the mark before them. */
static const struct {
    const char *stay, *marked;
    char mark;
} forms[] = {
    [FILL_PLAIN] = {.stay = NULL},
    [FILL_URL] = {.stay = LETTERS DIGITS "-._~/"},
    [FILL_FORM] = {.stay = LETTERS DIGITS "-._~"},
    [FILL_JSON] = {.marked = "\"\\", .mark = '\\'},
    [FILL_CONNINFO] = {.marked = " \t\n\v\f\r'\\", .mark = '\\'},
    [FILL_SQL] = {.marked = "'", .mark = '\''},
    [FILL_HEADER] = {.stay = NULL},
    [FILL_TEMPLATE] = {.marked = "{", .mark = '{'},
};

static bool put_value(FILE *to, const char *value, enum fill_form form)
{
    for (const char *at = value; *at; at++)
        if (forms[form].stay && !strchr(forms[form].stay, *at))
            fprintf(to, "%%%02X", (unsigned char)*at);
        else if (form == FILL_JSON && (unsigned char)*at < 0x20)
            fprintf(to, "\\u%04x", (unsigned)*at);
        else if (forms[form].marked && strchr(forms[form].marked, *at))
            fprintf(to, "%c%c", forms[form].mark, *at);
        else
            fputc(*at, to);
    return form != FILL_HEADER || fill_fits_header(value);
}

static const char *find(const char *name, size_t length, const struct fill_field *fields,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(fields[i].name, name, length) == 0 && fields[i].name[length] == '\0')
            return fields[i].value;
    return NULL;
}

/* From a brace on; returns what stands behind what was written, NULL when it cannot be filled. */
static const char *put_brace(FILE *to, const char *brace, const struct fill_field *fields,
                             size_t count, enum fill_form form)
{
    size_t length = field_length(brace);
    if (length == 0) {
        fputc('{', to);
        return brace + (brace[1] == '{' ? 2 : 1);
    }
    const char *value = find(brace + 1, length, fields, count);
    return value && put_value(to, value, form) ? brace + 1 + length + 1 : NULL;
}

char *fill(const char *text, const struct fill_field *fields, size_t count, enum fill_form form)
{
    char *filled = NULL;
    size_t size = 0;
    FILE *to = memory_need(open_memstream(&filled, &size));
    while (text && *text) {
        size_t plain = strcspn(text, "{");
        fwrite(text, 1, plain, to);
        text += plain;
        if (*text)
            text = put_brace(to, text, fields, count, form);
    }
    fclose(to);
    if (text)
        return memory_need(filled);
    free(filled);
    return NULL;
}

bool fill_next_name(const char **at, char name[FILL_NAME_MAX + 1])
{
    const char *brace = *at;
    while ((brace = strchr(brace, '{')) != NULL) {
        size_t length = field_length(brace);
        if (length > 0) {
            snprintf(name, FILL_NAME_MAX + 1, "%.*s", (int)length, brace + 1);
            *at = brace + 1 + length + 1;
            return true;
        }
        brace += brace[1] == '{' ? 2 : 1;
    }
    return false;
}
