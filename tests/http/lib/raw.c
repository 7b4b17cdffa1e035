#include "lib/t.h"

#include "http/lib/raw.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t raw_patience(void)
{
    return clock_mono_us() + SERVER_PATIENCE_US;
}

struct http_client *raw_send(struct server *server, const char *text)
{
    struct http_client *client = http_client_open(server_address(server), raw_patience());

    assert_non_null(client);
    /* A server that has refused a request may have closed before it has all of it. */
    http_client_send(client, text, strlen(text), raw_patience());
    return client;
}

int raw_status(struct http_client *client)
{
    struct http_reply reply;
    int status;

    if (http_client_read(client, false, raw_patience(), &reply) != HTTP_REPLY)
        return 0;
    status = reply.status;
    http_reply_fini(&reply);
    return status;
}

char *raw_fill(const char *before, const char *filler, int count, const char *after)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);

    assert_non_null(to);
    fputs(before, to);
    for (int i = 0; i < count; i++)
        fputs(filler, to);
    fputs(after, to);
    assert_int_equal(fclose(to), 0);
    return text;
}
