/*
 * Heads of requests, of every length: one is refused before anything is done, or it is worked on
 * and answered. And heads that a reader could take for others than they are.
 *
 * A request's head and its reply's share one piece of memory, so there are lengths at which the
 * first just fits and the second does not. Sweeps find the lengths at which the answer changes, and
 * look at each length around them; the rows say what was done.
 */
#include "lib/t.h"

#include "base/clock.h"
#include "http/lib/expect.h"
#include "http/lib/one_server.h"
#include "http/lib/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD_BYTES = 48 * 1024 };

/* A head that grows with `n`. */
struct kind {
    const char *name;
    const char *line;   /* up to and with its CRLF */
    const char *before; /* once, then n times: */
    const char *filler;
    const char *after;
    int most;
    int served; /* so many must be */
    int status; /* of those */
};

static const struct kind kinds[] = {
    {"one Cookie", RAW_POST, "Cookie: a=", "c", "\r\n", 33000, 8150, 201},
    {"one field", RAW_POST, "X-Pad: ", "c", "\r\n", 33000, 8150, 201},
    {"many cookies", RAW_POST, "Cookie: a=b", "; a=b", "\r\n", 6600, 1600, 201},
    {"many fields", RAW_POST, "", "X-Field: value\r\n", "", 600, 98, 201},
    {"100 fields, and a Cookie", RAW_POST, "%fields%Cookie: a=", "c", "\r\n", 24000, 7540, 201},
    {"a target", "", "POST /orders?unknown=", "c", " HTTP/1.1\r\nHost: x\r\n", 33000, 3500, 400},
};

static char *fill(const struct kind *kind, int n, const char *more)
{
    static const char fields[] = "%fields%";
    const char *before = kind->before;
    char *some = NULL;
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);

    assert_non_null(to);
    if (strncmp(before, fields, sizeof fields - 1) == 0) {
        some = raw_fill("", "X: y\r\n", 97, "");
        before += sizeof fields - 1;
    }
    fprintf(to, "%s%s%s", kind->line, some ? some : "", before);
    for (int i = 0; i < n; i++)
        fputs(kind->filler, to);
    fprintf(to, "%s%s" RAW_LENGTH "\r\n", kind->after, more);
    assert_int_equal(fclose(to), 0);
    free(some);
    return text;
}

static int64_t rows(void)
{
    return witness_sale(witness, 1).orders;
}

/* The status of such a request, which is 0 when there was none. */
static int try(const struct kind *kind, int n)
{
    char *head = fill(kind, n, "");
    char *text = raw_fill(head, RAW_BODY, 1, "");
    struct http_client *client = raw_send(server, text);
    int status = raw_status(client);

    http_client_close(client);
    free(text);
    free(head);
    if (status != 201 && status != 400 && status != 414 && status != 431)
        fail_msg("%s, %d: answered with %d", kind->name, n, status);
    return status;
}

/* Tries every length from `from` to `to`; how many were sold. */
static int sweep(const struct kind *kind, int from, int to, int step)
{
    int sold = 0;

    for (int n = from > 1 ? from : 1; n <= to && n <= kind->most; n += step)
        sold += try(kind, n) == 201;
    return sold;
}

static int64_t sweep_kind(const struct kind *kind)
{
    int64_t sold = 0;
    int step = kind->most / (kind->most > 1000 ? 250 : 60);
    int last = 0;
    int n;

    for (n = 1; n <= kind->most; n += step) {
        int status = try(kind, n);

        sold += status == 201;
        if (last != 0 && status != last) {
            sold += sweep(kind, n - step, n, 1);
            sold += sweep(kind, n + 1, n + step, 1);
        }
        if (n <= kind->served && status != kind->status)
            fail_msg("%s, %d: refused with %d", kind->name, n, status);
        last = status;
    }
    assert_int_not_equal(last, 201);
    return sold;
}

TEST(a_head_of_any_length_is_refused_or_answered)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        put_product(server, 1, "{\"stock\": 1000000}");
        int64_t sold = sweep_kind(&kinds[i]);
        if (rows() != sold)
            fail_msg("%s: %d answered 201, %d rows", kinds[i].name, (int)sold, (int)rows());
    }
}

/* The largest n that is served. */
static int largest(const struct kind *kind)
{
    int good = kind->served;
    int bad = kind->most;

    while (bad - good > 1) {
        int middle = good + (bad - good) / 2;

        if (try(kind, middle) == 201)
            good = middle;
        else
            bad = middle;
    }
    return good;
}

