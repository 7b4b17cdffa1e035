/*
 * Dialling: a connection to the Redis that a URL stands for, non-blocking from the start, so that
 * one deadline bounds it all: the look-up of the name, the connect, the Sentinels, the handshake.
 *
 * With Sentinels each is asked in turn where the primary is, at every connection, and the server
 * that they name has to say that it is one (ROLE): a Sentinel may not have noticed yet.
 * Source: Redis documentation, "Guidelines for Redis clients with support for Redis Sentinel".
 */
#include "redis/redis_internal.h"

#include "base/clock.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#ifdef SECKILL_REDIS_TLS
#include <arpa/inet.h>
#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#endif

enum { SENTINEL_MOST_US = 500000 };

/* False: nothing in time. */
static bool wait_socket(const redisContext *context, short events, int64_t until_us)
{
    struct pollfd fd = {.fd = context->fd, .events = events};

    while (clock_mono_us() < until_us)
        if (poll(&fd, 1, clock_poll_ms(until_us)) > 0)
            return true;
    return false;
}

/* NULL with the error. `host` is in digits, or a path: nothing is looked up. */
static redisContext *dial_address(const char *host, int port, bool is_unix, int64_t until_us,
                                  struct error *error)
{
    redisContext *context =
        is_unix ? redisConnectUnixNonBlock(host) : redisConnectNonBlock(host, port);
    int failed = 0;
    socklen_t size = sizeof failed;

    if (!context)
        error_set(error, ERROR_UNAVAILABLE, "out of memory");
    else if (context->err)
        error_set(error, ERROR_UNAVAILABLE, "%s", context->errstr);
    else if (!wait_socket(context, POLLOUT, until_us))
        error_set(error, ERROR_TIMEOUT, "no connection in time");
    else if (getsockopt(context->fd, SOL_SOCKET, SO_ERROR, &failed, &size) != 0 || failed)
        error_set(error, ERROR_UNAVAILABLE, "%s", strerror(failed));
    else
        return context;
    if (context)
        redisFree(context);
    return NULL;
}

/* One address behind the name after the other, each with its share of the time. */
static redisContext *dial_place(const struct redis_server *server, const struct redis_place *place,
                                int64_t until_us, struct error *error)
{
    struct resolved found = {.count = 1};
    redisContext *context = NULL;

    if (server->url.is_unix)
        return dial_address(place->host, 0, true, until_us, error);
    if (!resolver_is_numeric(place->host, found.addresses[0]) &&
        !resolver_ask(server->resolver, place->host, until_us, NULL, &found, error))
        return NULL;
    for (int i = 0; i < found.count && !context; i++) {
        int64_t now_us = clock_mono_us();
        context = dial_address(found.addresses[i], place->port, false,
                               now_us + (until_us - now_us) / (found.count - i), error);
    }
    return context;
}

/* Whether the reply is the primary's place. Frees it. */
static bool take_place(redisReply *reply, const char *name, struct redis_place *out,
                       struct error *error)
{
    bool good = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                reply->element[0]->str && reply->element[1]->str;

    if (good) {
        snprintf(out->host, sizeof out->host, "%s", reply->element[0]->str);
        out->port = (int)strtol(reply->element[1]->str, NULL, 10);
    } else {
        error_set(error, ERROR_UNAVAILABLE, "the Sentinels know no primary \"%s\"", name);
    }
    freeReplyObject(reply);
    return good;
}

/* A Sentinel with a password of its own is taken to have the primary's. */
static bool ask(struct redis *sentinel, int64_t until_us, struct redis_place *out,
                struct error *error)
{
    const struct redis_url *url = &sentinel->server->url;
    const char *const question[] = {"SENTINEL", "get-master-addr-by-name", url->primary};
    redisReply *reply;
    enum redis_status status = redis_command(sentinel, 3, question, until_us, &reply);

    if (status == REDIS_REFUSED && url->password[0] &&
        strncmp(redis_reason(sentinel), "NOAUTH", 6) == 0) {
        freeReplyObject(reply);
        reply = NULL;
        status = redis_log_in(sentinel, until_us);
        if (status == REDIS_OK)
            status = redis_command(sentinel, 3, question, until_us, &reply);
    }
    if (status == REDIS_OK)
        return take_place(reply, url->primary, out, error);
    if (reply)
        freeReplyObject(reply);
    return error_set(error, ERROR_UNAVAILABLE, "a Sentinel: %s", redis_reason(sentinel));
}

static bool find_primary(struct redis_server *server, int64_t until_us, struct redis_place *out,
                         struct error *error)
{
    const struct redis_url *url = &server->url;

