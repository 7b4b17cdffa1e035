/*
 * The background writer: one thread for what no request waits for.
 *
 * It finds PostgreSQL (and makes the schema) when it was absent at start, keeps the cached state of
 * the backends fresh for GET /readyz, and deletes the rows of ended sales in small pieces, slowly
 * while orders are being worked on.
 */
#ifndef SECKILL_DISPATCH_BACKGROUND_H
#define SECKILL_DISPATCH_BACKGROUND_H

#include "strategy/strategy.h"

struct background;

/* `busy` says whether orders are in flight now. */
struct background *background_create(const struct services *services, bool (*busy)(void *context),
                                     void *context);
void background_destroy(struct background *background); /* NULL is allowed */

#endif
