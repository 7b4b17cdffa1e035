/*
 * A target's requests: the server, the steps before a purchase, the purchase, and how an accepted
 * order is asked for. Each has a method, a path, headers and a body; a step takes fields from its
 * answer, which those behind it may use.
 */
#include "loadtest/shop/target/reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { HEADERS_MAX = 32, STEPS_MAX = 16, TAKES_MAX = 16 };

/* One that is being read. */
struct request_reading {
    struct reading *reading;
    struct shop_request *request;
};

static bool out_of_memory(const struct place *place)
{
    return error_fail(place->document->error, "out of memory");
}

/* --- server, path --- */

/* "http://host:1/x": the length of "http://", or 0. */
static size_t scheme_length(const char *url)
{
    return strncmp(url, "http://", 7) == 0 ? 7 : strncmp(url, "https://", 8) == 0 ? 8 : 0;
}

/* What is wrong with a URL, which is not repeated; NULL: nothing. */
static const char *url_mistake(const char *url)
{
    size_t scheme = scheme_length(url);
    for (const char *at = url; *at; at++)
        if ((unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7f)
            return "a character that no URL has; such are written by percent: %20";
    if (strchr(url, '#'))
        return "a '#', and what is behind it is never sent";
    if (scheme == 0)
        return NULL;
    size_t host = strcspn(url + scheme, "/?");
    if (host == 0 || url[scheme] == ':')
        return "no host in it";
    return memchr(url + scheme, '@', host) ? "a user in it: write a header, Authorization" : NULL;
}

bool reading_server(const struct place *place, void *into)
{
    struct reading *reading = into;
    if (!value_text(place, "a URL (http://127.0.0.1:3000)", &reading->server))
        return false;
    const char *mistake = url_mistake(reading->server);
    if (mistake)
        return place_refuse(place, "%s", mistake);
    if (scheme_length(reading->server) == 0)
        return place_refuse(place, "it begins with http:// or https://");
    if (strchr(reading->server, '?'))
        return place_refuse(place, "a '?' in it: that belongs to a request's path");
    size_t length = strlen(reading->server);
    while (length > 0 && reading->server[length - 1] == '/')
        reading->server[--length] = '\0';
    return true;
}

static bool read_fields(const struct place *place, struct request_reading *at, const char *wanted,
                        standing *where, char **out)
{
    return value_fields(place, wanted, where, out) &&
           reading_check_fields(place, *out, at->reading->names, at->reading->name_count);
}

static bool read_path(const struct place *place, void *into)
{
    struct request_reading *at = into;
    char *path = NULL;
    bool read = read_fields(place, at, "a path (/orders)", standing_path, &path);
    const char *mistake = read ? url_mistake(path) : NULL;

    if (mistake)
        read = place_refuse(place, "%s", mistake);
    else if (read && path[0] != '/' && scheme_length(path) == 0)
        read = place_refuse(place, "it begins with '/', or with http:// or https:// for a service "
                                   "elsewhere");
    if (read &&
        asprintf(&at->request->url, "%s%s", path[0] == '/' ? at->reading->server : "", path) < 0) {
        at->request->url = NULL;
        read = out_of_memory(place);
    }
    free(path);
    return read;
}

static bool read_method(const struct place *place, void *into)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    struct request_reading *at = into;
    char quoted[PLACE_QUOTE_SIZE];
    const char *word = value_word(place, "a method");

    for (size_t i = 0; word && i < sizeof methods / sizeof *methods; i++)
        if (strcmp(word, methods[i]) == 0)
            return value_raw(place, "a method", &at->request->method);
    return word && place_refuse(place, "%s is no method: GET, POST, PUT, PATCH or DELETE",
                                place_quote(word, quoted));
}

/* --- headers, body --- */

static bool is_token(const char *name)
{
    return name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                             "!#$%&'*+-.^_`|~")] == '\0';
}

static const char *find_header(const struct shop_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (strcasecmp(request->headers[i].name, name) == 0)
            return request->headers[i].value;
    return NULL;
}

static bool check_header_name(const struct place *place, const struct shop_request *request)
{
    const char *name = place->key;
    if (!is_token(name))
        return place_refuse(place, "no name of a header: letters, digits and '-'");
    if (strcasecmp(name, "Content-Length") == 0 || strcasecmp(name, "Transfer-Encoding") == 0)
        return place_refuse(place, "it is made from the body: see \"chunked\"");
    if (strcasecmp(name, "Connection") == 0)
        return place_refuse(place, "it is made from \"keep_alive\"");
    if (find_header(request, name))
        return place_refuse(place, "this header stands twice, in other letters");
    return true;
}

