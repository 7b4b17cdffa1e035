/*
 * A target's requests: the server, the steps before a purchase, the purchase, and how an accepted
 * order is asked for. Each has a method, a path, headers and a body; a step takes fields from its
 * answer, which those behind it may use.
 */
#include "loadtest/shop/target/reading.h"

#include "loadtest/base/options.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* --- server, path --- */

/* "http://host:1/x": the length of "http://", or 0. */
static size_t scheme_length(const char *url)
{
    return strncmp(url, "http://", 7) == 0 ? 7 : strncmp(url, "https://", 8) == 0 ? 8 : 0;
}

/* The mistake in a URL, which is not repeated; NULL: none. */
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

/* Without the slashes at its end. */
bool reading_server(const struct place *place, void *into)
{
    struct target *target = into;
    const char *server = target->server, *mistake = url_mistake(server);
    if (!mistake && scheme_length(server) == 0)
        mistake = "it begins with http:// or https://";
    if (!mistake && strchr(server, '?'))
        mistake = "a '?' in it: that belongs to a request's path";
    if (mistake)
        return place_refuse(place, "%s", mistake);
    size_t length = strlen(server);
    while (length > 0 && server[length - 1] == '/')
        length--;
    target->server = place_text(place, "%.*s", (int)length, server);
    return true;
}

/* Behind the server, unless it names its own. */
bool reading_path(const struct place *place, void *into)
{
    struct shop_request *request = into;
    const char *path = request->url, *mistake = url_mistake(path);

    if (!mistake && path[0] != '/' && scheme_length(path) == 0)
        mistake = "it begins with '/', or with http:// or https:// for a service elsewhere";
    if (mistake)
        return place_refuse(place, "%s", mistake);
    if (path[0] == '/')
        request->url = place_text(place, "%s%s", place->reading->target->server, path);
    return true;
}

bool reading_method(const struct place *place, void *into)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    const struct shop_request *request = into;

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(request->method, methods[i]) == 0)
            return true;
    return place_refuse(place, "%s is no method: GET, POST, PUT, PATCH or DELETE",
                        place_quote(place, request->method));
}

/* --- headers, body --- */

static bool is_token(const char *name)
{
    return name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                             "!#$%&'*+-.^_`|~")] == '\0';
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
    if (shop_request_header(request, name))
        return place_refuse(place, "this header stands twice, in other letters");
    return true;
}

bool reading_header(const struct place *place, void *into)
{
    struct shop_request *request = into;
    struct shop_pair *header = &request->headers[request->header_count];
    const struct names *names = &place->reading->names;
    if (!check_header_name(place, request) ||
        !value_text(place, "a text", AS_IT_IS, names, &header->value))
        return false;
    header->name = place->key;
    request->header_count++;
    return fill_fits_header(header->value) ||
           place_refuse(place, "a header is one line, without control characters");
}

/* A body is what its Content-Type says; NULL: it has none, and is sent as JSON. */
static enum fill_form form_of(const char *type)
{
    return !type || strcasestr(type, "json")           ? FILL_JSON
           : strcasestr(type, "x-www-form-urlencoded") ? FILL_FORM
                                                       : FILL_PLAIN;
}

bool reading_body(const struct place *place, void *into)
{
    static const enum standing standings[] = {
        [FILL_JSON] = IN_JSON, [FILL_FORM] = IN_FORM, [FILL_PLAIN] = AS_IT_IS};
    struct shop_request *request = into;
    const char *type = shop_request_header(request, "Content-Type");

    if (place->kind != PLACE_TEXT)
        return place_refuse(place,
                            "%s, and a text is wanted: in quotes, or behind \"|\" on lines "
                            "of its own",
                            place_kind_text(place));
    request->body_form = form_of(type);
    if (!value_text(place, "a text", standings[request->body_form], &place->reading->names,
                    &request->body))
        return false;
    char first = request->body[strspn(request->body, " \t\r\n")];
    if (!type && first != '{' && first != '[')
        return place_refuse(place, "a body that is no JSON: say what it is in a header, "
                                   "Content-Type: application/x-www-form-urlencoded");
    return true;
}

