/*
 * Readers for the query and the header fields; the one for JSON is in reader_json.c.
 *
 * Each value is read once, in place, and the first thing wrong ends the reading with a problem that
 * names its field.
 */
#include "http/reader/reader.h"

#include <string.h>
#include <strings.h>

bool reader_integer(const char *text, int64_t min, int64_t max, int64_t *out)
{
    int64_t number = 0;
    size_t i = 0;

    for (; text[i] >= '0' && text[i] <= '9'; i++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, text[i] - '0', &number))
            return false;
    if (i == 0 || text[i] != '\0' || (text[0] == '0' && i > 1))
        return false;
    if (number < min || number > max)
        return false;
    *out = number;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Percent-decodes in place. False, with what came before it, on a broken escape and on NUL, which
 * would hide what follows it. */
static bool decode(char *text)
{
    char *to = text;

    for (; *text != '\0'; text++) {
        if (*text == '+') {
            *to++ = ' ';
            continue;
        }
        if (*text == '%') {
            int high = hex_digit(text[1]);
            int low = high < 0 ? -1 : hex_digit(text[2]);

            if (low < 0 || high * 16 + low == 0) {
                *to = '\0';
                return false;
            }
            *to++ = (char)(high * 16 + low);
            text += 2;
            continue;
        }
        *to++ = *text;
    }
    *to = '\0';
    return true;
}

static bool read_param(char *name, char *value, struct param *params, size_t count,
                       struct problem *problem)
{
    struct param *param = NULL;

    if (!decode(name))
        return problem_field(problem, name, "The parameter's name is not well encoded.");
    for (size_t i = 0; i < count && !param; i++)
        if (strcmp(params[i].name, name) == 0)
            param = &params[i];
    if (!param)
        return problem_field(problem, name, "There is no such parameter here.");
    if (param->given)
        return problem_field(problem, name, "The parameter may stand once.");
    if (!decode(value))
        return problem_field(problem, name, "The parameter's value is not well encoded.");
    if (param->integer && !reader_integer(value, param->min, param->max, &param->number))
        return problem_field(problem, name, "It takes a whole number from %lld to %lld.",
                             (long long)param->min, (long long)param->max);
    param->given = true;
    param->text = value;
    return true;
}

bool reader_query(char *query, struct param *params, size_t count, struct problem *problem)
{
    char *rest = query && *query != '\0' ? query : NULL;

    while (rest) {
        char *name = strsep(&rest, "&");
        char *value = strchr(name, '=');

        if (value)
            *value++ = '\0';
        else
            value = name + strlen(name);
        if (!read_param(name, value, params, count, problem))
            return false;
    }
    return true;
}

/* Letters of any case; `wanted` is a literal, whose length costs nothing. */
#define NAMED(name, length, wanted)                                                                \
    ((length) == sizeof(wanted) - 1 && strncasecmp(name, wanted, sizeof(wanted) - 1) == 0)

/* RFC 9110, 5.6.2: a bit for each character of ASCII. */
static bool is_token(const char *text, size_t length)
{
    static const uint64_t characters[] = {0x3ff6cfa00000000, 0x57ffffffc7fffffe};

    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c >= 0x80 || !(characters[c / 64] >> c % 64 & 1))
            return false;
    }
    return length > 0;
}

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f;
}

static bool is_field(const char *name, size_t name_length, const char *value, size_t value_length)
{
    for (size_t i = 0; i < value_length; i++)
        if (is_control(value[i]) && value[i] != '\t')
            return false;
    return is_token(name, name_length);
}

static void take_content_length(struct headers *headers, const char *value, size_t length)
{
    int64_t number = 0;

    headers->lengths++;
    if (length == 0 || length > READER_LENGTH_DIGITS)
        headers->bad_length = true;
    for (size_t i = 0; i < length && !headers->bad_length; i++) {
        if (value[i] < '0' || value[i] > '9')
            headers->bad_length = true;
        else
            number = number * 10 + (value[i] - '0');
    }
    headers->content_length = number;
}

