/*
 * The writer: one thread an instance, a member of the stream's consumer group.
 *
 *   what this instance's workers hand over  ─┐
 *   own history (what it had when it died)  ─┼─▶ claims ─▶ PostgreSQL, COMMIT ─▶ acknowledge, XACK
 *   what a dead member had (XCLAIM)         ─┘
 *
 * It writes whatever came while it was writing. Between COMMIT and XACK it may die: the entry is
 * read from the stream, its orders are there, and nothing is written twice. When nothing comes it
 * reconciles (stock_reconcile.h), and ends what Redis has lost (stock_lost.h). It waits for
 * whichever store is out of reach and goes on when it is back.
 *
 * A member's name is its host's and the address it serves on, so that it finds its own history
 * after a restart; with port 0 it is the process's, and others take over what it leaves. One writer
 * an instance.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_WRITER_H
#define SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_WRITER_H

#include "strategy/strategy.h"

struct redis_stock;
struct writer;

/* `stock` is borrowed. NULL: `error` says why. */
struct writer *stock_writer_start(struct redis_stock *stock, struct error *error);
/* Writes what waits, as far as a moment allows, and ends. NULL is allowed. */
void stock_writer_stop(struct writer *writer);

#endif
