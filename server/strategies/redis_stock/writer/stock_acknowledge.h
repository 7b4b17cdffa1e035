/*
 * Letting go of what PostgreSQL has decided: reservations end, keys are known a little longer,
 * entries are acknowledged and deleted. However often it happens, a reservation ends once.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_ACKNOWLEDGE_H
#define SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_ACKNOWLEDGE_H

#include "strategies/redis_stock/writer/stock_stream.h"

/* Lets go of the decided orders of the part's entries, and of those entries all of whose orders
 * are; `later`: it may be left to a call that comes soon. False: some are not, and have to be read
 * from the stream. Products whose mirrors have to be unloaded are added to stream->wrong. */
bool stock_acknowledge(struct stock_stream *stream, struct stock_link *link,
                       struct stock_part *part, bool later);
/* Lets go of what was left for later. False: as above. */
bool stock_acknowledge_noted(struct stock_stream *stream, struct stock_link *link);

#endif
