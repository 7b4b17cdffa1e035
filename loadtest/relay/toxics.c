/* See toxics.h. */
#include "loadtest/relay/toxics.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool toxics_set(struct toxics *toxics, enum relay_protocol protocol,
                const struct relay_toxic *toxic, struct error *error)
{
    if (!relay_toxic_check(toxic, protocol, error))
        return false;
    struct toxic set = {.on = true,
                        .amount = toxic->amount,
                        .jitter_us = toxic->jitter_us,
                        .since_us = clock_mono_us(),
                        .left = toxic->nth > 0 ? toxic->nth : 1,
                        .then_refuse = toxic->then_refuse};
    snprintf(set.what, sizeof set.what, "%s", toxic->what ? toxic->what : "");
    snprintf(set.containing, sizeof set.containing, "%s",
             toxic->containing ? toxic->containing : "");
    for (int stream = 0; stream < 2; stream++) {
        if (!relay_type_is_directed(toxic->type) || stream == (int)toxic->stream)
            toxics->of[toxic->type][stream] = set;
    }
    return true;
}

void toxics_clear(struct toxics *toxics, enum relay_type type)
{
    for (int i = 0; i < RELAY_TYPES; i++) {
        if (type == RELAY_TYPES || i == (int)type)
            toxics->of[i][0].on = toxics->of[i][1].on = false;
    }
}

int64_t toxics_delay(struct toxics *toxics, enum relay_stream stream)
{
    const struct toxic *latency = toxics_on(toxics, RELAY_LATENCY, stream);

    if (!latency)
        return 0;
    toxics_bite(toxics, RELAY_LATENCY);
    int64_t width_us = 2 * latency->jitter_us + 1;
    int64_t delay_us = latency->amount - latency->jitter_us + rand_r(&toxics->seed) % width_us;
    return delay_us > 0 ? delay_us : 0;
}

bool toxics_meet(struct toxics *toxics, enum relay_type type, bool is)
{
    struct toxic *toxic = &toxics->of[type][0];

    if (!toxic->on || !is || --toxic->left > 0)
        return false;
    if (toxic->then_refuse)
        toxics->of[RELAY_REFUSE][0].on = toxics->of[RELAY_REFUSE][1].on = true;
    toxics_clear(toxics, type);
    toxics_bite(toxics, type);
    return true;
}

bool toxics_wants(const struct toxics *toxics, enum relay_type type, const struct wire *wire)
{
    const struct toxic *toxic = toxics_on(toxics, type, RELAY_UPSTREAM);

    return toxic && wire_is(wire, toxic->what, *toxic->containing ? toxic->containing : NULL);
}

bool toxics_wants_reply(const struct toxics *toxics, const struct wire_seen *seen)
{
    const struct toxic *toxic = toxics_on(toxics, RELAY_SWALLOW_REPLY, RELAY_DOWNSTREAM);

    if (!toxic)
        return false;
    if (strcmp(toxic->what, "COMMIT") == 0 && !*toxic->containing)
        return seen->committed;
    return seen->marked && !seen->failed;
}