static struct shop_header *add_header(const struct place *place, struct shop_request *request)
{
    struct shop_header *grown =
        reading_grow(place, request->headers, request->header_count, sizeof *grown);
    if (!grown)
        return NULL;
    request->headers = grown;
    return &grown[request->header_count];
}

static bool read_header(const struct place *place, struct request_reading *at)
{
    struct shop_request *request = at->request;
    if (!check_header_name(place, request))
        return false;
    struct shop_header *header = add_header(place, request);
    if (!header)
        return false;
    header->name = strdup(place->key);
    request->header_count++;
    if (!header->name)
        return out_of_memory(place);
    if (!read_fields(place, at, "a text", standing_text, &header->value))
        return false;
    for (const char *c = header->value; *c; c++)
        if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f)
            return place_refuse(place, "a header is one line, without control characters");
    return true;
}

static bool read_headers(const struct place *place, void *into)
{
    if (!place_is_map(place, "{X-Name: value}"))
        return false;
    if (place_count(place) > HEADERS_MAX)
        return place_refuse(place, "too many headers: %d at most", HEADERS_MAX);
    for (size_t i = 0; i < place_count(place); i++) {
        struct place child = place_child(place, i);
        if (!read_header(&child, into))
            return false;
    }
    return true;
}

static bool add_json_header(const struct place *place, struct shop_request *request)
{
    struct shop_header *header = add_header(place, request);
    if (!header)
        return false;
    request->header_count++;
    header->name = strdup("Content-Type");
    header->value = strdup("application/json");
    return (header->name && header->value) || out_of_memory(place);
}

/* What a body is by its Content-Type; NULL: it has none. */
static enum fill_form form_of(const char *type)
{
    return !type || strcasestr(type, "json")           ? FILL_JSON
           : strcasestr(type, "x-www-form-urlencoded") ? FILL_FORM
                                                       : FILL_PLAIN;
}

static standing *standing_of(enum fill_form form)
{
    return form == FILL_JSON ? standing_json : form == FILL_FORM ? standing_form : standing_text;
}

/* How what is filled in is written, by what the body is. */
static bool find_form(const struct place *place, struct shop_request *request)
{
    const char *type = find_header(request, "Content-Type");
    char first = request->body[strspn(request->body, " \t\r\n")];

    if (!type && first != '{' && first != '[')
        return place_refuse(place, "a body that is no JSON: say what it is in a header, "
                                   "Content-Type: application/x-www-form-urlencoded");
    request->body_form = form_of(type);
    return type || add_json_header(place, request);
}

static bool read_body(const struct place *place, void *into)
{
    struct request_reading *at = into;
    if (place_kind(place) != PLACE_TEXT)
        return place_refuse(place,
                            "%s, and a text is wanted: in quotes, or behind \"|\" on lines "
                            "of its own",
                            place_kind_text(place));
    const char *type = find_header(at->request, "Content-Type");
    return read_fields(place, at, "a text", standing_of(form_of(type)), &at->request->body) &&
           find_form(place, at->request);
}

static bool read_chunked(const struct place *place, void *into)
{
    struct request_reading *at = into;
    if (!value_bool(place, &at->request->chunked))
        return false;
    return !at->request->chunked || at->request->body ||
           place_refuse(place, "there is no body to be sent in chunks");
}

static bool read_keep_alive(const struct place *place, void *into)
{
    struct request_reading *at = into;
    bool keeps = true;
    bool read = value_bool(place, &keeps);
    at->request->closes = !keeps;
    return read;
}

/* --- steps --- */

static bool read_expect(const struct place *place, void *into)
{
    struct request_reading *at = into;
    int64_t status = 0;
    bool read = value_number(place, 100, 599, &status);
    at->request->expect = (int)status;
    return read;
}

static bool read_step_outcome(const struct place *place, void *into)
{
    return reading_step_rules(place, ((struct request_reading *)into)->request);
}

static bool read_take(const struct place *place, struct request_reading *at)
{
    struct shop_request *request = at->request;
    struct shop_take *grown =
        reading_grow(place, request->takes, request->take_count, sizeof *grown);
    if (!grown)
        return false;
    request->takes = grown;
    struct shop_take *take = &grown[request->take_count++];
    take->field = strdup(place->key);
    if (!take->field)
        return out_of_memory(place);
    return reading_add_name(at->reading, place, take->field) &&
           value_pointer(place, &take->pointer);
}

