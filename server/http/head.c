/*
 * What libmicrohttpd does with a connection's memory, and what it does not say of a request's head.
 *
 * Memory. The first half of the pool is the buffer that it reads into; the head stays there, and
 * what follows it is read behind it: the body in pieces, and then whatever the client has sent
 * ahead. From the end of the pool comes an entry for each field. The reply's head is built last, in
 * the room between the two. When that does not fit, the connection is closed without a byte, and
 * the order is committed. So all of it is reckoned up before anything is done. libmicrohttpd itself
 * refuses (414, 431) only what it cannot even read.
 *
 * A buffer that is full is enlarged: in 0.9.75 by 187 bytes, in 1.0 by an eighth of what is free.
 * That is half of the pool at most, less the entries that are there already, and the fields of
 * those that are not, of 4 bytes at least, come in what the buffer gains. So it never reaches
 * further beyond the head than an eighth of the half, less a sixteenth of all entries.
 *
 * Cookie and query are taken apart and kept in entries of their own, the Cookie as a copy, for
 * nobody: so an empty Cookie of ours comes first, and the query is cut off. 1.0.1 would also crash
 * at a long head that ends with a parameter without a value.
 *
 * A head that another server would read otherwise:
 *
 *   in the head                 0.9.75                   1.0      here
 *   a NUL in a field's value    ends the value           refuses  refused
 *   a folded field              unfolds it               refuses  refused
 *   a lone LF                   ends the line            refuses  refused, but see below
 *   HTTP/1.1 without a Host     answers, the head twice  answers  a Host of ours comes first
 *   a length that is no number  answers, the head twice  answers  one of ours first; refused
 *   a blank behind the length   calls it no number                the blank goes before it
 *
 * Both versions leave the head where it was read and write NULs over the ends of names, values and
 * lines: so the bytes between one part and the next show whether anything was passed over. Under
 * the NULs of 0.9.75 a lone LF looks like a CRLF beside a NUL, as the empty line behind a NUL and a
 * CRLF, and beside a line that is nothing but a colon, at which 0.9.75 ends the head. A line before
 * the request's that begins with a NUL is an empty one to 0.9.75, and is not seen either.
 *
 * Both look at the first field of a name: so our Host and length are put before the request's
 * fields. A head that comes in pieces is not looked through: there libmicrohttpd does as it does.
 */
#include "http/head.h"

#include <string.h>
#include <strings.h>

enum {
    HALF = HEAD_MEMORY_BYTES / 2,
    ENTRY_BYTES = 64, /* struct MHD_HTTP_Header, aligned; the same in 0.9.75 and 1.0 */
    BEFORE_1_0 = MHD_VERSION < 0x01000000,
    COOKIE_BYTES = BEFORE_1_0 ? 16 : 0, /* a copy of ours, aligned */
    GAINED_BYTES = 187,
    ROUNDING_BYTES = 4,
    VERSION_LENGTH = 8 /* HTTP/1.1 */
};

bool head_target_fits(const char *target, struct problem *problem)
{
    size_t length = strlen(target);
    int parameters = 0;

    for (const char *at = target; (at = strchr(at, '&')); at++)
        parameters++;
    if (length > HEAD_TARGET_MAX || parameters >= HEAD_PARAMETERS_MAX)
        return problem_set(problem, 414, "invalid_header", NULL,
                           "A target may have %d bytes and %d parameters at most.", HEAD_TARGET_MAX,
                           HEAD_PARAMETERS_MAX);
    return true;
}

bool head_too_large(struct problem *problem)
{
    return problem_set(problem, 431, "invalid_header", NULL,
                       "The header fields are too long or too many; 8 KiB and 100 are served.");
}

/* Our planted fields are known by the addresses of their names. */
static const char host_name[] = "Host";
static const char length_name[] = "Content-Length";
static const char cookie_name[] = "Cookie";

static bool is_planted(const char *name)
{
    return name == host_name || name == length_name || name == cookie_name;
}

/* 1.0.1 takes the end of the last value for the end of the head, so each is a part of the head. */
static bool plant(struct MHD_Connection *mhd, const char *name, const char *value, size_t length)
{
    return MHD_set_connection_value_n(mhd, MHD_HEADER_KIND, name, strlen(name), value, length) ==
           MHD_YES;
}

/* Behind the request's line, of whose end libmicrohttpd has overwritten one character or both. */
static const char *first_field(const char *target)
{
    const char *at = target + strlen(target) + 1 + VERSION_LENGTH;

    for (int i = 0; i < 2 && (*at == '\0' || *at == '\r' || *at == '\n'); i++)
        at++;
    return at;
}

/* The value of the first Content-Length, if its line is there; what has not been read yet is NULs.
 */
static char *find_length(const char *line)
{
    static const char name[] = "content-length:";
    char *value;

    while (strncasecmp(line, name, sizeof name - 1) != 0) {
        line = strchr(line, '\n');
        if (!line)
            return NULL;
        line++;
        if (*line == '\r' || *line == '\n')
            return NULL;
    }
    value = strchr(line, ':') + 1;
    value += strspn(value, " \t");
    return value[strcspn(value, "\r\n")] != '\0' ? value : NULL;
}

