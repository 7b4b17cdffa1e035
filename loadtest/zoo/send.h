/* A verb on its way: sent over the buyer's own session, answered, and what the buyer learns of it.
 */
#ifndef SECKILL_LOADTEST_ZOO_SEND_H
#define SECKILL_LOADTEST_ZOO_SEND_H

#include "loadtest/zoo/stage.h"

enum zoo_sent { ZOO_DONE, ZOO_BLOCKED, ZOO_FAILED };

/* Sends a verb and waits for its answer; fills the line. A statement that waits for a lock of
 * another buyer's, as PostgreSQL says (pg_blocking_pids), not a clock, is ZOO_BLOCKED: it is still
 * under way. ZOO_FAILED with the error: nobody answers, or the answer is an error, or another than
 * the text gives. */
enum zoo_sent zoo_send(struct zoo_stage *stage, struct zoo_buyer *buyer,
                       const struct zoo_verb *verb, struct zoo_line *line, struct error *error);

/* Waits to the end for the statement that was blocked. */
bool zoo_send_resume(struct zoo_stage *stage, struct zoo_buyer *buyer, const struct zoo_verb *verb,
                     struct zoo_line *line, struct error *error);

#endif
