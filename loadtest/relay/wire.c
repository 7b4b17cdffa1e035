/* See wire.h: the bytes go to the row of their protocol. */
#include "loadtest/relay/wire.h"

#include <string.h>

void wire_init(struct wire *wire, enum relay_protocol protocol)
{
    memset(wire, 0, sizeof *wire);
    wire->protocol = protocol;
    wire->blind = protocol == RELAY_BYTES;
    wire->transaction = 'I';
}

static const struct wire_protocol *protocol_of(const struct wire *wire)
{
    return wire->protocol == RELAY_POSTGRES ? &wire_postgres : &wire_redis;
}

size_t wire_feed(struct wire *wire, enum relay_stream stream, const char *bytes, size_t length,
                 struct wire_seen *seen)
{
    *seen = (struct wire_seen){.message = false};
    if (wire->blind)
        return length;
    return protocol_of(wire)->feed(wire, stream, bytes, length, seen);
}

bool wire_is(const struct wire *wire, const char *what)
{
    return protocol_of(wire)->is(wire, what);
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
