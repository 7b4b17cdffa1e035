/*
 * The way to a backend fails, by a relay between the servers and it: the reply to a COMMIT is lost
 * after it was executed, or that of a command of Redis; PostgreSQL's replies are held up for longer
 * than an order's work may take; connections are reset. A server that lost the reply does not know
 * whether the command was done: it has to find out the order's outcome, never guess it.
 */
#include "loadtest/faults/fault.h"

#include "loadtest/faults/way.h"

#include <inttypes.h>
#include <stdio.h>

/* Whether the fault is made there, and there is a relay. */
static bool is_met(const struct fault_site *site, size_t way)
{
    unsigned of = way == FAULT_WAY_POSTGRES ? FAULT_RELAY_POSTGRES : FAULT_RELAY_REDIS;
    return (site->plan->fault->relays & of) && site->ways[way].relay;
}

/* The words in turn, as the strategies' first words to Redis are not the same. */
static bool begin(struct fault_site *site, const struct fault_event *event, struct error *error)
{
    const struct fault *fault = site->plan->fault;
    size_t words = 0;
    while (words < FAULT_WORDS_MAX && fault->words[words])
        words++;
    const struct relay_toxic toxic = {.type = fault->toxic,
                                      .stream = RELAY_DOWNSTREAM,
                                      .nth = 1 + (int64_t)event->victim,
                                      .what =
                                          words ? fault->words[(size_t)site->begun % words] : NULL};
    site->begun++;
    for (size_t i = 0; i < FAULT_WAYS; i++) {
        if (is_met(site, i) && !relay_set(site->ways[i].relay, &toxic, error))
            return false;
    }
    return true;
}

static bool heal(struct fault_site *site, const struct fault_event *event, struct error *error)
{
    (void)event, (void)error;
    for (size_t i = 0; i < FAULT_WAYS; i++) {
        if (is_met(site, i))
            relay_clear(site->ways[i].relay, site->plan->fault->toxic);
    }
    return true;
}

static bool did_it_bite(const struct fault_site *site, char evidence[FAULT_TEXT_SIZE])
{
    const struct fault *fault = site->plan->fault;
    int64_t count = 0;
    for (size_t i = 0; i < FAULT_WAYS; i++) {
        if (is_met(site, i))
            count += relay_count(site->ways[i].relay).bitten[fault->toxic];
    }
    snprintf(evidence, FAULT_TEXT_SIZE,
             "%zu times tried; %s %" PRId64 " times by the relay's count", site->count, fault->done,
             count);
    return count > 0;
}

static const struct fault_control guesses = {
    .name = "control-guess-commit", .strategy = "control-guess-commit", .needs_failpoints = true};

const struct fault fault_commit = {
    .name = "commit",
    .summary = "the reply to a COMMIT is lost after PostgreSQL has made it",
    .asks = FAULT_ASKS_MANY,
    .own = &guesses,
    .relays = FAULT_RELAY_POSTGRES,
    .settings = {.lease_ms = 1200,
                 .work_timeout_ms = 1000,
                 .work_ms = 5,
                 .events = 10,
                 .shortest_ms = 100,
                 .longest_ms = 200,
                 .gap_ms = 50,
                 .rest_ms = 1500},
    .begin = begin,
    .heal = heal,
    .did_it_bite = did_it_bite,
    .toxic = RELAY_SWALLOW_REPLY,
    .words = {"COMMIT"},
    .done = "a COMMIT's reply was swallowed",
};

const struct fault fault_reply = {
    .name = "reply",
    .summary = "the reply of Redis is lost after it has done what it was told",
    .asks = FAULT_ASKS_MANY,
    .controls = {"redis-setnx"},
    .relays = FAULT_RELAY_REDIS,
    .settings = {.lease_ms = 1200,
                 .work_timeout_ms = 1000,
                 .work_ms = 5,
                 .events = 12,
                 .shortest_ms = 100,
                 .longest_ms = 200,
                 .gap_ms = 50,
                 .rest_ms = 1500},
    .concerns = fault_needs_redis,
    .begin = begin,
    .heal = heal,
    .did_it_bite = did_it_bite,
    .toxic = RELAY_SWALLOW_REPLY,
    .words = {"SET", "SETNX", "EVAL"},
    .done = "the reply to SET, SETNX or a script was swallowed",
};

const struct fault fault_hold = {
    .name = "hold",
    .summary = "PostgreSQL's replies are held up for longer than an order's work may take",
    .asks = FAULT_ASKS_PAUSED, /* it is longer than the lease */
    /* It frees its lock without asking whose it is: when the holder comes back, the next one's. */
    .controls = {"redis-setnx"},
    .relays = FAULT_RELAY_POSTGRES,
    .settings = {.lease_ms = 600,
                 .work_timeout_ms = 500,
                 .work_ms = 5,
                 .events = 3,
                 .shortest_ms = 800,
                 .longest_ms = 1000,
                 .gap_ms = 400,
                 .rest_ms = 2000},
    .begin = begin,
    .heal = heal,
    .did_it_bite = did_it_bite,
    .toxic = RELAY_STALL,
    .done = "replies of PostgreSQL's were held up",
};

const struct fault fault_reset = {
    .name = "reset",
    .summary = "every connection to PostgreSQL and Redis is reset",
    .asks = FAULT_ASKS_MANY,
    .controls = {"redis-setnx"},
    .relays = FAULT_RELAY_POSTGRES | FAULT_RELAY_REDIS,
    /* So much longer than the work that no pause of a busy machine outlasts it, which is another
     * column's. */
    .settings = {.lease_ms = 3000,
                 .work_timeout_ms = 1000,
                 .work_ms = 5,
                 .events = 6,
                 .shortest_ms = 20,
                 .longest_ms = 100,
                 .gap_ms = 300,
                 .rest_ms = 3500},
    .begin = begin,
    .heal = heal,
    .did_it_bite = did_it_bite,
    .toxic = RELAY_RESET_PEER,
    .done = "a connection was reset",
};