    for (int i = 0; i < url->count; i++) {
        struct redis sentinel = {.server = server, .optional = true};
        int64_t now_us = clock_mono_us();
        int64_t share_us = (until_us - now_us) / (url->count - i + 1);
        int64_t sentinel_us = now_us + clock_earlier(share_us, SENTINEL_MOST_US);

        sentinel.context = dial_place(server, &url->places[i], sentinel_us, error);
        bool found = sentinel.context && ask(&sentinel, sentinel_us, out, error);
        redis_close(&sentinel);
        if (found)
            return true;
    }
    return error_prefix(error, "no Sentinel says where the primary is");
}

#ifdef SECKILL_REDIS_TLS
struct redis_tls {
    SSL_CTX *context; /* owned */
};

static const char *tls_reason(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    return reason ? reason : "no reason given";
}

static const char *tls_failure(const SSL *ssl)
{
    long verified = SSL_get_verify_result(ssl);

    if (verified != X509_V_OK)
        return X509_verify_cert_error_string(verified);
    return ERR_peek_last_error() ? tls_reason() : "the connection broke";
}

struct redis_tls *redis_tls_create(const char *ca_file, struct error *error)
{
    struct redis_tls *tls = calloc(1, sizeof *tls);

    if (tls)
        tls->context = SSL_CTX_new(TLS_client_method());
    if (!tls || !tls->context) {
        error_set(error, ERROR_INTERNAL, "out of memory");
        redis_tls_destroy(tls);
        return NULL;
    }
    SSL_CTX_set_min_proto_version(tls->context, TLS1_2_VERSION);
    SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, NULL);
    ERR_clear_error();
    if (ca_file[0] ? SSL_CTX_load_verify_locations(tls->context, ca_file, NULL)
                   : SSL_CTX_set_default_verify_paths(tls->context))
        return tls;
    error_set(error, ERROR_INVALID, "the CAs of \"%s\" cannot be read: %s (--redis-ca)", ca_file,
              tls_reason());
    redis_tls_destroy(tls);
    return NULL;
}

void redis_tls_destroy(struct redis_tls *tls)
{
    if (tls)
        SSL_CTX_free(tls->context);
    free(tls);
}

/* The certificate has to be for this name, or for this address. */
static bool expect_peer(SSL *ssl, const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    char name[REDIS_HOST_MAX + 1]; /* OpenSSL's macro takes no const, and changes nothing */

    if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
    snprintf(name, sizeof name, "%s", host);
    return SSL_set1_host(ssl, name) && SSL_set_tlsext_host_name(ssl, name);
}

/* hiredis has begun it. */
static bool shake_hands(redisContext *context, SSL *ssl, int64_t until_us, struct error *error)
{
    for (;;) {
        ERR_clear_error();
        int done = SSL_do_handshake(ssl);
        int wanted = SSL_get_error(ssl, done);
        if (done == 1)
            return true;
        if (wanted != SSL_ERROR_WANT_READ && wanted != SSL_ERROR_WANT_WRITE)
            break;
        if (!wait_socket(context, wanted == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, until_us))
            return error_set(error, ERROR_TIMEOUT, "TLS: no answer in time");
    }
    return error_set(error, ERROR_UNAVAILABLE, "TLS: %s", tls_failure(ssl));
}

static bool secure(redisContext *context, struct redis_tls *tls, const char *host, int64_t until_us,
                   struct error *error)
{
    SSL *ssl = SSL_new(tls->context);

    if (!ssl || !expect_peer(ssl, host)) {
        SSL_free(ssl);
        return error_set(error, ERROR_INTERNAL, "out of memory");
    }
    ERR_clear_error();
    if (redisInitiateSSL(context, ssl) == REDIS_OK) /* the context owns it */
        return shake_hands(context, ssl, until_us, error);
    error_set(error, ERROR_UNAVAILABLE, "TLS: %s", tls_failure(ssl));
    SSL_free(ssl);
    return false;
}
#else
struct redis_tls *redis_tls_create(const char *ca_file, struct error *error)
{
    (void)ca_file;
    error_set(error, ERROR_INVALID,
              "rediss:// needs hiredis 1.0 or later with its SSL library, which this server was "
              "built without");
    return NULL;
}

void redis_tls_destroy(struct redis_tls *tls)
{
    (void)tls;
}

static bool secure(redisContext *context, struct redis_tls *tls, const char *host, int64_t until_us,
                   struct error *error)
{
    (void)context;
    (void)tls;
    (void)host;
    (void)until_us;
    return error_set(error, ERROR_INTERNAL, "built without TLS");
}
#endif

redisContext *redis_dial(struct redis_server *server, int64_t until_us, struct error *error)
{
    const struct redis_url *url = &server->url;
    struct redis_place primary = {"", 0};
    const struct redis_place *place = url->places;

    if (url->primary[0]) {
        if (!find_primary(server, until_us, &primary, error))
            return NULL;
        place = &primary;
    }
    redisContext *context = dial_place(server, place, until_us, error);
    if (context && url->tls && !secure(context, server->tls, place->host, until_us, error)) {
        redisFree(context);
        return NULL;
    }
    return context;
}
