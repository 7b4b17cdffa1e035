#include "lib/t.h"

#include "lib/crowd.h"

#include "base/clock.h"
#include "lib/settled.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct caller {
    struct crowd_call call;
    struct server *server;      /* borrowed: the test */
    struct http_client *client; /* owned; NULL when the call has ended */
    char *request;              /* owned; NULL once sent */
    int64_t sent_us;
};

struct crowd {
    struct caller *callers; /* owned */
    struct pollfd *fds;     /* owned */
    int count;
    int room;
    int sent;
    int ended;
};

struct crowd *crowd_create(void)
{
    struct crowd *crowd = calloc(1, sizeof *crowd);

    assert_non_null(crowd);
    return crowd;
}

void crowd_destroy(struct crowd *crowd)
{
    if (!crowd)
        return;
    for (int i = 0; i < crowd->count; i++) {
        http_client_close(crowd->callers[i].client);
        http_reply_fini(&crowd->callers[i].call.reply);
        free(crowd->callers[i].request);
    }
    free(crowd->callers);
    free(crowd->fds);
    free(crowd);
}

static void *grow(void *memory, size_t size)
{
    void *larger = realloc(memory, size);

    if (!larger)
        abort();
    return larger;
}

void crowd_add(struct crowd *crowd, struct server *server, const char *method, const char *target,
               const char *headers, const char *body)
{
    if (crowd->count == crowd->room) {
        crowd->room = crowd->room * 2 + 64;
        crowd->callers = grow(crowd->callers, (size_t)crowd->room * sizeof *crowd->callers);
        crowd->fds = grow(crowd->fds, (size_t)crowd->room * sizeof *crowd->fds);
    }
    struct caller *caller = &crowd->callers[crowd->count];
    *caller = (struct caller){.call.result = HTTP_TIMEOUT, .server = server};
    caller->client = http_client_open(server_address(server), clock_mono_us() + SERVER_PATIENCE_US);
    if (!caller->client)
        fail_msg("connection %d to %s was not taken", crowd->count, server_address(server));
    caller->request = http_request(method, target, headers, body);
    crowd->count++;
}

static void end_call(struct crowd *crowd, struct caller *caller, enum http_result result)
{
    caller->call.result = result;
    caller->call.took_us = clock_mono_us() - caller->sent_us;
    if (result == HTTP_REPLY)
        http_reply_code(&caller->call.reply, caller->call.code, sizeof caller->call.code);
    http_client_close(caller->client);
    caller->client = NULL;
    crowd->ended++;
}

void crowd_send(struct crowd *crowd)
{
    for (; crowd->sent < crowd->count; crowd->sent++) {
        struct caller *caller = &crowd->callers[crowd->sent];
        caller->sent_us = clock_mono_us();
        bool sent = http_client_send(caller->client, caller->request, strlen(caller->request),
                                     caller->sent_us + SERVER_PATIENCE_US);
        free(caller->request);
        caller->request = NULL;
        if (!sent)
            end_call(crowd, caller, HTTP_CLOSED);
    }
}

/* Takes in what has come on the connections that `fds` says are ready. */
static void read_ready(struct crowd *crowd, int n)
{
    for (int i = 0, at = 0; at < n; at++, i++) {
        while (!crowd->callers[i].client)
            i++;
        if (!crowd->fds[at].revents)
            continue;
        struct caller *caller = &crowd->callers[i];
        enum http_result result = http_client_poll(caller->client, &caller->call.reply);
        if (result != HTTP_TIMEOUT)
            end_call(crowd, caller, result);
    }
}

bool crowd_wait(struct crowd *crowd, int enough, int64_t until_us)
{
    while (crowd->ended < enough) {
        int n = 0;
        for (int i = 0; i < crowd->sent; i++)
            if (crowd->callers[i].client)
                crowd->fds[n++] = (struct pollfd){.fd = http_client_fd(crowd->callers[i].client),
                                                  .events = POLLIN};
        if (n == 0 || (poll(crowd->fds, (nfds_t)n, clock_poll_ms(until_us)) <= 0 &&
                       clock_mono_us() >= until_us))
            return false;
        read_ready(crowd, n);
    }
    return true;
}

void crowd_answers(struct crowd *crowd, int64_t us)
{
    crowd_send(crowd);
    if (!crowd_wait(crowd, crowd->count, clock_mono_us() + us))
        fail_msg("%d of %d calls got no answer in %lld ms; the others: %s",
                 crowd->count - crowd->ended, crowd->count, (long long)us / 1000,
                 crowd_summary(crowd));
}

void crowd_finish(struct crowd *crowd, int64_t us)
{
    crowd_answers(crowd, us);
    for (int i = 0; i < crowd->count; i++) {
        struct crowd_call *call = &crowd->callers[i].call;
        if (call->result != HTTP_REPLY || call->reply.status != 202)
            continue;
        settled_reply(crowd->callers[i].server, &call->reply);
        http_reply_code(&call->reply, call->code, sizeof call->code);
    }
}

int crowd_size(const struct crowd *crowd)
{
    return crowd->count;
}

const struct crowd_call *crowd_at(const struct crowd *crowd, int i)
{
    return &crowd->callers[i].call;
}

int crowd_count(const struct crowd *crowd, int status, const char *code)
{
    int n = 0;

    for (int i = 0; i < crowd->count; i++) {
        const struct crowd_call *call = crowd_at(crowd, i);
        n += call->result == HTTP_REPLY && call->reply.status == status &&
             (!code || strcmp(call->code, code) == 0);
    }
    return n;
}

int crowd_lost(const struct crowd *crowd)
{
    int n = 0;

    for (int i = 0; i < crowd->count; i++)
        n += crowd_at(crowd, i)->result == HTTP_CLOSED;
    return n;
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

int crowd_distinct_orders(const struct crowd *crowd)
{
    char(*ids)[40] = calloc((size_t)crowd->count + 1, sizeof *ids);
    int n = 0;
    int distinct = 0;

    assert_non_null(ids);
    for (int i = 0; i < crowd->count; i++)
        if (crowd_at(crowd, i)->result == HTTP_REPLY && crowd_at(crowd, i)->reply.status <= 201)
            http_reply_text(&crowd_at(crowd, i)->reply, "id", ids[n++], sizeof *ids);
    qsort(ids, (size_t)n, sizeof *ids, compare);
    for (int i = 0; i < n; i++)
        distinct += i == 0 || strcmp(ids[i], ids[i - 1]) != 0;
    free(ids);
    return distinct;
}

/* Is there an earlier call that ended the same way? */
static bool is_repeat(const struct crowd *crowd, int i)
{
    const struct crowd_call *call = crowd_at(crowd, i);

    for (int j = 0; j < i; j++) {
        const struct crowd_call *other = crowd_at(crowd, j);
        if (other->result == call->result && other->reply.status == call->reply.status &&
            strcmp(other->code, call->code) == 0)
            return true;
    }
    return false;
}

const char *crowd_summary(const struct crowd *crowd)
{
    static char text[1024];
    size_t n = 0;

    text[0] = '\0';
    for (int i = 0; i < crowd->count && n < sizeof text - 96; i++) {
        const struct crowd_call *call = crowd_at(crowd, i);
        if (call->result == HTTP_REPLY && !is_repeat(crowd, i))
            n += (size_t)snprintf(text + n, sizeof text - n, "%d × %d %s, ",
                                  crowd_count(crowd, call->reply.status, call->code),
                                  call->reply.status, call->code);
    }
    snprintf(text + n, sizeof text - n, "%d lost", crowd_lost(crowd));
    return text;
}
