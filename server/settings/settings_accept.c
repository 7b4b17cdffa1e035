/*
 * Whether a text may be a setting's value: its form, as far as that can be said without a look at
 * the world. A wrong value of the right form is found when it is used.
 */
#include "settings/settings_accept.h"

#include "base/log.h"
#include "base/random/uuid.h"

#include <string.h>

enum {
    SYSTEM_NAME_MAX = 64,
    SCHEMA_MAX = 63,
    TOKEN_MAX = 512,
    PORT_DIGITS_MAX = 5,
    PORT_MAX = 65535
};

static bool accepts_port(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    int port = 0;

    if (digits == 0 || digits > PORT_DIGITS_MAX || text[digits] != '\0')
        return false;
    for (; *text != '\0'; text++)
        port = port * 10 + (*text - '0');
    return port <= PORT_MAX;
}

/* Whether the host is real only getaddrinfo can say, at start. */
bool settings_accepts_listen(const char *text)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL || colon == text || !accepts_port(colon + 1))
        return false;
    if (text[0] == '[')
        return colon[-1] == ']' && colon - text > 2;
    return memchr(text, ':', (size_t)(colon - text)) == NULL;
}

bool settings_accepts_redis(const char *text)
{
    return *text == '\0' || strncmp(text, "redis://", 8) == 0 ||
           strncmp(text, "rediss://", 9) == 0 || strncmp(text, "redis-sentinel://", 17) == 0 ||
           strncmp(text, "unix://", 7) == 0;
}

bool settings_accepts_amqp(const char *text)
{
    return *text == '\0' || strncmp(text, "amqp://", 7) == 0 || strncmp(text, "amqps://", 8) == 0;
}

static bool is_listed(const char *url, size_t length, const char *list, const char *end)
{
    while (list < end) {
        size_t other = strcspn(list, ",");
        if (other == length && memcmp(list, url, length) == 0)
            return true;
        list += other + 1;
    }
    return false;
}

/* A server named twice would have two votes. */
bool settings_accepts_redlock(const char *text)
{
    int count = 0;

    for (const char *at = text; *text != '\0'; at++, count++) {
        size_t length = strcspn(at, ",");
        if (length == 0 || !settings_accepts_redis(at) || strncmp(at, "redis-s", 7) == 0 ||
            is_listed(at, length, text, at))
            return false;
        at += length;
        if (*at == '\0')
            return count == 2 || count == 4;
    }
    return true;
}

bool settings_accepts_memcached(const char *text)
{
    return *text == '\0' || strncmp(text, "unix:///", 8) == 0 || settings_accepts_listen(text);
}

/* HOST:PORT,… and perhaps a /PATH at the end. */
bool settings_accepts_zookeeper(const char *text)
{
    char one[256];
    size_t hosts = strcspn(text, "/");

    for (const char *at = text; *text != '\0'; at++) {
        size_t left = (size_t)(text + hosts - at);
        size_t length = strcspn(at, ",/");
        if (length > left || length >= sizeof one)
            return false;
        memcpy(one, at, length);
        one[length] = '\0';
        if (!settings_accepts_listen(one))
            return false;
        at += length;
        if (*at != ',')
            return true;
    }
    return true;
}

bool settings_accepts_name(const char *text)
{
    return *text != '\0';
}

bool settings_accepts_schema(const char *text)
{
    size_t length = strlen(text);

    /* A new line would end the comment of the script that is printed; "$user" in a search_path is
     * the role's schema. */
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return false;
    }
    return length >= 1 && length <= SCHEMA_MAX && strcmp(text, "$user") != 0;
}

bool settings_accepts_migrate(const char *text)
{
    return strcmp(text, "auto") == 0 || strcmp(text, "never") == 0;
}

bool settings_accepts_flush(const char *text)
{
    return !*text || strcmp(text, "own") == 0 || strcmp(text, "shared") == 0;
}

bool settings_accepts_system_name(const char *text)
{
    size_t length = strlen(text);
    return length >= 1 && length <= SYSTEM_NAME_MAX &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") ==
               length;
}

/* A token with a space or a control character in it could never arrive in an Authorization header.
 */
bool settings_accepts_token(const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    }
    return length <= TOKEN_MAX;
}

/* A number from 1 to UUID_CELLS_MAX, with no leading zero. What stands behind it; NULL: it is none.
 */
static const char *read_cell(const char *text, unsigned *out)
{
    size_t digits = strspn(text, "0123456789");

    *out = 0;
    for (size_t i = 0; i < digits && *out <= UUID_CELLS_MAX; i++)
        *out = *out * 10 + (unsigned)(text[i] - '0');
    return *text == '0' || digits == 0 || *out > UUID_CELLS_MAX ? NULL : text + digits;
}

bool settings_read_cell(const char *text, unsigned *number, unsigned *count)
{
    const char *end = read_cell(text, number);

    if (end && *end == '/')
        end = read_cell(end + 1, count);
    else
        end = NULL;
    if (end && *end == '\0' && *number <= *count)
        return true;
    *number = *count = 0;
    return *text == '\0';
}

bool settings_accepts_cell(const char *text)
{
    unsigned number;
    unsigned count;

    return settings_read_cell(text, &number, &count);
}

bool settings_accepts_log_level(const char *text)
{
    enum log_level level;
    return log_level_parse(text, &level);
}