/* What says that somebody else stands behind the connection's address: a proxy, a CDN, or another
 * site's page in a browser (auth.c looks at the Origin). A name that ends in '-' stands for all
 * that begin so. */
static bool is_mark(const char *name, size_t length, const char *value, size_t value_length)
{
    static const char *const marks[] = {
        "forwarded",
        "x-forwarded-",
        "x-forwarded",
        "x-real-ip",
        "x-original-",
        "x-client-ip",
        "via",
        "client-ip",
        "true-client-ip",
        "cf-",
        "cdn-",
        "fastly-",
        "fly-",
        "x-envoy-",
        "x-amzn-",
        "x-amz-cf-",
        "x-azure-",
        "x-cluster-client-",
        "x-appengine-",
        "x-cloud-trace-context",
        "x-proxyuser-ip",
        "x-remote-",
    };

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t wanted;

        if ((name[0] | ' ') != marks[i][0]) /* nearly all of them */
            continue;
        wanted = strlen(marks[i]);
        if (length >= wanted && strncasecmp(name, marks[i], wanted) == 0 &&
            (length == wanted || marks[i][wanted - 1] == '-'))
            return true;
    }
    return NAMED(name, length, "sec-fetch-site") && !NAMED(value, value_length, "same-origin");
}

void reader_header(struct headers *headers, const char *name, size_t name_length, const char *value,
                   size_t value_length)
{
    /* White space around a value is not part of it; libmicrohttpd 0.9.75 leaves what follows it. */
    while (value_length > 0 && (value[value_length - 1] == ' ' || value[value_length - 1] == '\t'))
        value_length--;
    headers->bad_field |= !is_field(name, name_length, value, value_length);
    if (NAMED(name, name_length, "host")) {
        headers->hosts++;
        headers->host = value;
        headers->host_length = value_length;
    } else if (NAMED(name, name_length, "origin")) {
        headers->origins++;
        headers->origin = value;
        headers->origin_length = value_length;
    } else if (NAMED(name, name_length, "content-length")) {
        take_content_length(headers, value, value_length);
    } else if (NAMED(name, name_length, "transfer-encoding")) {
        headers->encodings++;
    } else if (NAMED(name, name_length, "content-encoding")) {
        headers->encoded |= value_length > 0 && !NAMED(value, value_length, "identity");
    } else if (NAMED(name, name_length, "idempotency-key")) {
        headers->keys++;
        headers->key = value;
        headers->key_length = value_length;
    } else if (NAMED(name, name_length, "if-match")) {
        headers->matches++;
        headers->match = value;
        headers->match_length = value_length;
    } else if (NAMED(name, name_length, "if-none-match") ||
               NAMED(name, name_length, "if-unmodified-since")) {
        headers->conditions++;
    } else if (NAMED(name, name_length, "authorization")) {
        headers->authorizations++;
        headers->authorization = value;
        headers->authorization_length = value_length;
    } else if (is_mark(name, name_length, value, value_length)) {
        headers->forwarded = true;
    }
}

bool reader_line(const char *method, const char *target, struct problem *problem)
{
    bool good = is_token(method, strlen(method));

    for (; good && *target != '\0'; target++)
        good = !is_control(*target) && *target != ' ';
    if (!good)
        return problem_set(problem, 400, "invalid_header", NULL,
                           "The method or the target has a character that is not allowed.");
    return true;
}

