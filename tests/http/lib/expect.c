#include "lib/t.h"

#include "http/lib/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct http_reply expect(struct server *server, int status, const char *method, const char *target,
                         const char *headers, const char *body)
{
    struct http_reply reply = server_call(server, method, target, headers, body);

    if (reply.status != status)
        fail_msg("%s %s %s: %d instead of %d: %s", method, target, body ? body : "", reply.status,
                 status, reply.body);
    return reply;
}

void expect_status(struct server *server, int status, const char *method, const char *target,
                   const char *headers, const char *body)
{
    struct http_reply reply = expect(server, status, method, target, headers, body);

    http_reply_fini(&reply);
}

void assert_header(const struct http_reply *reply, const char *name, const char *value)
{
    char found[256] = "";

    http_reply_header(reply, name, found, sizeof found);
    if (strcmp(found, value) != 0)
        fail_msg("%s is \"%s\" instead of \"%s\" in\n%s", name, found, value, reply->head);
}

void assert_text(const struct http_reply *reply, const char *path, const char *value)
{
    char found[256];

    http_reply_text(reply, path, found, sizeof found);
    if (strcmp(found, value) != 0)
        fail_msg("%s is \"%s\" instead of \"%s\" in %s", path, found, value, reply->body);
}

void assert_problem(const struct http_reply *reply, int status, const char *code, const char *field)
{
    char code_found[64];

    http_reply_code(reply, code_found, sizeof code_found);
    if (reply->status != status || strcmp(code_found, code) != 0)
        fail_msg("%d %s instead of %d %s: %s", reply->status, code_found, status, code,
                 reply->body);
    assert_header(reply, "Content-Type", "application/problem+json");
    assert_text(reply, "type", "about:blank");
    assert_int_equal(http_reply_int(reply, "status"), status);
    assert_non_null(strstr(reply->body, "\"title\": \""));
    assert_non_null(strstr(reply->body, "\"detail\": \""));
    if (field)
        assert_text(reply, "field", field);
    else
        assert_null(strstr(reply->body, "\"field\""));
    assert_header(reply, "Retry-After", status == 503 ? "1" : "");
}

void expect_problem(struct server *server, int status, const char *code, const char *field,
                    const char *method, const char *target, const char *headers, const char *body)
{
    struct http_reply reply = server_call(server, method, target, headers, body);

    assert_problem(&reply, status, code, field);
    http_reply_fini(&reply);
}

void put_product(struct server *server, int64_t product, const char *body)
{
    char target[64];

    snprintf(target, sizeof target, "/products/%lld", (long long)product);
    server_wait_ready(server, 200, NULL);
    int status = server_status(server, "PUT", target, NULL, body);
    if (status != 200 && status != 201)
        fail_msg("PUT %s %s: %d", target, body, status);
}

void buy(struct server *server, int64_t product, int64_t user, char id[37])
{
    char body[128];
    struct http_reply reply;

    snprintf(body, sizeof body, "{\"product_id\": %lld, \"user_id\": %lld}", (long long)product,
             (long long)user);
    reply = expect(server, 201, "POST", "/orders?strategy=conditional", NULL, body);
    http_reply_text(&reply, "id", id, 37);
    http_reply_fini(&reply);
}
