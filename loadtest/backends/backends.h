/*
 * Servers to be killed, stopped, starved and failed over: a PostgreSQL and two Redis of one run's
 * own, with their doubles on request. scripts/stack.sh starts them in a folder of their own, and it
 * alone signals them, by ids that it has checked; nothing else on the machine is touched.
 *
 * Happy path: backends_start, the server is given backends_address (or a relay's that leads there),
 * a fault, backends_stop.
 *
 * A function that makes a fault returns when it has had its effect, as far as that is the server's:
 * stopped, gone, promoted, refusing. False, with the error, means that it was not made. Whether
 * anybody was met by it is for whoever counts the buyers' side to say.
 *
 * Failure modes: a server that does not come up, or not end, is an error with the end of its log.
 * One that outlives a harness that was killed is ended by `stack.sh --dir FOLDER down --purge`.
 *
 * Thread rule: one thread at a time.
 */
#ifndef SECKILL_LOADTEST_BACKENDS_BACKENDS_H
#define SECKILL_LOADTEST_BACKENDS_BACKENDS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct backends;

/* `script` is scripts/stack.sh; `folder`, made where it is missing, keeps data and logs until the
 * end. NULL with the error. */
struct backends *backends_start(const char *script, const char *folder, struct error *error);
/* What is wanted besides PostgreSQL and the two Redis, as stack.sh takes it
 * ("standby,replica,sentinel,rabbitmq"). `standby_from`: the conninfo by which a standby reaches
 * its primary, through a relay on a port (as another user it cannot open a relay's socket); NULL:
 * the straight way. */
bool backends_add(struct backends *backends, const char *with, const char *standby_from,
                  struct error *error);
/* Ends them and throws their data away, also after Ctrl-C. NULL is allowed. False when one is left.
 */
bool backends_stop(struct backends *backends, struct error *error);

/* What stack.sh calls SECKILL_`name`: "DATABASE", "REDIS", "STOCK_REDIS", "STANDBY", "REPLICA",
 * "SENTINEL", "AMQP". Owned by the backends, until the next backends_add; NULL when there is none.
 */
const char *backends_address(const struct backends *backends, const char *name);
/* For a relay, the path of a PostgreSQL's or Redis's socket, by the same name. False when it has
 * none. */
bool backends_socket(const struct backends *backends, const char *name, char *out, size_t size);

enum backends_signal { BACKENDS_STOP, BACKENDS_CONTINUE, BACKENDS_KILL };

/* Every process of "postgres", "locks", "stock", "standby", "replica", "rabbitmq" … */
bool backends_signal(struct backends *backends, const char *server, enum backends_signal signal,
                     struct error *error);
/* One that was killed, with what it had on disk; waits until it answers. */
bool backends_restart(struct backends *backends, const char *server, struct error *error);

/*
 * A full disk: "postgres" or "standby" can write nothing beyond so many bytes of any file; -1: as
 * before. With 16 MiB, the length of a file of its log, tables cannot grow beyond that, and with 0
 * it crashes at the next commit and stays down until it is started again. PostgreSQL is told EFBIG
 * where a full disk says ENOSPC.
 */
bool backends_limit_disk(struct backends *backends, const char *server, int64_t bytes,
                         struct error *error);

#endif
