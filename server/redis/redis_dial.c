#include "redis/redis_dial.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#ifdef SECKILL_REDIS_TLS
#include <arpa/inet.h>
#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#endif

enum { LEAST_US = 1000, SENTINEL_MOST_US = 500000 };

static struct timeval left_until(int64_t until_us)
{
    int64_t left_us = until_us - clock_mono_us();

    if (left_us < LEAST_US)
        left_us = LEAST_US; /* 0 would mean for ever */
    return (struct timeval){.tv_sec = left_us / CLOCK_US_PER_S,
                            .tv_usec = left_us % CLOCK_US_PER_S};
}

/* NULL with the reason in `error`; what is not NULL has no error. */
static redisContext *checked(redisContext *context, struct error *error)
{
    if (context && !context->err)
        return context;
    error_set(error, ERROR_UNAVAILABLE, "%s", context ? context->errstr : "out of memory");
    if (context)
        redisFree(context);
    return NULL;
}

static redisContext *dial_place(const struct redis_place *place, bool is_unix, int64_t until_us,
                                struct error *error)
{
    struct timeval timeout = left_until(until_us);
    redisContext *context =
        checked(is_unix ? redisConnectUnixWithTimeout(place->host, timeout)
                        : redisConnectWithTimeout(place->host, place->port, timeout),
                error);

    /* For what is said before the session stops blocking: a handshake, a question. */
    if (context)
        redisSetTimeout(context, left_until(until_us));
    return context;
}

/* Whether the reply is the primary's place. Frees it. */
static bool take_place(redisReply *reply, const char *name, struct redis_place *out,
                       struct error *error)
{
    bool good = reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                reply->element[0]->str && reply->element[1]->str;

    if (good) {
        snprintf(out->host, sizeof out->host, "%s", reply->element[0]->str);
        out->port = (int)strtol(reply->element[1]->str, NULL, 10);
    } else if (reply && reply->type == REDIS_REPLY_ERROR) {
        error_set(error, ERROR_UNAVAILABLE, "a Sentinel: %s", reply->str);
    } else if (reply) {
        error_set(error, ERROR_UNAVAILABLE, "the Sentinels know no primary \"%s\"", name);
    }
    if (reply)
        freeReplyObject(reply);
    return good;
}

/* A Sentinel with a password of its own is taken to have the primary's. */
static redisReply *ask(redisContext *context, const struct redis_url *url)
{
    static const char question[] = "SENTINEL get-master-addr-by-name %s";
    redisReply *reply = redisCommand(context, question, url->primary);

    if (!reply || reply->type != REDIS_REPLY_ERROR || strncmp(reply->str, "NOAUTH", 6) != 0 ||
        !url->password[0])
        return reply;
    freeReplyObject(reply);
    reply = url->user[0] ? redisCommand(context, "AUTH %s %s", url->user, url->password)
                         : redisCommand(context, "AUTH %s", url->password);
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        return reply;
    freeReplyObject(reply);
    return redisCommand(context, question, url->primary);
}

static bool find_primary(const struct redis_url *url, int64_t until_us, struct redis_place *out,
                         struct error *error)
{
    for (int i = 0; i < url->count; i++) {
        int64_t now_us = clock_mono_us();
        int64_t share_us = (until_us - now_us) / (url->count - i + 1);
        int64_t sentinel_us = now_us + (share_us < SENTINEL_MOST_US ? share_us : SENTINEL_MOST_US);
        redisContext *context = dial_place(&url->places[i], false, sentinel_us, error);

        if (!context)
            continue;
        redisReply *reply = ask(context, url);
        if (!reply)
            error_set(error, ERROR_UNAVAILABLE, "a Sentinel: %s", context->errstr);
        bool found = take_place(reply, url->primary, out, error);
        redisFree(context);
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

static bool secure(redisContext *context, struct redis_tls *tls, const char *host,
                   struct error *error)
{
    SSL *ssl = SSL_new(tls->context);

    if (!ssl || !expect_peer(ssl, host)) {
        SSL_free(ssl);
        return error_set(error, ERROR_INTERNAL, "out of memory");
    }
    ERR_clear_error();
    if (redisInitiateSSL(context, ssl) == REDIS_OK)
        return true; /* the context owns it */
    long verified = SSL_get_verify_result(ssl);
    SSL_free(ssl);
    return error_set(error, ERROR_UNAVAILABLE, "TLS: %s",
                     verified != X509_V_OK ? X509_verify_cert_error_string(verified)
                                           : context->errstr);
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

static bool secure(redisContext *context, struct redis_tls *tls, const char *host,
                   struct error *error)
{
    (void)context;
    (void)tls;
    (void)host;
    return error_set(error, ERROR_INTERNAL, "built without TLS");
}
#endif

redisContext *redis_dial(const struct redis_url *url, struct redis_tls *tls, int64_t until_us,
                         struct error *error)
{
    struct redis_place primary = {"", 0};
    const struct redis_place *place = url->places;

    if (url->primary[0]) {
        if (!find_primary(url, until_us, &primary, error))
            return NULL;
        place = &primary;
    }
    redisContext *context = dial_place(place, url->is_unix, until_us, error);
    if (context && url->tls && !secure(context, tls, place->host, error)) {
        redisFree(context);
        return NULL;
    }
    return context;
}