/* Sends the head, and the rest when the server has read it. */
static void send_ahead(const struct kind *kind, int n, const char *rest)
{
    char *head = fill(kind, n, "Expect: 100-continue\r\n");
    struct http_client *client = raw_send(server, head);
    int status = raw_status(client);
    int64_t before = rows();

    free(head);
    if (status == 100) {
        http_client_send(client, rest, strlen(rest), raw_patience());
        status = raw_status(client);
        if (status != 201)
            fail_msg("%s, %d: answered with %d", kind->name, n, status);
    }
    assert_int_equal(rows() - before, status == 201);
    http_client_close(client);
}

/* Bytes sent ahead after the head has been read take all the memory that reading may take. */
/* The page's reply has the longest head of all, by its policy. */
TEST(the_longest_head_that_is_promised_has_room_for_the_page)
{
    enum { PROMISED_BYTES = 8192, SHORT_FIELDS = 98 };
    char *fields = raw_fill("GET / HTTP/1.1\r\nHost: x\r\n", "X: y\r\n", SHORT_FIELDS, "A: ");
    int left = PROMISED_BYTES - (int)strlen(fields) - (int)strlen("\r\n\r\n");
    char *text = raw_fill(fields, "c", left, "\r\n\r\n");
    struct http_client *client = raw_send(server, text);

    assert_int_equal(strlen(text), PROMISED_BYTES);
    assert_int_equal(raw_status(client), 200);
    http_client_close(client);
    free(text);
    free(fields);
}

TEST(what_is_sent_ahead_leaves_room_for_the_reply)
{
    char *ahead = raw_fill(RAW_BODY, RAW_GET "\r\n", AHEAD_BYTES / 36, "");

    put_product(server, 1, "{\"stock\": 1000000}");
    for (size_t i = 0; i + 1 < sizeof kinds / sizeof *kinds; i++) {
        int most = largest(&kinds[i]);
        for (int n = most; n > 0 && n > most - 3; n--)
            send_ahead(&kinds[i], n, ahead);
    }
    free(ahead);
}

/* Sends exact bytes, which may hold NULs; the first answer, behind which only the end may come. */
static int status_of_bytes(const char *before, const char *bytes, size_t length, const char *after)
{
    struct http_client *client = raw_send(server, before);
    int first;
    int status;

    http_client_send(client, bytes, length, raw_patience());
    http_client_send(client, after, strlen(after), raw_patience());
    first = raw_status(client);
    while ((status = raw_status(client)) != 0)
        if (status < 400)
            fail_msg("%d after \"%s\", a character of code %d in it", status, before, bytes[0]);
    http_client_close(client);
    return first;
}

static void expect_refused(const char *before, const char *bytes, size_t length, const char *after)
{
    int status = status_of_bytes(before, bytes, length, after);

    if (status != 400)
        fail_msg("%d for \"%s\", a character of code %d in it", status, before, bytes[0]);
}

/* In a request line. libmicrohttpd 1.0 closes without a word at a NUL, a VT or an FF. */
static void expect_line_refused(const char *before, char c, const char *after)
{
    int status = status_of_bytes(before, &c, 1, after);

    if (status != 400 && (status != 0 || (c != '\0' && c != '\v' && c != '\f')))
        fail_msg("%d for \"%s\", a character of code %d in it", status, before, c);
}

