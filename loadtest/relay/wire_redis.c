/*
 * Redis's protocol, RESP2 and RESP3. A command is an array of bulk strings, or one line; a reply is
 * a line, a bulk string, or an array of replies. Each command has one reply, in its turn.
 *
 * A connection that subscribes, monitors or replicates is sent what it has not asked for: from
 * there on it is blind.
 */
#include "loadtest/relay/wire.h"

#include <stdlib.h>
#include <strings.h>

enum { CRLF_BYTES = 2, BULK_MAX = 1 << 30 };

/* Reads the next line, or a part of it, without its end; answers how much it has read. `whole` when
 * the line has ended. Of one that is too long the beginning is kept. */
static size_t read_line(struct wire_message *message, const char *bytes, size_t length, bool *whole)
{
    const char *end = memchr(bytes, '\n', length);
    size_t taken = end ? (size_t)(end - bytes) + 1 : length;

    for (size_t i = 0; i < taken && message->line_length < WIRE_LINE_BYTES - 1; i++) {
        if (bytes[i] != '\r' && bytes[i] != '\n')
            message->line[message->line_length++] = bytes[i];
    }
    message->line[message->line_length] = '\0';
    *whole = end != NULL;
    return taken;
}

/* One element is complete; true when all is. */
static bool end_element(struct wire_message *message)
{
    while (message->depth > 0 && --message->nested[message->depth - 1] == 0)
        message->depth--;
    return message->depth == 0;
}

/* An array of so many has begun; true when all is complete, because it is empty. */
static bool begin_array(struct wire *wire, struct wire_message *message, int64_t elements)
{
    if (elements <= 0)
        return end_element(message);
    wire->blind |= message->depth == WIRE_DEPTH_MAX;
    if (!wire->blind)
        message->nested[message->depth++] = elements;
    return false;
}

static bool begin_bulk(struct wire *wire, struct wire_message *message, int64_t bytes)
{
    if (bytes < 0)
        return end_element(message);
    wire->blind |= bytes > BULK_MAX;
    message->left = (uint64_t)bytes + CRLF_BYTES;
    message->in_body = true;
    return false;
}

/* A line of a command: true when it is all of it. */
static bool end_command_line(struct wire *wire, struct wire_message *message)
{
    int64_t number = strtoll(message->line + (message->line_length > 0), NULL, 10);

    if (message->depth > 0)
        return begin_bulk(wire, message, number);
    message->head_length = 0;
    message->head[0] = '\0';
    if (message->line[0] == '*') {
        if (number > 0) /* an empty one has no reply */
            begin_array(wire, message, number);
        return false;
    }
    wire_keep(message, message->line, message->line_length);
    return message->line_length > 0;
}

static bool end_reply_line(struct wire *wire, struct wire_message *message)
{
    int64_t number = strtoll(message->line + (message->line_length > 0), NULL, 10);

    if (message->depth == 0) {
        wire->reply.failed = message->line[0] == '-' || message->line[0] == '!';
        wire->reply.refused = message->line[0] == '_' || strcmp(message->line, "$-1") == 0 ||
                              strcmp(message->line, ":0") == 0;
    }
    switch (message->line[0]) {
    case '+':
    case '-':
    case ':':
    case '_':
    case ',':
    case '#':
    case '(':
        return end_element(message);
    case '$':
    case '=':
    case '!':
        return begin_bulk(wire, message, number);
    case '*':
    case '~':
        return begin_array(wire, message, number);
    case '%':
        return begin_array(wire, message, 2 * number);
    default:
        wire->blind = true;
        return false; /* a push, an attribute, or no Redis */
    }
}

/* A bulk string, or a part of it; true when all is complete. */
static bool read_bulk(struct wire_message *message, enum relay_stream stream, const char *bytes,
                      size_t length, size_t *taken)
{
    *taken = length < message->left ? length : (size_t)message->left;
    size_t text = message->left > CRLF_BYTES ? (size_t)message->left - CRLF_BYTES : 0;

    if (stream == RELAY_UPSTREAM)
        wire_keep(message, bytes, *taken < text ? *taken : text);
    message->left -= *taken;
    if (message->left > 0)
        return false;
    message->in_body = false;
    if (stream == RELAY_UPSTREAM)
        wire_keep(message, " ", 1);
    return end_element(message);
}

static bool begins(const struct wire_message *message, const char *word, bool whole)
{
    size_t length = strlen(word);

    return strncasecmp(message->head, word, length) == 0 &&
           (!whole || strchr(" \r", message->head[length]) != NULL);
}

static bool is_eval(const struct wire_message *command)
{
    return begins(command, "EVAL", false) || begins(command, "FCALL", false);
}

static enum wire_end end_command(struct wire *wire)
{
    static const char *const streams[] = {"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE",  "MONITOR",
                                          "SYNC",      "PSYNC",      "CLIENT REPLY"};
    const struct wire_message *command = &wire->messages[RELAY_UPSTREAM];

    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        wire->blind |= begins(command, streams[i], true);
    return WIRE_REQUEST;
}

static size_t feed(struct wire *wire, enum relay_stream stream, const char *bytes, size_t length,
                   enum wire_end *end)
{
    struct wire_message *message = &wire->messages[stream];
    bool whole = false, complete = false;
    size_t taken = 0;

    if (message->in_body) {
        complete = read_bulk(message, stream, bytes, length, &taken);
    } else {
        taken = read_line(message, bytes, length, &whole);
        if (whole)
            complete = stream == RELAY_UPSTREAM ? end_command_line(wire, message)
                                                : end_reply_line(wire, message);
        message->line_length = whole ? 0 : message->line_length;
    }
    if (complete)
        *end = stream == RELAY_UPSTREAM ? end_command(wire) : WIRE_REPLY;
    return wire->blind ? length : taken;
}

static bool is(const struct wire *wire, const char *what)
{
    const struct wire_message *command = &wire->messages[RELAY_UPSTREAM];

    if (strcasecmp(what, "EVAL") == 0)
        return is_eval(command);
    return begins(command, what, true);
}

const struct wire_protocol wire_redis = {.feed = feed, .is = is};
