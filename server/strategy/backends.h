/* The table of backends, and those of this process as the rooms above see them. */
#ifndef SECKILL_STRATEGY_BACKENDS_H
#define SECKILL_STRATEGY_BACKENDS_H

#include "backend/backend.h"
#include "strategy/strategy.h"

const struct backend *backend_at(int id); /* of enum backend_id */

/* Opens what the settings name, into services->backends; on false some may be open. */
bool backends_open(struct services *services, struct error *error);
/* The first contacts. False: what waiting would not mend. */
bool backends_greet(const struct services *services, struct error *error);
void backends_close(struct services *services); /* after every session */

/* Reports every name of every open backend, in the table's order. */
void backends_report(const struct services *services, backend_report *report, void *to);

/* Why this process does not have one of `needs`; NULL: it has them all. */
const char *backends_lacking(const struct services *services, unsigned needs);

#endif
