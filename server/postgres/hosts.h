/*
 * Where PostgreSQL may be: what the conninfo, the service file and the environment name, host by
 * host.
 *
 * libpq tries several hosts in turn, but goes on to the next only when the one before refuses: one
 * that accepts and says nothing would keep a non-blocking connect for as long as it lasts, and so
 * would one of several addresses behind a name. So each address is a connect of its own here, with
 * a share of the time.
 */
#ifndef SECKILL_POSTGRES_HOSTS_H
#define SECKILL_POSTGRES_HOSTS_H

#include "base/error.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

struct hosts;

enum { HOST_NAME_SIZE = 256, HOST_ADDRESS_SIZE = 64, HOST_PORT_SIZE = 8, HOST_ADDRESSES_MAX = 16 };

/* One address to try. */
struct host_address {
    char name[HOST_NAME_SIZE];       /* a host's name, or a socket's folder; "": libpq's default */
    char address[HOST_ADDRESS_SIZE]; /* numeric; "": of a socket in a folder */
    char port[HOST_PORT_SIZE];
};

/* Reads and resolves nothing; NULL: the conninfo cannot be read. Owned; hosts_destroy allows NULL.
 */
struct hosts *hosts_create(const char *conninfo, struct error *error);
void hosts_destroy(struct hosts *hosts);

/* Every address, in the order in which they are to be tried: the one that was reached last comes
 * first. Resolves names as libpq does. How many; 0: *error says why. Any thread, and so the rest.
 */
int hosts_list(struct hosts *hosts, struct host_address list[HOST_ADDRESSES_MAX],
               struct error *error);
void hosts_reached(struct hosts *hosts, const struct host_address *address);

/* What target_session_attrs asks for; then, when no address offers it, "any" or NULL for nothing
 * else. */
const char *hosts_wanted(const struct hosts *hosts, int addresses);
const char *hosts_accepted(const struct hosts *hosts, int addresses);
/* connect_timeout, for one address; INT64_MAX: none is set. */
int64_t hosts_timeout_us(const struct hosts *hosts);

/* Begins to connect, without waiting; PQfinish. NULL: out of memory. `application` is the session's
 * name where the conninfo gives none. */
PGconn *hosts_connect(const struct hosts *hosts, const struct host_address *address,
                      const char *attributes, const char *application);

#endif