TEST(a_character_that_hides_others_is_refused)
{
    static const char keyed[] = RAW_POST RAW_LENGTH "Idempotency-Key: k";
    static const char rest[] = "one\r\n\r\n" RAW_BODY RAW_GET "\r\n";

    put_product(server, 1, "{\"stock\": 100}");
    expect_refused(keyed, "\0", 1, rest);
    expect_refused(keyed, "\0", 1, "two\r\n\r\n" RAW_BODY);
    expect_refused(keyed, "\0", 1, "\r\n\r\n" RAW_BODY);
    expect_refused(RAW_POST "Idempotency-Key: k", "\0", 1,
                   "one\r\n" RAW_LENGTH "\r\n" RAW_BODY RAW_GET "\r\n");
    expect_refused(RAW_POST RAW_LENGTH "Idempotency-", "\0", 1, "Key: k\r\n\r\n" RAW_BODY);
    expect_refused(RAW_POST RAW_LENGTH "X:", "\0", 1, "\r\n\r\n" RAW_BODY);
    expect_line_refused("POST /orders", '\0',
                        "x HTTP/1.1\r\nHost: x\r\n" RAW_LENGTH "\r\n" RAW_BODY);
    expect_line_refused("POST /orders?wait_ms=1", '\0',
                        "1 HTTP/1.1\r\nHost: x\r\n" RAW_LENGTH "\r\n" RAW_BODY);
    for (char c = 1; c > 0; c++) {
        if (c >= ' ' && c < 0x7f)
            continue;
        if (c != '\t')
            expect_refused(RAW_POST RAW_LENGTH "X: a", &c, 1, "b: c\r\n\r\n" RAW_BODY);
        expect_refused(RAW_POST RAW_LENGTH "X", &c, 1, "Y: a\r\n\r\n" RAW_BODY);
        expect_line_refused("POST /orders", c,
                            "x HTTP/1.1\r\nHost: x\r\n" RAW_LENGTH "\r\n" RAW_BODY);
    }
    /* A field that goes on in the next line. */
    expect_refused(keyed, "\r\n", 2, " one\r\n\r\n" RAW_BODY);
    expect_refused(keyed, "\r\n", 2, "\tone\r\nX: y\r\n\r\n" RAW_BODY);
    /* A line without a name, at which 0.9.75 would end the head. */
    expect_refused(RAW_POST RAW_LENGTH "X: a", "\n", 1, ": \n" RAW_BODY);
    assert_int_equal(rows(), 0);
}

/* White space around a value is none of it, a tab in it and what is not ASCII are allowed. */
TEST(what_may_stand_in_a_head_is_served)
{
    static const struct {
        const char *head;
        int status;
    } cases[] = {
        {RAW_POST "X: a\tb\r\nY: \xc3\xa9\r\n" RAW_LENGTH, 201},
        {RAW_POST "X:\r\nY:   \r\nZ:a\r\n" RAW_LENGTH, 201},
        {RAW_POST RAW_LENGTH "X: a  \t \r\n", 201},
        {RAW_POST "Idempotency-Key: key \t\r\nX-1!#$%&'*+-.^_`|~: y\r\n" RAW_LENGTH, 201},
        {RAW_POST RAW_LENGTH "Idempotency-Key:key\r\n", 200},
        {"POST /orders HTTP/1.0\r\n" RAW_LENGTH, 201},
    };

    put_product(server, 1, "{\"stock\": 100}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = raw_fill(cases[i].head, "\r\n", 1, RAW_BODY);
        struct http_client *client = raw_send(server, text);
        int status = raw_status(client);

        if (status != cases[i].status)
            fail_msg("%d for %s", status, cases[i].head);
        http_client_close(client);
        free(text);
    }
}

/* 0.9.75 would keep this one without an answer. */
TEST(a_target_of_too_many_parameters_is_refused_at_once)
{
    int64_t before = server_metric(server, "seckill_http_responses_total", "status=\"414\"");
    char *crowded = raw_fill("GET /healthz?", "a&", 1500, " HTTP/1.1\r\nHost: x\r\n\r\n");
    struct http_client *client = raw_send(server, crowded);
    struct http_reply reply;

    assert_int_equal(http_client_read(client, false, raw_patience(), &reply), HTTP_REPLY);
    assert_problem(&reply, 414, "invalid_header", NULL);
    assert_false(reply.keeps_alive);
    http_reply_fini(&reply);
    assert_true(http_client_ended(client, raw_patience()));
    http_client_close(client);
    free(crowded);
    assert_int_equal(server_metric(server, "seckill_http_responses_total", "status=\"414\""),
                     before + 1);
}

/* libmicrohttpd 1.0.1 crashed where the last thing of a long head was such a parameter. */
TEST(a_long_head_without_fields_is_refused)
{
    static const char *const ends[] = {" /?a HTTP/1.0\r\n\r\nahead",
                                       " /?a&a&a=& HTTP/1.0\r\n\r\nahead",
                                       " / HTTP/1.0\r\n\r\nahead"};

    for (int n = 5000; n < 17000; n += 120) {
        char *text = raw_fill("", "A", n, ends[n / 120 % 3]);
        struct http_client *client = raw_send(server, text);
        int status = raw_status(client);

        if (status != 0 && status / 100 != 4)
            fail_msg("%d for a method of %d characters", status, n);
        http_client_close(client);
        free(text);
    }
    struct http_client *client = raw_send(server, RAW_GET "\r\n");
    assert_int_equal(raw_status(client), 200);
    http_client_close(client);
}

int main(void)
{
    return one_server_run("heads");
}
