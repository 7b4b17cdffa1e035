/* Makes a phase. */
#ifndef SECKILL_LOADTEST_PHASE_RUN_PHASE_H
#define SECKILL_LOADTEST_PHASE_RUN_PHASE_H

#include "loadtest/phase/phase.h"

/* True when the phase was made, whatever its verdict, even "no run". False when there is no going
 * on: a server died, the database is gone, the harness was interrupted. */
bool phase_run(const struct fleet *fleet, const struct phase_plan *plan,
               struct phase_result *result, struct error *error);

/* After a PUT: waits until the rows of the products' earlier sales are deleted. */
bool phase_wait_clean(const struct fleet *fleet, int64_t first, int64_t last, struct error *error);

/* Until nothing that was accepted waits to be decided: PostgreSQL's rows tell of what waits there,
 * the server of what it holds elsewhere (202s that are reserved in Redis). */
bool phase_wait_settled(const struct fleet *fleet, int64_t first, int64_t last,
                        struct error *error);

#endif
