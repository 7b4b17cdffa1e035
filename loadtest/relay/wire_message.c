/* What both protocols do with a message: its head is kept, a reply takes its request's marks. */
#include "loadtest/relay/wire.h"

#include <string.h>

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
