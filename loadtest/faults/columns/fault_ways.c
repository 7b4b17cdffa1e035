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

static bool set(struct way *way, const struct relay_toxic *toxic, struct error *error)
{
    return !way->relay || relay_set(way->relay, toxic, error);
}

static void clear(struct fault_site *site, enum relay_type type)
{
    for (size_t i = 0; i < FAULT_WAYS; i++) {
        if (site->ways[i].relay)
            relay_clear(site->ways[i].relay, type);
    }
}

static int64_t bitten(const struct fault_trial *trial, enum relay_type type)
{
    int64_t sum = 0;
    for (size_t i = 0; i < FAULT_WAYS; i++) {
        if (trial->site->ways[i].relay)
            sum += relay_count(trial->site->ways[i].relay).bitten[type];
    }
    return sum;
}

static bool say_bitten(const struct fault_trial *trial, enum relay_type type, const char *what,
                       char evidence[FAULT_TEXT_SIZE])
{
    int64_t count = bitten(trial, type);
    snprintf(evidence, FAULT_TEXT_SIZE,
             "%zu times tried; %s %" PRId64 " times by the relay's count", trial->count, what,
             count);
    return count > 0;
}

static bool begin_commit(struct fault_site *site, const struct fault_event *event,
                         struct error *error)
{
    const struct relay_toxic toxic = {.type = RELAY_SWALLOW_REPLY,
                                      .stream = RELAY_DOWNSTREAM,
                                      .what = "COMMIT",
                                      .nth = 1 + (int64_t)event->victim};
    return set(&site->ways[FAULT_WAY_POSTGRES], &toxic, error);
}

static bool heal_swallow(struct fault_site *site, const struct fault_event *event,
                         struct error *error)
{
    (void)event, (void)error;
    clear(site, RELAY_SWALLOW_REPLY);
    return true;
}

static bool commit_bit(const struct fault_trial *trial, char evidence[FAULT_TEXT_SIZE])
{
    return say_bitten(trial, RELAY_SWALLOW_REPLY, "a COMMIT's reply was swallowed", evidence);
}

/* In turn, as the strategies' first words to Redis are not the same. */
static bool begin_reply(struct fault_site *site, const struct fault_event *event,
                        struct error *error)
{
    static const char *const commands[] = {"SET", "SETNX", "EVAL"};
    struct relay_toxic toxic = {
        .type = RELAY_SWALLOW_REPLY, .stream = RELAY_DOWNSTREAM, .nth = 1 + (int64_t)event->victim};
    toxic.what = commands[site->begun++ % (int64_t)(sizeof commands / sizeof commands[0])];
    for (size_t i = FAULT_WAY_REDIS; i < FAULT_WAYS; i++) {
        if (!set(&site->ways[i], &toxic, error))
            return false;
    }
    return true;
}

static bool reply_bit(const struct fault_trial *trial, char evidence[FAULT_TEXT_SIZE])
{
    return say_bitten(trial, RELAY_SWALLOW_REPLY,
                      "the reply to SET, SETNX or a script was swallowed", evidence);
}

static bool begin_hold(struct fault_site *site, const struct fault_event *event,
                       struct error *error)
{
    const struct relay_toxic toxic = {.type = RELAY_STALL, .stream = RELAY_DOWNSTREAM};
    (void)event;
    return set(&site->ways[FAULT_WAY_POSTGRES], &toxic, error);
}

static bool heal_hold(struct fault_site *site, const struct fault_event *event, struct error *error)
{
    (void)event, (void)error;
    clear(site, RELAY_STALL);
    return true;
}

static bool hold_bit(const struct fault_trial *trial, char evidence[FAULT_TEXT_SIZE])
{
    return say_bitten(trial, RELAY_STALL, "replies of PostgreSQL's were held up", evidence);
}

static bool begin_reset(struct fault_site *site, const struct fault_event *event,
                        struct error *error)
{
    const struct relay_toxic toxic = {.type = RELAY_RESET_PEER};
    (void)event;
    for (size_t i = 0; i < FAULT_WAYS; i++) {
        if (!set(&site->ways[i], &toxic, error))
            return false;
    }
    return true;
}

static bool heal_reset(struct fault_site *site, const struct fault_event *event,
                       struct error *error)
{
    (void)event, (void)error;
    clear(site, RELAY_RESET_PEER);
    return true;
}

static bool reset_bit(const struct fault_trial *trial, char evidence[FAULT_TEXT_SIZE])
{
    return say_bitten(trial, RELAY_RESET_PEER, "a connection was reset", evidence);
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
    .begin = begin_commit,
    .heal = heal_swallow,
    .did_it_bite = commit_bit,
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
    .begin = begin_reply,
    .heal = heal_swallow,
    .did_it_bite = reply_bit,
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
    .begin = begin_hold,
    .heal = heal_hold,
    .did_it_bite = hold_bit,
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
    .begin = begin_reset,
    .heal = heal_reset,
    .did_it_bite = reset_bit,
};