/* A digit of the version is as good a length as any. */
static void plant_length(struct MHD_Connection *mhd, const char *end, char *value)
{
    size_t length = strspn(value, "0123456789");
    size_t blanks = strspn(value + length, " \t");

    if (length == 0 || length > READER_LENGTH_DIGITS || !strchr("\r\n", value[length + blanks])) {
        plant(mhd, length_name, end + VERSION_LENGTH, 1);
    } else if (blanks > 0) {
        memmove(value + blanks, value, length);
        memset(value, ' ', blanks);
    }
}

void head_plant(struct MHD_Connection *mhd, const char *target)
{
    const char *end = target + strlen(target);
    char *query = strchr(target, '?');
    char *value = NULL;

    /* Its entry is at the end of the memory and has NULs in it: the search ends there. */
    if (plant(mhd, host_name, end, 0))
        value = find_length(first_field(target));
    if (value)
        plant_length(mhd, end, value);
    plant(mhd, cookie_name, end, 0);
    if (query)
        query[1] = '\0'; /* libmicrohttpd has found the '?' already */
}

static enum MHD_Result take_field(void *cls, enum MHD_ValueKind kind, const char *name,
                                  size_t name_length, const char *value, size_t value_length)
{
    struct headers *headers = cls;

    (void)kind;
    headers->bad_length |= name == length_name;
    if (!is_planted(name))
        reader_header(headers, name, name_length, value ? value : "", value ? value_length : 0);
    return MHD_YES;
}

void head_fields(struct MHD_Connection *mhd, struct headers *headers)
{
    MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, take_field, headers);
}

size_t head_length(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

    return info ? info->header_size : 0;
}

bool head_fits(struct MHD_Connection *mhd, int *reply_room, struct problem *problem)
{
    int length = (int)head_length(mhd);
    /* libmicrohttpd's kinds are bits.
     * NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange) */
    enum MHD_ValueKind kinds = MHD_HEADER_KIND | MHD_COOKIE_KIND;
    int entries = MHD_get_connection_values(mhd, kinds, NULL, NULL) * ENTRY_BYTES + COOKIE_BYTES;
    int gained =
        BEFORE_1_0 ? GAINED_BYTES : HALF / 8 + HEAD_INCREMENT_BYTES + ROUNDING_BYTES - entries / 16;
    int ahead = HALF - length > gained ? HALF - length : gained;

    *reply_room = HEAD_MEMORY_BYTES - length - ahead - entries;
    return *reply_room >= HEAD_REPLY_BYTES || head_too_large(problem);
}

/* Whether nothing but a CRLF, and white space before it, stood there. 0.9.75 has overwritten both
 * of its characters, 1.0 the first character after the value. */
static bool is_line_end(const char *from, const char *to)
{
    if (to - from < 2 || from[0] != '\0')
        return false;
    if (to - from == 2 && from[1] == '\0')
        return true;
    for (from++; from < to - 1; from++)
        if (*from != ' ' && *from != '\t' && *from != '\r')
            return false;
    return *from == '\n';
}

struct walk {
    const char *end; /* of what has been seen */
    bool plain;
};

static enum MHD_Result follow(void *cls, enum MHD_ValueKind kind, const char *name,
                              size_t name_length, const char *value, size_t value_length)
{
    struct walk *walk = cls;

    (void)kind;
    (void)name_length;
    if (is_planted(name))
        return MHD_YES;
    walk->plain = value && is_line_end(walk->end, name);
    walk->end = value ? value + value_length : NULL;
    return walk->plain ? MHD_YES : MHD_NO;
}

/* Overwritten or not, there stood a CRLF. White space did where the head was ended at a line
 * without a name: what follows that is no body. */
static bool is_empty_line(const char *at)
{
    return (at[0] == '\0' || at[0] == '\r') && (at[1] == '\0' || at[1] == '\n');
}

static bool line_is_plain(const struct head_line *line)
{
    return line->target == line->method + strlen(line->method) + 1 &&
           line->version == line->target + line->target_length + 1;
}

/* Behind the last line is the empty one, of two characters. */
static bool ends_with_an_empty_line(const struct head_line *line, size_t length, const char *end)
{
    const char *empty = length > 0 ? line->method + length - 2 : NULL;

    return empty && is_line_end(end, empty) && is_empty_line(empty);
}

bool head_is_plain(struct MHD_Connection *mhd, const struct head_line *line,
                   struct problem *problem)
{
    struct walk walk = {.end = line->version + VERSION_LENGTH, .plain = line_is_plain(line)};

    if (walk.plain)
        MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, follow, &walk);
    /* 1.0 has looked at both line ends itself, and moves what it has read behind a long head over
     * them. */
    if (walk.plain && (!BEFORE_1_0 || ends_with_an_empty_line(line, head_length(mhd), walk.end)))
        return true;
    return problem_set(problem, 400, "invalid_header", NULL,
                       "A line of the head is folded, holds a NUL, or does not end with CRLF.");
}
