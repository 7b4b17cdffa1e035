/*
 * Addresses: of a Redis, of the servers that the harness loads, and the other forms that settings
 * take.
 *
 * A Redis URL that is read is read again the same when it is written; no error repeats a password,
 * and there is one exactly when it is refused. What --redlock takes is as many URLs as it says.
 */
#include "fuzz/fuzz.h"

#include "loadtest/engine/client.h"
#include "redis/redis_url.h"
#include "settings/settings_accept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 4 };

static void write_encoded(FILE *to, const char *text)
{
    for (; *text; text++)
        fprintf(to, "%%%02x", (unsigned char)*text);
}

/* In brackets unless a bracket is in it: then it came without. */
static void write_place(FILE *to, const struct redis_place *place)
{
    bool bare = strchr(place->host, ']');

    fprintf(to, "%s%s%s:%d", bare ? "" : "[", place->host, bare ? "" : "]", place->port);
}

static char *write_redis_url(const struct redis_url *url)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);

    FUZZ_HOLDS(to);
    if (url->is_unix) {
        fprintf(to, "unix://%s", url->places[0].host);
        fclose(to);
        return text;
    }
    fputs(url->primary[0] ? "redis-sentinel://" : url->tls ? "rediss://" : "redis://", to);
    if (url->password[0]) {
        write_encoded(to, url->user);
        fputc(':', to);
        write_encoded(to, url->password);
        fputc('@', to);
    }
    for (int i = 0; i < url->count; i++) {
        fputs(i > 0 ? "," : "", to);
        write_place(to, &url->places[i]);
    }
    if (url->primary[0])
        fprintf(to, "/%s", url->primary);
    fprintf(to, "/%d", url->database);
    fclose(to);
    return text;
}

static void check_places(const struct redis_url *url)
{
    FUZZ_HOLDS(url->count >= 1 && url->count <= REDIS_SENTINELS_MAX);
    FUZZ_HOLDS(url->primary[0] || url->count == 1);
    FUZZ_HOLDS(!url->user[0] || url->password[0]);
    for (int i = 0; i < url->count; i++) {
        FUZZ_HOLDS(url->places[i].host[0]);
        FUZZ_HOLDS(url->is_unix || (url->places[i].port >= 1 && url->places[i].port <= 65535));
    }
}

static void check_same(const struct redis_url *a, const struct redis_url *b)
{
    FUZZ_HOLDS(a->is_unix == b->is_unix && a->tls == b->tls && a->database == b->database);
    FUZZ_HOLDS(strcmp(a->user, b->user) == 0 && strcmp(a->password, b->password) == 0);
    FUZZ_HOLDS(strcmp(a->primary, b->primary) == 0 && a->count == b->count);
    for (int i = 0; i < a->count; i++)
        FUZZ_HOLDS(strcmp(a->places[i].host, b->places[i].host) == 0 &&
                   a->places[i].port == b->places[i].port);
}

static void read_redis(const char *text)
{
    struct error error = {.code = ERROR_NONE};
    static struct redis_url url, again;

    if (!redis_url_parse(text, &url, &error)) {
        FUZZ_HOLDS(error.code == ERROR_INVALID && *error.text);
        FUZZ_HOLDS(!strstr(error.text, "pa55w0rd"));
        return;
    }
    FUZZ_HOLDS(error.code == ERROR_NONE);
    FUZZ_HOLDS(settings_accepts_redis(text));
    check_places(&url);
    char *written = write_redis_url(&url);
    FUZZ_HOLDS(redis_url_parse(written, &again, &error));
    check_same(&url, &again);
    free(written);
}

static void read_client(const char *text)
{
    struct error error = {.code = ERROR_NONE};
    struct client_url url = {.host = ""}, again = {.host = ""};
    char written[600];

    if (!client_split_url(text, &url, &error)) {
        FUZZ_HOLDS(error.code == ERROR_FAILED && *error.text);
        return;
    }
    FUZZ_HOLDS(error.code == ERROR_NONE && *url.host && *url.port);
    snprintf(written, sizeof written, "http://%s", url.authority);
    FUZZ_HOLDS(client_split_url(written, &again, &error));
    FUZZ_HOLDS(strcmp(url.host, again.host) == 0 && strcmp(url.port, again.port) == 0);
}

static void accept_redlock(const char *text)
{
    int urls = 1;

    if (!settings_accepts_redlock(text) || !*text)
        return;
    for (const char *at = text; (at = strchr(at, ',')); at++)
        urls++;
    FUZZ_HOLDS(urls == 3 || urls == 5);
}

/* A list of addresses is accepted only when each of them is. */
static void accept_others(const char *text)
{
    bool listen = settings_accepts_listen(text);

    FUZZ_HOLDS(!listen || settings_accepts_memcached(text));
    FUZZ_HOLDS(!listen || strlen(text) >= 256 || strpbrk(text, ",/") ||
               settings_accepts_zookeeper(text));
    if (settings_accepts_zookeeper(text) && *text && !strpbrk(text, ",/"))
        FUZZ_HOLDS(listen);
    settings_accepts_amqp(text);
    FUZZ_HOLDS(!settings_accepts_system_name(text) || !strpbrk(text, " \n{}*:/"));
    FUZZ_HOLDS(!settings_accepts_token(text) || !strpbrk(text, " \r\n\t"));
    FUZZ_HOLDS(!settings_accepts_schema(text) || (*text && !strpbrk(text, "\r\n")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const kinds[KINDS])(const char *) = {read_redis, read_client, accept_redlock,
                                                       accept_others};
    unsigned kind = fuzz_kind(&data, &size, KINDS);
    char *text = fuzz_copy(data, size);

    kinds[kind](text);
    free(text);
    return 0;
}
