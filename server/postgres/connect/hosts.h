/*
 * Where PostgreSQL may be: what the conninfo, the service file and the environment name, host by
 * host.
 *
 * libpq tries several hosts in turn, but goes on to the next only when the one before refuses: one
 * that accepts and says nothing would keep a non-blocking connect for as long as it lasts, and so
 * would one of several addresses behind a name. So each address is a connect of its own here, with
 * a share of the time.
 *
 * A name is looked up when its turn comes, with a share of the time, too: a name server that is
 * silent costs the hosts that have a name their share, and no other. The address that was reached
 * last stands first and needs no look-up.
 */
#ifndef SECKILL_POSTGRES_HOSTS_H
#define SECKILL_POSTGRES_HOSTS_H

#include "base/connect/resolver.h"
#include "base/error.h"

#include <libpq-fe.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct hosts;

enum { HOST_PORT_SIZE = 8, HOST_ADDRESSES_MAX = 16 };

/* One address to try. */
struct host_address {
    char name[RESOLVER_NAME_SIZE]; /* a host's name, or a socket's folder; "": libpq's default */
    char
        address[RESOLVER_ADDRESS_SIZE]; /* numeric; "": of a socket in a folder, or not known yet */
    char port[HOST_PORT_SIZE];
};

/* What one connect goes through: the thread's that connects. */
struct host_walk {
    struct hosts *hosts;
    struct host_address list[HOST_ADDRESSES_MAX];
    int count;
    bool several; /* there may be more than one address */
};

/* Reads and resolves nothing; NULL: the conninfo cannot be read. Owned; hosts_destroy allows NULL.
 */
struct hosts *hosts_create(const char *conninfo, struct error *error);
void hosts_destroy(struct hosts *hosts);

/* After a login that was refused: reads the password again where the conninfo is from a file
 * (SECKILL_DATABASE_FILE). True: it is another one, and the next connect has it. */
bool hosts_read_password(struct hosts *hosts);

/* The hosts in the order in which they are to be tried: the address that was reached last, then as
 * they are given, or by chance (load_balance_hosts). Looks nothing up. Any thread, and so the rest.
 */
void hosts_walk(struct hosts *hosts, struct host_walk *walk);
/* Whether this host has to be looked up. */
bool hosts_is_name(const struct host_address *host);
/* Puts what is behind host i's name into its place, less what has a place of its own; nothing
 * when that fails (resolver_ask). */
bool hosts_resolve(struct host_walk *walk, int i, int64_t until_us, const atomic_bool *stopped,
                   struct error *error);
void hosts_reached(struct hosts *hosts, const struct host_address *address);
/* The address that was reached last is to be tried last, until one is reached again: it answers,
 * and sells nothing. */
void hosts_leave(struct hosts *hosts);

/* An address to ask beside `here`, one of them in turn; false: it is not this one's turn, or it
 * cannot be found in time. */
bool hosts_other(struct hosts *hosts, const struct host_address *here, int turn, int64_t until_us,
                 struct host_address *out);

/* What target_session_attrs asks for, of the hosts as far as they are known; then, when no address
 * offers it, "any" or NULL for nothing else. */
const char *hosts_wanted(const struct host_walk *walk);
const char *hosts_accepted(const struct host_walk *walk);
/* connect_timeout, for one address; INT64_MAX: none is set. */
int64_t hosts_timeout_us(const struct hosts *hosts);

/* Begins to connect, without waiting; PQfinish. NULL: out of memory. `application` is the session's
 * name where the conninfo gives none. */
PGconn *hosts_connect(struct hosts *hosts, const struct host_address *address,
                      const char *attributes, const char *application);

#endif
