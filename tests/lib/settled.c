#include "lib/t.h"

#include "lib/settled.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_US = 2000 };

struct http_reply settled_order(struct server *server, const char *id)
{
    int64_t until_us = clock_mono_us() + SERVER_PATIENCE_US;
    char target[64];
    char status[16];

    snprintf(target, sizeof target, "/orders/%s", id);
    for (;;) {
        struct http_reply reply = server_call(server, "GET", target, NULL, NULL);
        if (reply.status != 200 && reply.status != 404 && reply.status != 503)
            fail_msg("order %s was accepted, then %d %s", id, reply.status, reply.body);
        strcpy(status, reply.status == 503 ? "queued" : ""); /* a backend is away: it comes back */
        if (reply.status == 200)
            http_reply_text(&reply, "status", status, sizeof status);
        if (strcmp(status, "queued") != 0)
            return reply;
        if (clock_mono_us() >= until_us)
            fail_msg("order %s is still queued", id);
        http_reply_fini(&reply);
        clock_sleep_until(clock_mono_us() + LOOK_US);
    }
}

/* The order failed: as a refusal would have said it. */
static void become_refusal(struct http_reply *reply)
{
    char reason[64];

    http_reply_text(reply, "reason", reason, sizeof reason);
    http_reply_fini(reply);
    reply->status = 409;
    reply->head = strdup("HTTP/1.1 409 Conflict\r\nContent-Type: application/problem+json");
    assert_true(asprintf(&reply->body, "{\"code\": \"%s\"}", reason) > 0);
    reply->body_length = strlen(reply->body);
}

void settled_reply(struct server *server, struct http_reply *reply)
{
    char id[64];
    char status[16];

    if (reply->status != 202)
        return;
    http_reply_text(reply, "id", id, sizeof id);
    http_reply_fini(reply);
    *reply = settled_order(server, id);
    if (reply->status != 200)
        return;
    http_reply_text(reply, "status", status, sizeof status);
    if (strcmp(status, "failed") == 0)
        become_refusal(reply);
    else
        reply->status = 201;
}
