/* Problems: filling one from a reader's finding or from an order's outcome, and writing it out. */
#include "http/reader/problem.h"

#include "base/put.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A quote, a backslash or a control character would need escaping in JSON and could forge a log
 * line. */
static void make_plain(char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"')
            *text = '\'';
        else if (c < 0x20 || c > 0x7e || c == '\\')
            *text = '?';
    }
}

__attribute__((format(printf, 5, 0))) static bool set(struct problem *problem, int status,
                                                      const char *code, const char *field,
                                                      const char *format, va_list args)
{
    *problem = (struct problem){.status = status, .code = code};
    snprintf(problem->field, sizeof problem->field, "%s", field ? field : "");
    vsnprintf(problem->detail, sizeof problem->detail, format, args);
    make_plain(problem->field);
    make_plain(problem->detail);
    return false;
}

bool problem_set(struct problem *problem, int status, const char *code, const char *field,
                 const char *format, ...)
{
    va_list args;

    va_start(args, format);
    set(problem, status, code, field, format, args);
    va_end(args);
    return false;
}

bool problem_field(struct problem *problem, const char *field, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    set(problem, 400, "invalid_field", *field ? field : "(empty)", format, args);
    va_end(args);
    return false;
}

void problem_outcome(struct problem *problem, enum order_outcome outcome)
{
    const struct order_outcome_row *row = order_outcome_row(outcome);

    *problem = (struct problem){.status = row->http_status, .code = row->code};
    memcpy(problem->detail, row->meaning, strnlen(row->meaning, sizeof problem->detail - 1));
    if (outcome == ORDER_QUEUE_TIMEOUT)
        problem->phase = "queue";
    if (outcome == ORDER_LOCK_TIMEOUT)
        problem->phase = "lock";
}

void problem_from_order(struct problem *problem, const struct order *order)
{
    problem_outcome(problem, order->outcome);
    /* A restock leaves no order that GET /orders/ID could find. */
    if (order->outcome == ORDER_OUTCOME_UNKNOWN && order->kind != ORDER_RESTOCK)
        uuid_format(&order->id, problem->order_id);
}

void problem_elsewhere(struct problem *problem, const struct settings *settings,
                       const struct uuid *order)
{
    unsigned cell = uuid_cell(order);
    unsigned own = settings->cell_number;

    if (settings->cells < 2 || problem->status != 404)
        return;
    if (strcmp(problem->code, order_outcome_row(ORDER_UNKNOWN_PRODUCT)->code) == 0) {
        problem_set(problem, 421, "other_cell", NULL,
                    "This is cell %u of %u, which does not have the product.", own,
                    settings->cells);
    } else if (cell > 0 && cell <= settings->cells && cell != own) {
        problem_set(problem, 421, "other_cell", NULL,
                    "This is cell %u of %u, and the order is of cell %u.", own, settings->cells,
                    cell);
        problem->cell = cell;
    }
}

static const char *title(int status)
{
    switch (status) {
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 409:
        return "Conflict";
    case 410:
        return "Gone";
    case 411:
        return "Length Required";
    case 412:
        return "Precondition Failed";
    case 413:
        return "Content Too Large";
    case 414:
        return "URI Too Long";
    case 415:
        return "Unsupported Media Type";
    case 421:
        return "Misdirected Request";
    case 431:
        return "Request Header Fields Too Large";
    case 503:
        return "Service Unavailable";
    case 504:
        return "Gateway Timeout";
    default:
        return "Internal Server Error";
    }
}

static char *put_member(char *out, const char *before, const char *value)
{
    if (!value || value[0] == '\0')
        return out;
    return put_text(put_text(put_text(out, before), value), "\"");
}

size_t problem_render(const struct problem *problem, char out[PROBLEM_JSON_MAX])
{
    char *at = put_text(out, "{\"type\": \"about:blank\", \"title\": \"");

    at = put_text(at, title(problem->status));
    at = put_number(put_text(at, "\", \"status\": "), problem->status);
    at = put_text(put_text(at, ", \"detail\": \""), problem->detail);
    at = put_text(put_text(at, "\", \"code\": \""), problem->code);
    at = put_text(at, "\"");
    at = put_member(at, ", \"field\": \"", problem->field);
    at = put_member(at, ", \"phase\": \"", problem->phase);
    at = put_member(at, ", \"order_id\": \"", problem->order_id);
    if (problem->cell > 0)
        at = put_number(put_text(at, ", \"cell\": "), problem->cell);
    return (size_t)(put_text(at, "}\n") - out);
}
