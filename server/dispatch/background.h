/*
 * The background writer: one thread for what no request waits for.
 *
 * It finds PostgreSQL (and makes the schema) when it was absent at start, keeps the cached state of
 * the backends fresh for GET /readyz, has the sweeper look for holds that are over, and deletes the
 * rows of ended sales in small pieces, slowly while orders are being worked on.
 */
#ifndef SECKILL_DISPATCH_BACKGROUND_H
#define SECKILL_DISPATCH_BACKGROUND_H

#include "strategy/strategy.h"

struct background;

struct pg;

/* What it asks of dispatch. */
struct background_calls {
    bool (*busy)(void *context);                 /* whether orders are in flight now */
    bool (*sweep)(void *context, struct pg *pg); /* sweeper_sweep */
    void *context;
};

struct background *background_create(const struct services *services,
                                     const struct background_calls *calls);
void background_destroy(struct background *background); /* NULL is allowed */

#endif
