/*
 * What a relay is told to do to its connections, and how often it has done it. The relay's mutex
 * guards it.
 */
#ifndef SECKILL_LOADTEST_RELAY_TOXICS_H
#define SECKILL_LOADTEST_RELAY_TOXICS_H

#include "loadtest/relay/wire.h"

/* Of the text that it waits for. */
enum { RELAY_TEXT_SIZE = 128 };

struct toxic {
    bool on;
    int64_t amount;
    int64_t since_us;
    /* For the types that wait for a request or a reply. */
    char what[RELAY_TEXT_SIZE];
    int64_t left; /* so many more have to match, the last one is met */
    bool then_refuse;
};

struct toxics {
    struct toxic of[RELAY_TYPES][2]; /* by direction; what has none stands in both */
    struct relay_counts counts;
};

/* False with the error when a relay of this protocol could make nothing of it. */
bool toxics_set(struct toxics *toxics, enum relay_protocol protocol,
                const struct relay_toxic *toxic, struct error *error);
void toxics_clear(struct toxics *toxics, enum relay_type type);

static inline const struct toxic *toxics_on(const struct toxics *toxics, enum relay_type type,
                                            enum relay_stream stream)
{
    return toxics->of[type][stream].on ? &toxics->of[type][stream] : NULL;
}

static inline void toxics_bite(struct toxics *toxics, enum relay_type type)
{
    toxics->counts.bitten[type]++;
}

/* us by which bytes that come now are to be passed on later. */
int64_t toxics_delay(struct toxics *toxics, enum relay_stream stream);

/* Whether the request that has just ended is what this type waits for; and whether it is the one
 * that was to be met, which is so once. */
bool toxics_wants(const struct toxics *toxics, enum relay_type type, const struct wire *wire);
bool toxics_meet(struct toxics *toxics, enum relay_type type, const struct wire *wire);
/* The same of the reply that has just ended, for which RELAY_SWALLOW_REPLY waits. */
bool toxics_meet_reply(struct toxics *toxics, const struct wire_seen *seen);

#endif
