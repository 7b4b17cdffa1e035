/*
 * The writer: one thread a shard, in each instance, a member of its stream's consumer group.
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
 * after a restart; with port 0 it is the process's, and others take over what it leaves.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_WRITER_H
#define SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_WRITER_H

#include "strategy/strategy.h"

struct redis_stock;
struct stock_work;
struct writer;

/* The one of a shard; `stock`, and `work`, which is a part of it, are borrowed. NULL: it cannot be
 * started. */
struct writer *stock_writer_start(struct redis_stock *stock, struct stock_work *work);
/* When stock->stopping is set it writes what waits, as far as a moment allows, and ends; this waits
 * for it. NULL is allowed. */
void stock_writer_end(struct writer *writer);

#endif
