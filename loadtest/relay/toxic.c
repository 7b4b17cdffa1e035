/* See toxic.h. */
#include "loadtest/relay/toxic.h"

#include <string.h>

static const struct {
    const char *name;
    bool directed; /* one direction's */
    bool waits;    /* for a request or its reply */
    bool needs_amount;
} types[RELAY_TYPES] = {
    [RELAY_LATENCY] = {"latency", true, false, false},
    [RELAY_BANDWIDTH] = {"bandwidth", true, false, true},
    [RELAY_SLOW_CLOSE] = {"slow_close", true, false, false},
    [RELAY_TIMEOUT] = {"timeout", true, false, false},
    [RELAY_LIMIT_DATA] = {"limit_data", true, false, false},
    [RELAY_STALL] = {"stall", true, false, false},
    [RELAY_RESET_PEER] = {"reset_peer", false, false, false},
    [RELAY_DOWN] = {"down", false, false, false},
    [RELAY_REFUSE] = {"refuse", false, false, false},
    [RELAY_SWALLOW_REPLY] = {"swallow_reply", false, true, false},
    [RELAY_LOSE_REQUEST] = {"lose_request", false, true, false},
    [RELAY_HOLD_REQUEST] = {"hold_request", false, true, false},
};

const char *relay_type_name(enum relay_type type)
{
    return type < RELAY_TYPES ? types[type].name : "";
}

bool relay_type_is_directed(enum relay_type type)
{
    return type < RELAY_TYPES && types[type].directed;
}

bool relay_toxic_check(const struct relay_toxic *toxic, enum relay_protocol protocol,
                       struct error *error)
{
    const char *name = relay_type_name(toxic->type);

    if (!*name)
        return error_set(error, ERROR_INVALID, "there is no toxic %d", (int)toxic->type);
    if (toxic->amount < 0 || toxic->jitter_us < 0 || toxic->nth < 0)
        return error_set(error, ERROR_INVALID, "%s takes no negative number", name);
    if (types[toxic->type].needs_amount && toxic->amount == 0)
        return error_set(error, ERROR_INVALID, "%s needs an amount", name);
    if (!types[toxic->type].waits)
        return true;
    if (protocol == RELAY_BYTES)
        return error_set(error, ERROR_INVALID, "%s needs a protocol: this relay knows bytes alone",
                         name);
    if (!toxic->what || !*toxic->what)
        return error_set(error, ERROR_INVALID, "%s needs to be told what it waits for", name);
    if (strlen(toxic->what) >= RELAY_TEXT_SIZE ||
        (toxic->containing && strlen(toxic->containing) >= RELAY_TEXT_SIZE))
        return error_set(error, ERROR_INVALID, "%s waits for texts of %d bytes at most", name,
                         RELAY_TEXT_SIZE - 1);
    return true;
}
