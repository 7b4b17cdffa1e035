/*
 * Writing claims: what the stream says was reserved becomes rows, many orders in one transaction.
 *
 * Fresh claims of one sale, without keys and limits, are one statement. Any others are decided in a
 * transaction: product rows are locked in id order, then it is seen which orders stand there
 * already (a writer died after its COMMIT), which keys and limits are taken, and in order of
 * arrival who still fits. Confirmed and refused orders get their rows, the stock is taken by a
 * guarded statement, and the whole is committed at once.
 *
 * A row that somebody else holds is passed by, its claims are HELD, and what waits in vain for
 * another lock is LOCKED; a transaction that fails is tried anew, or in parts (decide_many.h). An
 * order that is refused three times alone is written as failed, `unwritable`. Whatever else
 * PostgreSQL says (a full disk, read-only, cancelled) speaks of the server: no order dies of it,
 * and its claims stay open for later.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_WRITE_H
#define SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_WRITE_H

#include "strategies/redis_stock/writer/stock_claim.h"

/* Decides the claims, at most WRITE_MAX, but for those that are HELD or LOCKED. False: some are
 * open, try later; nothing that was done is done twice then, nor when those others are tried again.
 * `fresh`: nobody had them before, so their rows are not looked for; where that is wrong the rows'
 * key says so, and they are. */
bool stock_write(struct stock_link *link, struct claim *claims, int count, bool fresh);
/* The same for claims that do not wait in Redis any more: those that have no row are written as
 * failed, `lost`. */
bool stock_write_lost(struct stock_link *link, struct claim *claims, int count);
/* Is the row of one of these products to be had? Waits for one of them, if it is time to. */
bool stock_write_finds_free(struct stock_link *link, const int64_t *products, int count);

#endif
