#include "redis/redis_url.h"

#include <stdio.h>
#include <string.h>

enum { REDIS_PORT = 6379, SENTINEL_PORT = 26379, PORT_MAX = 65535, DATABASE_MAX = 9999 };

/* Digits alone, 1 to 5 of them. */
static bool parse_number(const char *text, const char *end, int least, int most, int *out)
{
    int n = 0;

    if (text == end || end - text > 5)
        return false;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9')
            return false;
        n = n * 10 + (*text - '0');
    }
    *out = n;
    return n >= least && n <= most;
}

static int hex(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) % 16 : -1;
}

/* Percent-decodes [text, end); false at a broken escape, a NUL, or what is longer than a word. */
static bool decode(const char *text, const char *end, char out[REDIS_WORD_MAX + 1])
{
    size_t n = 0;

    for (; text < end; text++) {
        int c = (unsigned char)*text;

        if (c == '%') {
            int high = end - text > 2 ? hex(text[1]) : -1;
            int low = high < 0 ? -1 : hex(text[2]);
            if (low < 0)
                return false;
            c = high * 16 + low;
            text += 2;
        }
        if (c == 0 || n == REDIS_WORD_MAX)
            return false;
        out[n++] = (char)c;
    }
    out[n] = '\0';
    return true;
}

static bool copy(const char *text, const char *end, char out[REDIS_HOST_MAX + 1])
{
    size_t length = (size_t)(end - text);

    if (length == 0 || length > REDIS_HOST_MAX)
        return false;
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

/* HOST, [V6], HOST:PORT, :PORT; "" is this machine. */
static bool parse_place(const char *text, const char *end, int port, struct redis_place *out,
                        struct error *error)
{
    const char *host_end;
    const char *colon;

    out->port = port;
    if (text < end && *text == '[') {
        host_end = memchr(text, ']', (size_t)(end - text));
        if (!host_end)
            return error_set(error, ERROR_INVALID, "the URL's [ has no ]");
        colon = host_end + 1;
        text++;
    } else {
        colon = memchr(text, ':', (size_t)(end - text));
        colon = colon ? colon : end;
        host_end = colon;
    }
    if (host_end == text)
        snprintf(out->host, sizeof out->host, "127.0.0.1");
    else if (!copy(text, host_end, out->host))
        return error_set(error, ERROR_INVALID, "the URL's host is too long");
    if (colon == end)
        return true;
    if (*colon != ':' || !parse_number(colon + 1, end, 1, PORT_MAX, &out->port))
        return error_set(error, ERROR_INVALID,
                         "the URL's port is no number from 1 to 65535 (an IPv6 address stands in "
                         "brackets)");
    return true;
}

/* [USER]:PASSWORD, or a password alone as redis-cli's older URLs have it. */
static bool parse_user(const char *text, const char *end, struct redis_url *out,
                       struct error *error)
{
    const char *colon = memchr(text, ':', (size_t)(end - text));
    const char *password = colon ? colon + 1 : text;

    if (!decode(text, colon ? colon : text, out->user) || !decode(password, end, out->password))
        return error_set(error, ERROR_INVALID,
                         "the URL's user or password is too long or not well percent-encoded");
    if (!out->password[0])
        return error_set(error, ERROR_INVALID, "the URL has a user and no password");
    return true;
}

static bool parse_places(const char *text, const char *end, struct redis_url *out,
                         struct error *error)
{
    bool sentinels = out->primary[0];

    for (const char *at = text, *comma;; at = comma + 1) {
        comma = sentinels ? memchr(at, ',', (size_t)(end - at)) : NULL;
        if (out->count == REDIS_SENTINELS_MAX)
            return error_set(error, ERROR_INVALID, "the URL names more than %d Sentinels",
                             REDIS_SENTINELS_MAX);
        if (!parse_place(at, comma ? comma : end, sentinels ? SENTINEL_PORT : REDIS_PORT,
                         &out->places[out->count++], error))
            return false;
        if (!comma)
            return true;
    }
}

/* [USER:PASSWORD@]PLACE[/DB], with Sentinels PLACE,…/NAME[/DB]. */
static bool parse_rest(const char *text, bool sentinels, struct redis_url *out, struct error *error)
{
    const char *end = strchrnul(text, '/');
    const char *at = memrchr(text, '@', (size_t)(end - text));
    const char *slash = end;

    if (at && !parse_user(text, at, out, error))
        return false;
    if (sentinels) {
        const char *name = *slash ? slash + 1 : slash;
        slash = strchrnul(name, '/');
        if (!copy(name, slash, out->primary))
            return error_set(error, ERROR_INVALID,
                             "the URL does not say which primary to ask the Sentinels for: "
                             "redis-sentinel://HOST,HOST,HOST/NAME");
    }
    if (!parse_places(at ? at + 1 : text, end, out, error))
        return false;
    if (*slash && slash[1] &&
        !parse_number(slash + 1, slash + strlen(slash), 0, DATABASE_MAX, &out->database))
        return error_set(error, ERROR_INVALID, "the URL's database is no number from 0 to %d",
                         DATABASE_MAX);
    return true;
}

static const char *behind(const char *text, const char *scheme)
{
    size_t length = strlen(scheme);

    return strncmp(text, scheme, length) == 0 ? text + length : NULL;
}

bool redis_url_parse(const char *text, struct redis_url *out, struct error *error)
{
    const char *rest = behind(text, "unix://");

    memset(out, 0, sizeof *out);
    if (rest) {
        out->is_unix = true;
        out->count = 1;
        if (*rest != '/' || !copy(rest, rest + strlen(rest), out->places[0].host))
            return error_set(error, ERROR_INVALID, "the URL's path is not absolute, or too long");
        return true;
    }
    rest = behind(text, "redis-sentinel://");
    if (rest)
        return parse_rest(rest, true, out, error);
    rest = behind(text, "rediss://");
    out->tls = rest != NULL;
    if (!rest)
        rest = behind(text, "redis://");
    if (rest)
        return parse_rest(rest, false, out, error);
    return error_set(error, ERROR_INVALID,
                     "the URL begins with none of redis://, rediss://, redis-sentinel://, unix://");
}
