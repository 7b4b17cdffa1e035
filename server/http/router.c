/* The walk over the route table: 404 when no pattern fits, 405 with Allow when no method
 * does. */
#include "http/router.h"

#include "http/edge/edge.h"
#include "http/reply.h"

#include <stdio.h>
#include <string.h>

/* What Allow says. */
static const char *method_name(enum route_method method)
{
    switch (method) {
    case ROUTE_POST:
        return "POST";
    case ROUTE_PUT:
        return "PUT";
    case ROUTE_PATCH:
        return "PATCH";
    case ROUTE_GET:
        break;
    }
    return "GET, HEAD";
}

static bool is_method(enum route_method wanted, const char *method)
{
    switch (wanted) {
    case ROUTE_POST:
        return strcmp(method, "POST") == 0;
    case ROUTE_PUT:
        return strcmp(method, "PUT") == 0;
    case ROUTE_PATCH:
        return strcmp(method, "PATCH") == 0;
    case ROUTE_GET:
        break;
    }
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

/* Reads one placeholder; `length` characters of `text` are its segment. */
static bool match_id(struct request *request, const char *name, const char *text, size_t length)
{
    char id[UUID_TEXT_LENGTH + 1];

    if (length > UUID_TEXT_LENGTH)
        return false;
    memcpy(id, text, length);
    id[length] = '\0';
    if (strncmp(name, "{order}", strlen("{order}")) == 0)
        return uuid_parse(id, &request->order_id);
    return reader_integer(id, 1, ORDER_ID_MAX, &request->product_id);
}

static bool match(struct request *request, const char *pattern, const char *path)
{
    while (*pattern != '\0') {
        if (*pattern == '{') {
            size_t length = strcspn(path, "/");

            if (!match_id(request, pattern, path, length))
                return false;
            pattern += strcspn(pattern, "/");
            path += length;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *path == '\0';
}

static void allow(struct request *request, enum route_method method)
{
    size_t length = strlen(request->allow);

    snprintf(request->allow + length, sizeof request->allow - length, "%s%s",
             length > 0 ? ", " : "", method_name(method));
}

static enum MHD_Result answer_options(struct request *request)
{
    return reply_send(
        request, &(struct reply){.status = MHD_HTTP_NO_CONTENT, .memory = MHD_RESPMEM_PERSISTENT});
}

static void handle_options(struct request *request)
{
    strcpy(request->allow, "GET, HEAD, POST, PUT, PATCH");
    request->answer = answer_options;
}

/* Of the server as a whole (RFC 9110, 9.3.7). */
static const struct route options_route = {.pattern = "*", .handle = handle_options};

bool router_find(struct request *request, const char *method)
{
    char *path = request->path;
    bool known = false;

    request->query = strchr(path, '?');
    if (request->query)
        *request->query++ = '\0';
    for (const struct route *route = request->http->routes; route->pattern; route++) {
        if (!match(request, route->pattern, path))
            continue;
        if (is_method(route->method, method)) {
            request->route = route;
            return true;
        }
        allow(request, route->method);
        known = true;
    }
    if (strcmp(path, "*") == 0 && strcmp(method, MHD_HTTP_METHOD_OPTIONS) == 0) {
        request->route = &options_route;
        return true;
    }
    if (known)
        return problem_set(&request->problem, 405, "method_not_allowed", NULL,
                           "This resource takes %s.", request->allow);
    request->order_id = (struct uuid){{0}}; /* of a path that only began like another */
    return problem_set(&request->problem, 404, "not_found", NULL, "There is nothing at this path.");
}
