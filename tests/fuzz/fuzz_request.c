/*
 * Requests, as bytes on a connection: libmicrohttpd reads them, as in the edge, and head.h and the
 * readers say whether the head is one that everybody would read alike.
 *
 * A head that they let pass is looked at once more as it was sent, by this file's own rules: lines
 * that end with CRLF, none of them folded, no NUL, single spaces in the request line, as many
 * fields as libmicrohttpd has named, and one way to tell where the body ends. A proxy in front of
 * the server cannot then see another request in the same bytes (RFC 9112, 11.2). An Idempotency-Key
 * is the same key when it is written in quotes.
 */
#include "fuzz/fuzz.h"

#include "http/head.h"
#include "http/reader/auth.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TURNS_MAX = 64 };

/* The open connection's first request, as it was read. */
static struct look {
    char *target; /* owned; NULL: its line has not come */
    const char *target_at;
    bool seen;   /* its head has come */
    bool passed; /* and nothing was wrong with it */
    int fields;
    struct headers headers;
    char key[ORDER_KEY_MAX + 1];
} look;

static const uint8_t *sent;
static size_t sent_size;

static void *on_target(void *cls, const char *target, struct MHD_Connection *mhd)
{
    struct problem problem;

    (void)cls;
    if (look.target || !head_target_fits(target, &problem))
        return NULL;
    look.target = fuzz_copy((const uint8_t *)target, strlen(target));
    look.target_at = target;
    head_plant(mhd, target);
    return &look;
}

/* With a token every admin call needs it; without one a mark of a proxy, or no Host, is enough to
 * refuse it. */
static void check_admin(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct problem problem;
    bool named = auth_admin("t0ken", &look.headers, (struct sockaddr *)&address, &problem);
    bool near = auth_admin("", &look.headers, (struct sockaddr *)&address, &problem);

    FUZZ_HOLDS(!named || look.headers.authorizations == 1);
    FUZZ_HOLDS(!near ||
               (!look.headers.forwarded && look.headers.origins <= 1 && look.headers.hosts == 1));
}

static bool passes(struct MHD_Connection *mhd, const char *method, const char *version)
{
    const struct head_line line = {method, look.target_at, strlen(look.target), version};
    struct problem problem = {0};
    int64_t epoch;
    int reply_room;
    bool good = head_fits(mhd, &reply_room, &problem) && head_is_plain(mhd, &line, &problem) &&
                reader_line(method, look.target, &problem) &&
                reader_framing(&look.headers, &problem) &&
                reader_key(&look.headers, look.key, &problem) &&
                reader_match(&look.headers, &epoch, &problem);

    FUZZ_HOLDS(good == (problem.status == 0));
    FUZZ_HOLDS(good || (*problem.code && *problem.detail));
    if (good)
        check_admin();
    return good;
}

/* The head is judged, and nothing else is read: the connection ends. */
static enum MHD_Result on_access(void *cls, struct MHD_Connection *mhd, const char *url,
                                 const char *method, const char *version, const char *upload_data,
                                 size_t *upload_data_size, void **context)
{
    (void)cls;
    (void)url;
    (void)upload_data;
    (void)upload_data_size;
    if (*context != &look || look.seen)
        return MHD_NO;
    look.seen = true;
    head_fields(mhd, &look.headers);
    /* Without the Host and the Cookie that are planted; a length that is planted does not pass. */
    look.fields = MHD_get_connection_values(mhd, MHD_HEADER_KIND, NULL, NULL) - 2;
    look.passed = passes(mhd, method, version);
    return MHD_NO;
}

static void on_log(void *cls, const char *format, va_list arguments)
{
    (void)cls;
    (void)format;
    (void)arguments;
}

static struct MHD_Daemon *start(void)
{
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
        NULL, NULL, on_access, NULL, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_MEMORY_BYTES,
        MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)HEAD_INCREMENT_BYTES,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK, on_target, NULL,
        MHD_OPTION_END);

    FUZZ_HOLDS(daemon);
    return daemon;
}

static unsigned connections(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

    return info ? info->num_connections : 0;
}

static void send_all(struct MHD_Daemon *daemon, const uint8_t *data, size_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int pair[2];

    FUZZ_HOLDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    FUZZ_HOLDS(MHD_add_connection(daemon, pair[1], (struct sockaddr *)&address, sizeof address) ==
               MHD_YES);
    ssize_t put = send(pair[0], data, size, MSG_NOSIGNAL);
    FUZZ_HOLDS(put == (ssize_t)size);
    shutdown(pair[0], SHUT_WR);
    for (int i = 0; i < TURNS_MAX && connections(daemon) > 0; i++)
        MHD_run(daemon);
    close(pair[0]);
    for (int i = 0; i < TURNS_MAX && connections(daemon) > 0; i++)
        MHD_run(daemon);
    FUZZ_HOLDS(connections(daemon) == 0);
}

