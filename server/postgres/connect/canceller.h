/*
 * The canceller: ends statements that nobody waits for any more, from a thread of its own.
 *
 * Only what waits for a lock of PostgreSQL's is cancelled (a row that another one holds): it has
 * done nothing yet. PostgreSQL's own cancel request would also hit a session that is committing and
 * waits for its synchronous standby; PostgreSQL then gives that wait up and commits, and what no
 * standby has can be read by everybody. So the canceller looks where the session stands, and
 * cancels it in the same statement.
 *
 * Connecting and asking takes time, which the worker that gave up on a statement does not have, so
 * the worker leaves a request (cancels.h) and goes on at once. A request that cannot be carried out
 * within two seconds is dropped: a statement whose session has been closed ends within a second
 * (client_connection_check_interval), any other by its statement_timeout, and neither of the two
 * touches a commit.
 */
#ifndef SECKILL_POSTGRES_CANCELLER_H
#define SECKILL_POSTGRES_CANCELLER_H

struct canceller;
struct store;

/* NULL: no thread or memory. `store` is borrowed. */
struct canceller *canceller_create(struct store *store);
/* A request under way is given up. NULL is allowed. */
void canceller_destroy(struct canceller *canceller);

#endif
