#include "lib/t.h"

#include "lib/settled.h"
#include "lib/shop.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

enum { TARGET_MAX = 256, BODY_MAX = 256, HEADERS_MAX = 128, ASK_AGAIN_US = 20000 };

struct parts {
    char target[TARGET_MAX];
    char headers[HEADERS_MAX];
    char body[BODY_MAX];
};

static void fill(struct parts *parts, const struct buy *buy, bool restock)
{
    char path[64] = "/orders";

    if (restock)
        snprintf(path, sizeof path, "/products/%lld/restock", (long long)buy->product);
    snprintf(parts->target, sizeof parts->target, "%s?strategy=%s%s%s%s", path, buy->strategy,
             buy->body ? "&body=" : "", buy->body ? buy->body : "", buy->more ? buy->more : "");
    parts->headers[0] = '\0';
    if (buy->key)
        snprintf(parts->headers, sizeof parts->headers, "Idempotency-Key: %s\r\n", buy->key);
    int n = 0;
    if (!restock)
        n = snprintf(parts->body, sizeof parts->body, "{\"product_id\": %lld, \"user_id\": %lld",
                     (long long)buy->product, (long long)buy->user);
    if (restock || buy->quantity)
        n += snprintf(parts->body + n, sizeof parts->body - (size_t)n, "%c\"quantity\": %lld",
                      restock ? '{' : ',', (long long)buy->quantity);
    snprintf(parts->body + n, sizeof parts->body - (size_t)n, "}");
}

static void expect(const struct http_reply *reply, const char *what, int status, const char *code)
{
    char got[64];

    http_reply_code(reply, got, sizeof got);
    if (reply->status != status || strcmp(got, code) != 0)
        fail_msg("%s: %d %s instead of %d %s: %s", what, reply->status, got, status, code,
                 reply->body);
}

void shop_expect(struct server *server, const char *method, const char *target, const char *headers,
                 const char *body, int status, const char *code)
{
    struct http_reply reply = server_call(server, method, target, headers, body);

    expect(&reply, target, status, code);
    http_reply_fini(&reply);
}

void shop_put(struct server *server, int64_t product, int64_t stock, const char *more)
{
    char target[64];
    char body[BODY_MAX];

    snprintf(target, sizeof target, "/products/%lld", (long long)product);
    snprintf(body, sizeof body, "{\"stock\": %lld%s}", (long long)stock, more ? more : "");
    struct http_reply reply = server_call(server, "PUT", target, NULL, body);
    if (reply.status != 200 && reply.status != 201)
        fail_msg("PUT %s: %d %s", target, reply.status, reply.body);
    http_reply_fini(&reply);
}

struct http_reply shop_send(struct server *server, const struct buy *buy)
{
    struct parts parts;

    fill(&parts, buy, false);
    return server_call(server, "POST", parts.target, parts.headers, parts.body);
}

struct http_reply shop_buy(struct server *server, const struct buy *buy)
{
    struct http_reply reply = shop_send(server, buy);

    settled_reply(server, &reply);
    return reply;
}

void shop_expect_buy(struct server *server, const struct buy *buy, int status, const char *code,
                     char id[SHOP_ID_SIZE])
{
    struct http_reply reply = shop_buy(server, buy);

    expect(&reply, buy->strategy, status, code);
    if (id)
        http_reply_text(&reply, "id", id, SHOP_ID_SIZE);
    http_reply_fini(&reply);
}

void shop_expect_buy_soon(struct server *server, const struct buy *buy, int status)
{
    int64_t until_us = clock_mono_us() + SERVER_PATIENCE_US;
    char code[64] = "backend_unavailable";

    while ((strcmp(code, "backend_unavailable") == 0 || strcmp(code, "wait_timeout") == 0) &&
           clock_mono_us() < until_us) {
        struct http_reply reply = shop_buy(server, buy);
        http_reply_code(&reply, code, sizeof code);
        if (!code[0])
            expect(&reply, buy->strategy, status, "");
        http_reply_fini(&reply);
        clock_sleep_until(clock_mono_us() + ASK_AGAIN_US);
    }
    if (code[0])
        fail_msg("%s: still %s", buy->strategy, code);
}

void shop_crowd_buy(struct crowd *crowd, struct server *server, const struct buy *buy)
{
    struct parts parts;

    fill(&parts, buy, false);
    crowd_add(crowd, server, "POST", parts.target, parts.headers, parts.body);
}

void shop_crowd_cancel(struct crowd *crowd, struct server *server, const char *id)
{
    char target[96];

    snprintf(target, sizeof target, "/orders/%s/cancel", id);
    crowd_add(crowd, server, "POST", target, NULL, NULL);
}

void shop_crowd_restock(struct crowd *crowd, struct server *server, const struct buy *restock)
{
    struct parts parts;

    fill(&parts, restock, true);
    crowd_add(crowd, server, "POST", parts.target, parts.headers, parts.body);
}

void shop_expect_restock(struct server *server, const struct buy *restock, int status,
                         const char *code)
{
    struct parts parts;

    fill(&parts, restock, true);
    shop_expect(server, "POST", parts.target, parts.headers, parts.body, status, code);
}

void shop_expect_consistent(struct server *server, int64_t product)
{
    char target[64];

    snprintf(target, sizeof target, "/products/%lld/audit", (long long)product);
    struct http_reply reply = server_call(server, "GET", target, NULL, NULL);
    assert_int_equal(reply.status, 200);
    if (!http_reply_bool(&reply, "consistent"))
        fail_msg("%s", reply.body);
    http_reply_fini(&reply);
}
