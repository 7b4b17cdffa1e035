/*
 * The renewer: keeps the leases of a process alive, from one thread with a Redis session of its
 * own.
 *
 * A lease is renewed every third of its length by its lock's script, which checks the owner, until
 * its cap (renew_until_us), so that work that hangs does not keep a lock for ever. When the owner
 * check fails, or no renewal has been confirmed by the time the lease ends, the lease is marked
 * lost; the holder looks before each piece of work. As in Redisson's watchdog, but the holder
 * learns of the loss. Any thread; the lease belongs to its holder again when renewer_forget
 * returns.
 */
#ifndef SECKILL_LOCK_RENEWER_H
#define SECKILL_LOCK_RENEWER_H

#include "lock/lock.h"

struct redis_server;
struct renewer;

struct renewer *renewer_create(struct redis_server *server, const struct settings *settings);
/* From now on until renewer_forget the lease is renewed; it must not move or be freed. Any thread.
 */
void renewer_watch(struct renewer *renewer, struct lease *lease);
void renewer_forget(struct renewer *renewer, struct lease *lease);
void renewer_destroy(struct renewer *renewer); /* NULL is allowed */

#endif
