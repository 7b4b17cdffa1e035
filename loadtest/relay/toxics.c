/* See toxics.h. */
#include "loadtest/relay/toxics.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    bool directed; /* one direction's */
    bool waits;    /* for a request or its reply */
} types[RELAY_TYPES] = {
    [RELAY_LATENCY] = {"latency", true, false},
    [RELAY_STALL] = {"stall", true, false},
    [RELAY_RESET_PEER] = {"reset_peer", false, false},
    [RELAY_REFUSE] = {"refuse", false, false},
    [RELAY_SWALLOW_REPLY] = {"swallow_reply", false, true},
    [RELAY_LOSE_REQUEST] = {"lose_request", false, true},
    [RELAY_HOLD_REQUEST] = {"hold_request", false, true},
};

static bool check(const struct relay_toxic *toxic, enum relay_protocol protocol,
                  struct error *error)
{
    if (toxic->type >= RELAY_TYPES)
        return error_set(error, ERROR_INVALID, "there is no toxic %d", (int)toxic->type);
    const char *name = types[toxic->type].name;
    if (toxic->amount < 0 || toxic->nth < 0)
        return error_set(error, ERROR_INVALID, "%s takes no negative number", name);
    if (!types[toxic->type].waits)
        return true;
    if (protocol == RELAY_BYTES)
        return error_set(error, ERROR_INVALID, "%s needs a protocol: this relay knows bytes alone",
                         name);
    if (!toxic->what || !*toxic->what)
        return error_set(error, ERROR_INVALID, "%s needs to be told what it waits for", name);
    return strlen(toxic->what) < RELAY_TEXT_SIZE ||
           error_set(error, ERROR_INVALID, "%s waits for texts of %d bytes at most", name,
                     RELAY_TEXT_SIZE - 1);
}

bool toxics_set(struct toxics *toxics, enum relay_protocol protocol,
                const struct relay_toxic *toxic, struct error *error)
{
    if (!check(toxic, protocol, error))
        return false;
    struct toxic set = {.on = true,
                        .amount = toxic->amount,
                        .since_us = clock_mono_us(),
                        .left = toxic->nth > 0 ? toxic->nth : 1,
                        .then_refuse = toxic->then_refuse};
    snprintf(set.what, sizeof set.what, "%s", toxic->what ? toxic->what : "");
    for (int stream = 0; stream < 2; stream++) {
        if (!types[toxic->type].directed || stream == (int)toxic->stream)
            toxics->of[toxic->type][stream] = set;
    }
    return true;
}

void toxics_clear(struct toxics *toxics, enum relay_type type)
{
    toxics->of[type][0].on = toxics->of[type][1].on = false;
}

int64_t toxics_delay(struct toxics *toxics, enum relay_stream stream)
{
    const struct toxic *latency = toxics_on(toxics, RELAY_LATENCY, stream);

    if (!latency)
        return 0;
    toxics_bite(toxics, RELAY_LATENCY);
    return latency->amount;
}

bool toxics_wants(const struct toxics *toxics, enum relay_type type, const struct wire *wire)
{
    const struct toxic *toxic = toxics_on(toxics, type, RELAY_UPSTREAM);

    return toxic && wire_is(wire, toxic->what);
}

/* One that it wants, which is met when it is the nth. */
static bool meet(struct toxics *toxics, enum relay_type type)
{
    struct toxic *toxic = &toxics->of[type][0];

    if (--toxic->left > 0)
        return false;
    if (toxic->then_refuse)
        toxics->of[RELAY_REFUSE][0].on = toxics->of[RELAY_REFUSE][1].on = true;
    toxics_clear(toxics, type);
    toxics_bite(toxics, type);
    return true;
}

bool toxics_meet(struct toxics *toxics, enum relay_type type, const struct wire *wire)
{
    return toxics_wants(toxics, type, wire) && meet(toxics, type);
}

bool toxics_meet_reply(struct toxics *toxics, const struct wire_seen *seen)
{
    const struct toxic *toxic = toxics_on(toxics, RELAY_SWALLOW_REPLY, RELAY_DOWNSTREAM);
    bool done = seen->marked && !seen->failed;

    if (toxic && strcmp(toxic->what, "COMMIT") == 0)
        done = seen->committed;
    else if (toxic && strcasecmp(toxic->what, "EVAL") != 0)
        done &= !seen->refused;
    return toxic && done && meet(toxics, RELAY_SWALLOW_REPLY);
}
