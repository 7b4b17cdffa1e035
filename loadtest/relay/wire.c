/* See wire.h: the bytes go to the row of their protocol; and what all do with a message: its head
 * is kept, a reply takes its request's marks. */
#include "loadtest/relay/wire.h"

#include <string.h>

void wire_init(struct wire *wire, const struct wire_protocol *protocol)
{
    memset(wire, 0, sizeof *wire);
    wire->protocol = protocol;
    wire->blind = !protocol;
    wire->transaction = 'I';
}

size_t wire_feed(struct wire *wire, enum relay_stream stream, const char *bytes, size_t length,
                 struct wire_seen *seen)
{
    *seen = (struct wire_seen){.message = false};
    if (wire->blind)
        return length;
    return wire->protocol->feed(wire, stream, bytes, length, seen);
}

bool wire_is(const struct wire *wire, const char *what)
{
    return wire->protocol->is(wire, what);
}

void wire_note_request(struct wire *wire, const struct wire_seen *seen, bool marked, bool held)
{
    wire->marks |= (marked ? WIRE_MARKED : 0) | (held ? WIRE_HELD : 0);
    if (!seen->asks)
        return;
    wire->blind |= wire->count == WIRE_PENDING_MAX;
    if (!wire->blind)
        wire->pending[(wire->first + wire->count++) % WIRE_PENDING_MAX] = wire->marks;
    wire->marks = 0;
}

void wire_pop(struct wire *wire, struct wire_seen *seen)
{
    if (wire->count == 0) {
        wire->blind = true; /* a reply that nobody has asked for */
        return;
    }
    unsigned char marks = wire->pending[wire->first];
    wire->first = (wire->first + 1) % WIRE_PENDING_MAX;
    wire->count--;
    seen->marked = (marks & WIRE_MARKED) != 0;
    seen->held = (marks & WIRE_HELD) != 0;
}

void wire_keep(struct wire_message *message, const char *bytes, size_t length)
{
    size_t room = WIRE_HEAD_BYTES - message->head_length;
    size_t taken = length < room ? length : room;

    memcpy(message->head + message->head_length, bytes, taken);
    message->head_length += taken;
    message->head[message->head_length] = '\0';
}
