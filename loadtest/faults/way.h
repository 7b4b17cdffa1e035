/*
 * The ways from the servers to their backends: a relay before each that a fault wants to meet, or
 * that is to be further away, and the address that the servers are given instead.
 *
 * A relay adds some tens of microseconds by itself, at a delay of 0 too: compare with that, not
 * with the backend itself.
 */
#ifndef SECKILL_LOADTEST_FAULTS_WAY_H
#define SECKILL_LOADTEST_FAULTS_WAY_H

#include "loadtest/relay/relay.h"

struct way {
    struct relay *relay; /* owned; NULL: none */
    char address[600];   /* for the servers: a conninfo or a URL */
};

/* A relay before PostgreSQL, whose conninfo is as libpq writes it: of a unix socket, or of a host
 * that resolves. *conninfo becomes the way's address, which is so much farther away; 0: as near as
 * a relay is. */
bool way_before_postgres(struct way *way, const char **conninfo, int64_t round_trip_us,
                         struct error *error);
/* The same before a Redis: unix:///PATH, or redis://[user:password@]HOST:PORT[/DB] with an address
 * of digits. */
bool way_before_redis(struct way *way, const char **url, int64_t round_trip_us,
                      struct error *error);
void way_close(struct way *way);

/* Half of the round trip in each direction, from now on. */
bool way_delay(struct way *way, int64_t round_trip_us, struct error *error);

#endif