bool reading_chunked(const struct place *place, void *into)
{
    const struct shop_request *request = into;
    return !request->chunked || request->body ||
           place_refuse(place, "there is no body to be sent in chunks");
}

bool reading_keep_alive(const struct place *place, void *into)
{
    struct shop_request *request = into;
    (void)place;
    request->closes = !request->closes;
    return true;
}

/* --- steps, purchase --- */

/* {header: X-Nonce} or {cookie: csrf}, in place of a pointer. */
static bool read_source(const struct place *place, struct shop_take *take)
{
    const struct place *only = place->first;
    take->from = place->count != 1                  ? SHOP_BODY
                 : strcmp(only->key, "header") == 0 ? SHOP_HEADER
                 : strcmp(only->key, "cookie") == 0 ? SHOP_COOKIE
                                                    : SHOP_BODY;
    if (take->from == SHOP_BODY)
        return place_refuse(place, "a map, and one of these is wanted: /a/pointer, {header: "
                                   "X-Name}, {cookie: name}");
    take->at = value_word(only, "a name");
    return take->at && (is_token(take->at) ||
                        place_refuse(only, "no name of a %s: letters, digits and '-'", only->key));
}

bool reading_take(const struct place *place, void *into)
{
    struct shop_request *request = into;
    struct shop_take *take = &request->takes[request->take_count++];
    take->name = place->key;
    return names_add(place, take->name) &&
           (place->kind == PLACE_MAP ? read_source(place, take) : value_pointer(place, &take->at));
}

/* GET, or POST when there is a body, unless the file says it. */
static bool find_method(struct shop_request *request, const char *usual)
{
    if (!request->method)
        request->method = request->body ? "POST" : usual;
    return true;
}

bool reading_step(const struct place *place, void *into)
{
    struct target *target = into;
    struct shop_request *step = &target->steps[target->step_count++];
    return fields_read(place, PART_STEP, step) && find_method(step, "GET");
}

bool reading_purchase(const struct place *place, void *into)
{
    (void)place;
    return find_method(into, "POST");
}

bool reading_repeats(const struct place *place, void *into)
{
    struct target *target = into;
    const char *word = value_word(place, "a share (5%)");

    if (!word)
        return false;
    if (!options_read_share(word, &target->repeats))
        return place_refuse(place, "%s is no share from 0%% to 100%%: 5%%",
                            place_quote(place, word));
    return target->repeats <= 0 || shop_request_names(&target->purchase, "key") ||
           place_refuse(place, "{key} stands nowhere in \"request\", so the shop could not tell a "
                               "repeat from a second purchase");
}

/* --- poll --- */

bool reading_poll_within(const struct place *place, void *into)
{
    const struct shop_request *poll = into;
    return poll->within_us >= poll->every_us ||
           place_refuse(place, "shorter than \"every\": it would never be asked");
}

/* {order} is known when whatever is accepted names it. */
static bool add_order(const struct place *place, const struct shop_request *purchase)
{
    bool accepts = false, named = true;

    for (size_t i = 0; i < purchase->rule_count; i++)
        if (purchase->rules[i].meaning == SHOP_ACCEPTED) {
            accepts = true;
            named = named && purchase->rules[i].order;
        }
    if (!accepts)
        return place_refuse(place, "nothing in \"outcome\" is accepted, so nothing is asked for");
    return !named || names_add(place, "order");
}

bool reading_poll(const struct place *place, void *into)
{
    struct target *target = into;
    return add_order(place, &target->purchase) && fields_read(place, PART_POLL, &target->poll) &&
           find_method(&target->poll, "GET");
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

const char *shop_request_header(const struct shop_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (strcasecmp(request->headers[i].name, name) == 0)
            return request->headers[i].value;
    return NULL;
}
