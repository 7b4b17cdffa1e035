/* See answer.h. */
#include "loadtest/engine/answer.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LENGTH_DIGITS_MAX = 6, STATUS_AT = 9, STATUS_LINE_LEAST = 12 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool read_status(const char *bytes, size_t used, int *status)
{
    static const char version[] = "HTTP/1.1 ";
    if (used < STATUS_LINE_LEAST || memcmp(bytes, version, STATUS_AT) != 0)
        return false;
    *status = 0;
    for (size_t i = STATUS_AT; i < STATUS_LINE_LEAST; i++) {
        if (!is_digit(bytes[i]))
            return false;
        *status = *status * 10 + (bytes[i] - '0');
    }
    return *status >= 200 && *status <= 599;
}

/* The value of the header line when it is the header `name`, else NULL. Lines end with \r\n. */
static const char *value_of(const char *line, size_t length, const char *name)
{
    size_t name_length = strlen(name);
    if (length <= name_length || strncasecmp(line, name, name_length) != 0 ||
        line[name_length] != ':')
        return NULL;
    const char *value = line + name_length + 1;
    return value + strspn(value, " ");
}

static bool read_length(const char *value, size_t *length)
{
    size_t digits = 0;
    while (is_digit(value[digits]))
        digits++;
    if (digits == 0 || digits > LENGTH_DIGITS_MAX || value[digits] != '\r')
        return false;
    *length = strtoul(value, NULL, 10);
    return true;
}

enum answer_state answer_read(const char *bytes, size_t used, struct answer *out)
{
    static const char blank[] = "\r\n\r\n";
    const char *end = memmem(bytes, used, blank, strlen(blank));
    if (!end)
        return ANSWER_PARTIAL;
    *out = (struct answer){0};
    if (!read_status(bytes, used, &out->status))
        return ANSWER_UNEXPECTED;

    bool has_length = false;
    size_t body = 0;
    /* The status line, which is no header, is the first. */
    for (const char *line = bytes, *next; line < end; line = next + 1) {
        next = memchr(line, '\n', (size_t)(end + 2 - line));
        if (!next)
            return ANSWER_UNEXPECTED;
        size_t length = (size_t)(next - line);
        const char *value = value_of(line, length, "Content-Length");
        if (value && (has_length || !read_length(value, &body)))
            return ANSWER_UNEXPECTED;
        has_length = has_length || value;
        if (value_of(line, length, "Transfer-Encoding"))
            return ANSWER_UNEXPECTED;
        value = value_of(line, length, "Connection");
        out->closes = out->closes || (value && strncasecmp(value, "close", 5) == 0);
    }
    size_t whole = (size_t)(end - bytes) + strlen(blank) + body;
    if (!has_length || used > whole)
        return ANSWER_UNEXPECTED;
    out->body = bytes + whole - body;
    out->body_length = body;
    return used == whole ? ANSWER_WHOLE : ANSWER_PARTIAL;
}

static void take(const json_t *body, const char *name, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(body, name));
    snprintf(out, size, "%s", text ? text : "");
}

void answer_fields(const struct answer *answer, struct answer_fields *out)
{
    json_error_t fault;
    json_t *body = json_loadb(answer->body, answer->body_length, 0, &fault);
    take(body, "id", out->id, sizeof out->id);
    take(body, "order_id", out->order_id, sizeof out->order_id);
    take(body, "code", out->code, sizeof out->code);
    take(body, "status", out->status, sizeof out->status);
    json_decref(body);
}
