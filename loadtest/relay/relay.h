/*
 * A relay between a server and what it depends on: it passes bytes on, and makes the way between
 * the two fail as it is told. One thread serves up to a thousand connections.
 *
 * A fault of the way is a toxic, with the name, the direction and the meaning that Toxiproxy gives
 * it where Toxiproxy has it too. What Toxiproxy has not needs the protocol: the k-th COMMIT or EVAL
 * is executed and its reply lost, or a request is lost, or held back on its way.
 *
 * Happy path: relay_start, the server is pointed at relay_address, relay_set for each fault,
 * relay_count until it has bitten, relay_clear, relay_stop.
 *
 * Every toxic counts how often it had an effect (struct relay_counts, bitten). One that stands at 0
 * has shown nothing: what was tried under it is no evidence.
 *
 * Failure modes:
 * - The target refuses or is away: the client's connection is closed.
 * - What cannot be followed (TLS, COPY BOTH, SUBSCRIBE, a request longer than its reply's place in
 *   the queue) is passed on unread: nothing in that connection is counted or matched any more.
 * - The kernel on both sides of a stalled relay still acknowledges: TCP keepalive never ends such a
 *   connection. A dead host needs another instrument.
 *
 * Thread rule: any thread may call any function but relay_stop, which comes last.
 *
 * Sources: Toxiproxy README, "Toxics"; PostgreSQL documentation, "Frontend/Backend Protocol",
 * Message Formats; Redis documentation, "Redis serialization protocol specification".
 */
#ifndef SECKILL_LOADTEST_RELAY_RELAY_H
#define SECKILL_LOADTEST_RELAY_RELAY_H

#include "base/error.h"
#include "loadtest/relay/toxic.h"

struct relay;

/* It listens at `path`, a unix socket's, at which nothing may be; NULL: at a free port of
 * 127.0.0.1. `target` is HOST:PORT, with an address of digits, or the /PATH of a unix socket. NULL
 * with the error. */
struct relay *relay_start(enum relay_protocol protocol, const char *path, const char *target,
                          struct error *error);
/* Ends its connections and its thread, removes its socket. NULL is allowed. */
void relay_stop(struct relay *relay);

/* Where it listens: the path, or "127.0.0.1:PORT". */
const char *relay_address(const struct relay *relay);

/* One of a type (and stream) at a time: a second one takes the first one's place. False when it
 * makes no sense. */
bool relay_set(struct relay *relay, const struct relay_toxic *toxic, struct error *error);
/* In both directions; what was kept goes on. */
void relay_clear(struct relay *relay, enum relay_type type);

/* The counts so far; none is ever set back. */
struct relay_counts relay_count(struct relay *relay);

#endif
