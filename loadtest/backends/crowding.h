/*
 * A PostgreSQL whose connections are exhausted: every one that it has room for is taken and held.
 * What is connected already stays so; whoever comes new is refused (SQLSTATE 53300).
 *
 * Source: PostgreSQL documentation, max_connections.
 */
#ifndef SECKILL_LOADTEST_BACKENDS_CROWDING_H
#define SECKILL_LOADTEST_BACKENDS_CROWDING_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct crowding;

/* Connects until it is refused for want of room. NULL with the error when it is refused for
 * anything else, when the first one is (somebody else has them all), or when a thousand find room.
 */
struct crowding *crowding_begin(const char *conninfo, struct error *error);
/* Whether a new one is refused still; takes it where somebody else has left. */
bool crowding_holds(struct crowding *crowding);
size_t crowding_count(const struct crowding *crowding);
void crowding_end(struct crowding *crowding); /* NULL is allowed */

#endif
