/*
 * The canceller: sends PostgreSQL's cancel requests from a thread of its own.
 *
 * PQcancel connects and waits without a deadline; against a stopped server it would hang the worker
 * that gave up on a statement. So the worker closes its session at once and leaves the request
 * here. Requests that cannot be sent soon are dropped: statement_timeout ends the statement all the
 * same.
 */
#ifndef SECKILL_STORE_CANCELLER_H
#define SECKILL_STORE_CANCELLER_H

#include <libpq-fe.h>

struct canceller;

struct canceller *canceller_create(void); /* NULL: no thread or memory */
void canceller_submit(struct canceller *canceller, PGcancel *cancel); /* takes ownership */
/* Waits at most two seconds for a request under way; a thread that hangs longer is left to the
 * process's end. */
void canceller_destroy(struct canceller *canceller);

#endif