bool reader_framing(const struct headers *headers, struct problem *problem)
{
    if (headers->bad_field)
        return problem_set(problem, 400, "invalid_header", NULL,
                           "A header field has a character that is not allowed.");
    if (headers->hosts > 1)
        return problem_set(problem, 400, "invalid_header", "Host", "Host may stand once.");
    if (headers->lengths > 1 || headers->bad_length)
        return problem_set(problem, 400, "invalid_header", "Content-Length",
                           "Content-Length takes one decimal number.");
    if (headers->lengths > 0 && headers->encodings > 0)
        return problem_set(problem, 400, "invalid_header", "Content-Length",
                           "Content-Length and Transfer-Encoding exclude each other.");
    /* libmicrohttpd 0.9.75 takes a lone LF for the end of a chunk's line, where a proxy may see the
     * line go on: what is a chunk to one would be the next request to the other. */
    if (headers->encodings > 0)
        return problem_set(problem, 411, "length_required", "Transfer-Encoding",
                           "A body is taken with its Content-Length, not in chunks.");
    return true;
}

char *reader_origin_form(char *target, struct headers *headers)
{
    static const char *const schemes[] = {"http://", "https://"};

    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t scheme = strlen(schemes[i]);

        if (strncasecmp(target, schemes[i], scheme) != 0)
            continue;
        char *host = target + scheme;
        size_t length = strcspn(host, "/?");
        if (host[length] != '/') {
            host = memmove(host - 1, host, length);
            host[length] = '/';
        }
        headers->hosts = 1;
        headers->host = host;
        headers->host_length = length;
        return host + length;
    }
    return target;
}

/* One visible character of a key, in a string of RFC 8941 perhaps behind a backslash. False at what
 * a key may not hold; *at goes behind it. */
static bool take_char(const char **at, const char *end, bool quoted, char *out)
{
    if (quoted && **at == '\\') {
        ++*at;
        if (*at == end || (**at != '"' && **at != '\\'))
            return false;
    }
    *out = *(*at)++;
    return order_key_may_hold(*out);
}

static bool take_key(const char *at, size_t length, char out[ORDER_KEY_MAX + 1])
{
    const char *end = at + length;
    bool quoted = length > 0 && *at == '"';
    size_t n = 0;

    at += quoted;
    for (; at < end && !(quoted && *at == '"'); n++)
        if (n == ORDER_KEY_MAX || !take_char(&at, end, quoted, &out[n]))
            return false;
    out[n] = '\0';
    /* A string ends with its quote. */
    return n > 0 && at + quoted == end;
}

bool reader_key(const struct headers *headers, char out[ORDER_KEY_MAX + 1], struct problem *problem)
{
    out[0] = '\0';
    if (headers->keys == 0 ||
        (headers->keys == 1 && take_key(headers->key, headers->key_length, out)))
        return true;
    out[0] = '\0';
    return problem_set(
        problem, 400, "invalid_header", "Idempotency-Key",
        "It takes 1 to %d visible ASCII characters, bare or in quotes, and may stand "
        "once.",
        ORDER_KEY_MAX);
}

static bool has_no_other(const struct headers *headers, struct problem *problem)
{
    return headers->conditions == 0 ||
           problem_set(problem, 400, "invalid_header", NULL,
                       "No If-None-Match or If-Unmodified-Since is looked at.");
}

bool reader_unconditional(const struct headers *headers, struct problem *problem)
{
    if (headers->matches > 0)
        return problem_set(problem, 400, "invalid_header", "If-Match",
                           "PUT /products/ID alone looks at If-Match.");
    return has_no_other(headers, problem);
}

bool reader_match(const struct headers *headers, int64_t *epoch, struct problem *problem)
{
    char digits[24];
    size_t length = headers->match_length;

    *epoch = 0;
    if (!has_no_other(headers, problem))
        return false;
    if (headers->matches == 0)
        return true;
    if (headers->matches == 1 && length > 2 && length < sizeof digits && headers->match[0] == '"' &&
        headers->match[length - 1] == '"') {
        memcpy(digits, headers->match + 1, length - 2);
        digits[length - 2] = '\0';
        if (reader_integer(digits, 1, INT64_MAX, epoch))
            return true;
    }
    return problem_set(problem, 400, "invalid_header", "If-Match",
                       "It takes one epoch in quotes, such as \"7\".");
}