/* The line at `*at`, without its CRLF; *at goes behind it. */
static const char *take_line(const char **at, const char *end, size_t *length)
{
    const char *line = *at;
    const char *feed = memchr(line, '\n', (size_t)(end - line));

    FUZZ_HOLDS(feed && feed > line);
    FUZZ_HOLDS(feed[-1] == '\r');
    *length = (size_t)(feed - 1 - line);
    FUZZ_HOLDS(!memchr(line, '\0', *length) && !memchr(line, '\r', *length));
    *at = feed + 1;
    return line;
}

static void check_line(const char *line, size_t length)
{
    const char *end = line + length;
    const char *first = memchr(line, ' ', length);

    FUZZ_HOLDS(first && first > line);
    const char *second = memchr(first + 1, ' ', (size_t)(end - first - 1));
    FUZZ_HOLDS(second && second > first + 1);
    FUZZ_HOLDS(!memchr(second + 1, ' ', (size_t)(end - second - 1)));
    FUZZ_HOLDS(end - second - 1 == 8 && memcmp(second + 1, "HTTP/", 5) == 0);
    FUZZ_HOLDS((size_t)(second - first - 1) == strlen(look.target) &&
               memcmp(first + 1, look.target, strlen(look.target)) == 0);
}

static bool is_named(const char *line, size_t length, const char *name)
{
    return length > strlen(name) && line[strlen(name)] == ':' &&
           strncasecmp(line, name, strlen(name)) == 0;
}

/* What 0.9.75 does not show (head.c): a lone LF beside a NUL or behind a colon, one before a line
 * that is nothing but a colon, and one that is the empty line behind a NUL and a CRLF. */
static bool is_blind_spot(void)
{
    for (size_t i = 0; i + 3 < sent_size; i++)
        if (memcmp(sent + i, "\0\r\n\n", 4) == 0 ||
            (memcmp(sent + i, "\n:\r\n", 4) == 0 && (i == 0 || sent[i - 1] != '\r')))
            return true;
    for (size_t i = 0; i + 1 < sent_size; i++)
        if (((sent[i] == '\0' || sent[i] == ':') && sent[i + 1] == '\n') ||
            (sent[i] == '\n' && sent[i + 1] == '\0'))
            return true;
    return false;
}

/* Empty lines before a request are nobody's (RFC 9112, 2.2), of a lone LF, too; and to 0.9.75 those
 * that begin with a NUL. */
static const char *behind_empty_lines(const char *at, const char *end)
{
    while (at < end && (*at == '\n' || (*at == '\r' && at + 1 < end && at[1] == '\n') ||
                        (*at == '\0' && MHD_VERSION < 0x01000000))) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        at = feed ? feed + 1 : end;
    }
    return at;
}

/* As it was sent. */
static void check_head(void)
{
    const char *at = (const char *)sent;
    const char *end = at + sent_size;
    unsigned lengths = 0, encodings = 0, hosts = 0;
    int fields = 0;
    size_t length;

    if (MHD_VERSION < 0x01000000 && is_blind_spot())
        return;
    at = behind_empty_lines(at, end);
    const char *line = take_line(&at, end, &length);
    check_line(line, length);
    for (line = take_line(&at, end, &length); length > 0; line = take_line(&at, end, &length)) {
        FUZZ_HOLDS(line[0] != ' ' && line[0] != '\t' && memchr(line, ':', length));
        fields++;
        lengths += is_named(line, length, "Content-Length");
        encodings += is_named(line, length, "Transfer-Encoding");
        hosts += is_named(line, length, "Host");
    }
    FUZZ_HOLDS(fields == look.fields);
    FUZZ_HOLDS(lengths == look.headers.lengths && encodings == look.headers.encodings);
    FUZZ_HOLDS(lengths + encodings <= 1 && hosts == look.headers.hosts && hosts <= 1);
}

static void check_key(void)
{
    char quoted[2 * ORDER_KEY_MAX + 3], again[ORDER_KEY_MAX + 1];
    struct problem problem;
    size_t n = 0;

    quoted[n++] = '"';
    for (const char *at = look.key; *at; at++) {
        FUZZ_HOLDS(*at > ' ' && *at < 0x7f);
        if (*at == '"' || *at == '\\')
            quoted[n++] = '\\';
        quoted[n++] = *at;
    }
    quoted[n++] = '"';
    const struct headers headers = {.keys = 1, .key = quoted, .key_length = n};
    FUZZ_HOLDS(reader_key(&headers, again, &problem) && strcmp(look.key, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct MHD_Daemon *daemon;

    if (!daemon)
        daemon = start();
    look = (struct look){.target = NULL};
    sent = data;
    sent_size = size;
    send_all(daemon, data, size);
    if (look.passed) {
        check_head();
        if (look.headers.keys > 0)
            check_key();
    }
    free(look.target);
    return 0;
}
