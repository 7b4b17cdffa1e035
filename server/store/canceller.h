/*
 * The canceller: ends statements that nobody waits for any more, from a thread of its own.
 *
 * Only what waits for a lock of PostgreSQL's is cancelled (a row that another one holds): it has
 * done nothing yet. PostgreSQL's own cancel request would also hit a session that is committing and
 * waits for its synchronous standby; PostgreSQL then gives that wait up and commits, and what no
 * standby has can be read by everybody. So the canceller looks where the session stands, and
 * cancels it in the same statement.
 *
 * To connect and to ask has no deadline against a stopped server, and would hang the worker that
 * gave up on a statement; so the worker goes on at once and leaves the request here. A request that
 * cannot be carried out soon is dropped: a statement whose session has been closed ends within a
 * second (client_connection_check_interval), any other by its statement_timeout, and neither of the
 * two touches a commit.
 */
#ifndef SECKILL_STORE_CANCELLER_H
#define SECKILL_STORE_CANCELLER_H

#include <libpq-fe.h>

struct canceller;

/* Which session, on which server: that of `conn`, which need not live as long. NULL: no memory. */
struct cancel_request *cancel_request_create(const PGconn *conn);
void cancel_request_free(struct cancel_request *request); /* NULL is allowed */

/* NULL: no thread or memory. `conninfo` is borrowed. */
struct canceller *canceller_create(const char *conninfo);
/* Takes ownership. From any thread. */
void canceller_submit(struct canceller *canceller, struct cancel_request *request);
/* Waits at most two seconds for a request under way; a thread that hangs longer is left to the
 * process's end. */
void canceller_destroy(struct canceller *canceller);

#endif
