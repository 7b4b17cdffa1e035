/*
 * What libmicrohttpd does with a connection's memory, and what it does not say of a request's head.
 *
 * Memory. Half of the pool is the buffer that it reads into; the head stays there, and what follows
 * it is read behind it: the body in pieces, and then whatever the client has sent ahead. From the
 * other half come an entry for each field, cookie and query parameter, and a copy of the Cookie
 * field; what is left of it is where the reply's head is built, at the very end. When that does not
 * fit, the connection is closed without a byte, and the order is committed. So the two halves are
 * reckoned up before anything is done: the head must leave room in the first, and the entries in
 * the second. libmicrohttpd itself refuses (414, 431) only what it cannot even read.
 *
 * Content. 0.9.75 ends a field's value at a NUL, so that two values become one; it unfolds fields,
 * and takes a lone LF for a line's end. 1.0 refuses all of that. Both leave the head where it was
 * read and write NULs over the ends of names, values and lines: what stands between the end of one
 * part and the beginning of the next says whether anything was passed over. What 0.9.75 has
 * written NULs over cannot be told from a CRLF: a lone LF beside a NUL, or as the empty line behind
 * a NUL and a CRLF, and one beside a line that is nothing but a colon, at which it ends the head.
 * Nor is it known what stood in a line before the request's that began with a NUL: it takes that
 * for an empty one.
 *
 * Answers. Both versions answer by themselves where HTTP/1.1 names no Host, or a Content-Length is
 * no number, 0.9.75 with its head twice; to it a blank behind the number is part of it. The fields
 * that they look at are the first of their names: so a Host of ours is put before the request's
 * fields, and a length where the request's is none, with which it is refused here. Blanks are moved
 * before the number. A head that comes in pieces is not looked through: there libmicrohttpd does as
 * it does.
 */
#include "http/head.h"

#include <string.h>
#include <strings.h>

enum {
    HALF = HEAD_MEMORY_BYTES / 2,
    ENTRY_BYTES = 64,        /* struct MHD_HTTP_Header, aligned; the same in 0.9.75 and 1.0 */
    READ_BYTES_LEAST = 1536, /* below that libmicrohttpd enlarges the buffer for the body */
    REPLY_BYTES = 768,       /* all of our header fields together are shorter */
    VERSION_LENGTH = 8       /* HTTP/1.1 */
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

/* What is planted is known by the addresses of its names. */
static const char host_name[] = "Host";
static const char length_name[] = "Content-Length";

static bool is_planted(const char *name)
{
    return name == host_name || name == length_name;
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
        if (!line || *++line == '\r' || *line == '\n')
            return NULL;
    }
    value = strchr(line, ':') + 1;
    value += strspn(value, " \t");
    return value[strcspn(value, "\r\n")] != '\0' ? value : NULL;
}

void head_plant(struct MHD_Connection *mhd, const char *target)
{
    char *value = NULL;

    /* Its entry is at the end of the memory and has NULs in it: the search ends there. */
    if (MHD_set_connection_value(mhd, MHD_HEADER_KIND, host_name, "") == MHD_YES)
        value = find_length(first_field(target));
    if (!value)
        return;
    size_t length = strspn(value, "0123456789");
    size_t blanks = strspn(value + length, " \t");
    if (length == 0 || length > READER_LENGTH_DIGITS || !strchr("\r\n", value[length + blanks])) {
        MHD_set_connection_value(mhd, MHD_HEADER_KIND, length_name, "0");
    } else if (blanks > 0) {
        memmove(value + blanks, value, length);
        memset(value, ' ', blanks);
    }
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

bool head_fits(struct MHD_Connection *mhd, const struct headers *headers, struct problem *problem)
{
    size_t length = head_length(mhd);
    /* libmicrohttpd's kinds are bits.
     * NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange) */
    enum MHD_ValueKind kinds = MHD_HEADER_KIND | MHD_COOKIE_KIND | MHD_GET_ARGUMENT_KIND;
    int entries = MHD_get_connection_values(mhd, kinds, NULL, NULL);
    size_t copy = headers->cookies > 0 ? headers->cookie_length + ENTRY_BYTES : 0;

    if (length > 0 && length + READ_BYTES_LEAST <= HALF &&
        (size_t)entries * ENTRY_BYTES + copy + REPLY_BYTES <= HALF)
        return true;
    return head_too_large(problem);
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

bool head_is_plain(struct MHD_Connection *mhd, const struct head_line *line,
                   struct problem *problem)
{
    size_t length = head_length(mhd);
    struct walk walk = {.end = line->version + VERSION_LENGTH, .plain = line_is_plain(line)};

    if (walk.plain)
        MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, follow, &walk);
    /* Behind the last line is the empty one, of two characters. */
    const char *empty = length > 0 ? line->method + length - 2 : NULL;
    if (walk.plain && empty && is_line_end(walk.end, empty) && is_empty_line(empty))
        return true;
    return problem_set(problem, 400, "invalid_header", NULL,
                       "A line of the head is folded, holds a NUL, or does not end with CRLF.");
}