/* After the step's own texts, which cannot use them yet. */
static bool read_takes(const struct place *place, void *into)
{
    if (!place_is_map(place, "{token: /token}"))
        return false;
    if (place_count(place) > TAKES_MAX)
        return place_refuse(place, "too many: %d at most", TAKES_MAX);
    for (size_t i = 0; i < place_count(place); i++) {
        struct place child = place_child(place, i);
        if (!read_take(&child, into))
            return false;
    }
    return true;
}

/* GET, or POST when there is a body, unless the file says it. */
static bool find_method(const struct place *place, struct shop_request *request, const char *usual)
{
    if (!request->method)
        request->method = strdup(request->body ? "POST" : usual);
    return request->method || out_of_memory(place);
}

#define REQUEST_FIELDS                                                                             \
    {"method", read_method, false}, {"path", read_path, true}, {"headers", read_headers, false},   \
        {"body", read_body, false}, {"chunked", read_chunked, false},                              \
    {                                                                                              \
        "keep_alive", read_keep_alive, false                                                       \
    }

static bool read_step(const struct place *place, struct reading *reading)
{
    static const struct place_field fields[] = {REQUEST_FIELDS,
                                                {"expect", read_expect, false},
                                                {"outcome", read_step_outcome, false},
                                                {"take", read_takes, false}};
    struct target *target = reading->target;
    struct shop_request *grown =
        reading_grow(place, target->steps, target->step_count, sizeof *grown);
    if (!grown)
        return false;
    target->steps = grown;
    struct request_reading at = {reading, &grown[target->step_count++]};
    return place_read(place, fields, sizeof fields / sizeof *fields, &at) &&
           find_method(place, at.request, "GET");
}

bool reading_steps(const struct place *place, void *into)
{
    if (!place_is_list(place, "- {method: POST, path: /login}"))
        return false;
    if (place_count(place) > STEPS_MAX)
        return place_refuse(place, "too many steps: %d at most", STEPS_MAX);
    for (size_t i = 0; i < place_count(place); i++) {
        struct place child = place_child(place, i);
        if (!read_step(&child, into))
            return false;
    }
    return true;
}

bool reading_purchase(const struct place *place, void *into)
{
    static const struct place_field fields[] = {REQUEST_FIELDS};
    struct reading *reading = into;
    struct request_reading at = {reading, &reading->target->purchase};
    return place_read(place, fields, sizeof fields / sizeof *fields, &at) &&
           find_method(place, at.request, "POST");
}

/* --- poll --- */

static bool read_every(const struct place *place, void *into)
{
    struct request_reading *at = into;
    return value_duration(place, &at->reading->target->poll_every_us);
}

static bool read_within(const struct place *place, void *into)
{
    struct request_reading *at = into;
    struct target *target = at->reading->target;
    if (!value_duration(place, &target->poll_within_us))
        return false;
    return target->poll_within_us >= target->poll_every_us ||
           place_refuse(place, "shorter than \"every\": it would never be asked");
}

static bool read_poll_outcome(const struct place *place, void *into)
{
    struct request_reading *at = into;
    return reading_poll_rules(place, at->reading->target);
}

/* {order} is known when whatever is accepted names it. */
static bool add_order(const struct place *place, struct reading *reading)
{
    const struct target *target = reading->target;
    bool accepts = false, named = true;

    for (size_t i = 0; i < target->rule_count; i++)
        if (target->rules[i].meaning == SHOP_ACCEPTED) {
            accepts = true;
            named = named && target->rules[i].order;
        }
    if (!accepts)
        return place_refuse(place, "nothing in \"outcome\" is accepted, so nothing is asked for");
    return !named || reading_add_name(reading, place, "order");
}

bool reading_poll(const struct place *place, void *into)
{
    static const struct place_field fields[] = {REQUEST_FIELDS,
                                                {"every", read_every, false},
                                                {"within", read_within, false},
                                                {"outcome", read_poll_outcome, true}};
    struct reading *reading = into;
    struct request_reading at = {reading, &reading->target->poll};
    return add_order(place, reading) &&
           place_read(place, fields, sizeof fields / sizeof *fields, &at) &&
           find_method(place, at.request, "GET");
}

static bool text_names(const char *text, const char *name)
{
    char found[FILL_NAME_MAX + 1];
    while (text && fill_next_name(&text, found))
        if (strcmp(found, name) == 0)
            return true;
    return false;
}

bool shop_request_names(const struct shop_request *request, const char *name)
{
    bool names = text_names(request->url, name) || text_names(request->body, name);
    for (size_t i = 0; i < request->header_count; i++)
        names = names || text_names(request->headers[i].value, name);
    return names;
}
