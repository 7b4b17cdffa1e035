/*
 * An HTTP/1.1 client that hides nothing: exact bytes go in, a parsed reply comes out.
 *
 * One client is one connection, kept alive between requests as long as the server keeps it. Sending
 * and reading are bounded by absolute monotonic deadlines (base/clock.h). It never retries and
 * never reconnects, so a test sees what happened: a reply, an orderly or broken end of the
 * connection, silence, or bytes that are no HTTP. Interim replies (100 Continue) come out as
 * replies of their own.
 */
#ifndef SECKILL_TESTS_LIB_HTTP_CLIENT_H
#define SECKILL_TESTS_LIB_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum http_result {
    HTTP_REPLY,
    HTTP_TIMEOUT,  /* not complete (yet) */
    HTTP_CLOSED,   /* the connection ended before a whole reply */
    HTTP_MALFORMED /* what came is not HTTP */
};

struct http_reply {
    int status;
    char *head; /* owned: status line and header fields, without the empty line */
    char *body; /* owned: NUL added; "" when there is none */
    size_t body_length;
    bool keeps_alive;
};

struct http_client;

/* `address` is "http://HOST:PORT" as a server says it. NULL: nobody listens there, or not in time.
 */
struct http_client *http_client_open(const char *address, int64_t until_us);
void http_client_close(struct http_client *client); /* NULL is allowed */
int http_client_fd(const struct http_client *client);

/* False: the connection is gone, or the deadline has passed. */
bool http_client_send(struct http_client *client, const void *bytes, size_t length,
                      int64_t until_us);
/* Says that nothing more will be sent (shutdown). */
void http_client_finish_sending(struct http_client *client);

/* Waits for one reply. On HTTP_REPLY it must be freed with http_reply_fini; otherwise it is empty.
 * `to_head`: the reply answers a HEAD, so it has no body whatever its Content-Length says. */
enum http_result http_client_read(struct http_client *client, bool to_head, int64_t until_us,
                                  struct http_reply *reply);
/* The same without waiting. */
enum http_result http_client_poll(struct http_client *client, struct http_reply *reply);
/* Waits until the server has closed the connection; false when it has not, or has sent something.
 */
bool http_client_ended(struct http_client *client, int64_t until_us);

/* One request with Host, Content-Length and the `headers` given ("Name: value\r\n…", or NULL) and
 * its reply. `body` NULL: none. */
enum http_result http_client_call(struct http_client *client, const char *method,
                                  const char *target, const char *headers, const char *body,
                                  int64_t until_us, struct http_reply *reply);
/* The bytes that http_client_call sends; malloc'ed. */
char *http_request(const char *method, const char *target, const char *headers, const char *body);

void http_reply_fini(struct http_reply *reply);
/* Copies a header field's value; false: there is none. */
bool http_reply_header(const struct http_reply *reply, const char *name, char *out, size_t size);

/* Members of a JSON body. `path` is a name, or names and indices joined by dots
 * ("guarantees.one_instance", "orders.0.id"). A body or a member that is not as asked ends the
 * test. */
int64_t http_reply_int(const struct http_reply *reply, const char *path);
bool http_reply_bool(const struct http_reply *reply, const char *path);
void http_reply_text(const struct http_reply *reply, const char *path, char *out, size_t size);
bool http_reply_is_null(const struct http_reply *reply, const char *path);
/* Elements of an array; "" is the body itself. */
int http_reply_count(const struct http_reply *reply, const char *path);
/* The problem document's code; "" when the reply is none. */
void http_reply_code(const struct http_reply *reply, char *out, size_t size);

#endif
