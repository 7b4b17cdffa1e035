/*
 * PostgreSQL's protocol, version 3. A message is a letter, four bytes of length (with themselves)
 * and a body; before the startup message is through, those of the client have no letter.
 *
 * A reply is all that comes up to a ReadyForQuery: each Sync, plain query and function call brings
 * one, in a pipeline too. What a statement outside of BEGIN and COMMIT wrote is committed then, and
 * not where its CommandComplete says that it was done.
 */
#include "loadtest/relay/wire.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <strings.h>

enum {
    LENGTH_BYTES = 4,
    MESSAGE_MAX = 1 << 30,
    CANCEL = 80877102, /* the codes of a first message that is no startup message */
    WANTS_TLS = 80877103,
    WANTS_GSS = 80877104
};

static uint32_t number_at(const char *bytes)
{
    uint32_t number;

    memcpy(&number, bytes, sizeof number);
    return ntohl(number);
}

/* Reads the next message's header, or a part of it; answers how much it has read. */
static size_t read_header(struct wire *wire, struct wire_message *message, bool typed,
                          const char *bytes, size_t length)
{
    size_t whole = LENGTH_BYTES + (size_t)typed;
    size_t taken = 0;

    while (taken < length && message->line_length < whole)
        message->line[message->line_length++] = bytes[taken++];
    if (message->line_length < whole)
        return taken;
    uint32_t said = number_at(message->line + typed);
    wire->blind |= said < LENGTH_BYTES || said > MESSAGE_MAX;
    message->left = said - LENGTH_BYTES;
    message->in_body = true;
    message->head_length = 0;
    return taken;
}

/* The first messages of a session, until one of them starts it. */
static void read_startup(struct wire *wire, const struct wire_message *message)
{
    uint32_t code = message->head_length >= LENGTH_BYTES ? number_at(message->head) : CANCEL;

    if (code == WANTS_TLS || code == WANTS_GSS)
        wire->raw_bytes++;
    else if (code == CANCEL)
        wire->blind = true;
    else
        wire->begun = true;
}

static enum wire_end end_request(struct wire *wire, const struct wire_message *message)
{
    if (wire->begun)
        return strchr("SQF", message->line[0]) ? WIRE_REQUEST : WIRE_PART;
    read_startup(wire, message);
    return WIRE_LOOSE;
}

/* "INSERT 0 5", "UPDATE 2" with no 0 at its end. */
static bool tells_of_rows(const char *tag)
{
    static const char *const writes[] = {"INSERT ", "UPDATE ", "DELETE ", "MERGE "};

    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        if (strncmp(tag, writes[i], strlen(writes[i])) == 0)
            return strtoll(strrchr(tag, ' '), NULL, 10) > 0;
    }
    return false;
}

/* ReadyForQuery. */
static enum wire_end end_reply(struct wire *wire, char status)
{
    bool alone = !wire->in_transaction && status == 'I' && !wire->reply.failed;
    bool first = !wire->greeted;

    wire->reply.committed |= (alone && wire->reply.wrote);
    wire->in_transaction = status != 'I';
    wire->greeted = true;
    return first ? WIRE_LOOSE : WIRE_REPLY;
}

static enum wire_end end_part(struct wire *wire, const struct wire_message *message)
{
    switch (message->line[0]) {
    case 'C':
        wire->reply.committed |= strcmp(message->head, "COMMIT") == 0;
        wire->reply.wrote |= tells_of_rows(message->head);
        break;
    case 'E':
        wire->reply.failed = true;
        break;
    case 'W':
        wire->blind = true;
        break; /* CopyBothResponse: a stream of another kind */
    case 'Z':
        return end_reply(wire, message->head[0]);
    default:
        break;
    }
    /* CopyInResponse: the client has to go on before the reply does. */
    return !wire->greeted || message->line[0] == 'G' ? WIRE_LOOSE : WIRE_PART;
}

static size_t feed(struct wire *wire, enum relay_stream stream, const char *bytes, size_t length,
                   enum wire_end *end)
{
    struct wire_message *message = &wire->messages[stream];
    bool typed = stream == RELAY_DOWNSTREAM || wire->begun;
    size_t at = 0;

    if (stream == RELAY_DOWNSTREAM && wire->raw_bytes > 0) {
        wire->raw_bytes--;
        wire->blind = bytes[0] != 'N';
        *end = WIRE_LOOSE;
        return 1;
    }
    if (!message->in_body)
        at = read_header(wire, message, typed, bytes, length);
    if (!message->in_body || wire->blind)
        return wire->blind ? length : at;
    uint64_t here = length - at < message->left ? length - at : message->left;
    wire_keep(message, bytes + at, (size_t)here);
    message->left -= here;
    if (message->left == 0) {
        message->in_body = false;
        message->line_length = 0;
        *end = stream == RELAY_UPSTREAM ? end_request(wire, message) : end_part(wire, message);
    }
    return at + (size_t)here;
}

static bool is(const struct wire *wire, const char *what)
{
    const struct wire_message *request = &wire->messages[RELAY_UPSTREAM];
    const char *head = request->head;

    switch (request->line[0]) {
    case 'Q':
        return strcasestr(head, what) != NULL;
    case 'P':
        return !head[0] && strncasecmp(head + 1, what, strlen(what)) == 0;
    case 'B': { /* the statement's name stands behind the portal's */
        size_t portal = strlen(head) + 1;
        return portal <= request->head_length && strcasecmp(head + portal, what) == 0;
    }
    default:
        return false;
    }
}

const struct wire_protocol wire_postgres = {.feed = feed, .is = is};
