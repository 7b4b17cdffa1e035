/*
 * The player: an act's steps in order, each over its buyer's own sessions.
 *
 * Happy path: every step is sent and answered; one that has to wait for another buyer's lock waits,
 * as PostgreSQL says, and goes on when it is resumed; at the end the rows are counted. Failure
 * modes: a backend that does not answer; a step that waits and should not, or does not and should;
 * a buyer who is told yes and was sold nothing; an end that is not the act's. Each is an error that
 * names the step.
 */
#ifndef SECKILL_LOADTEST_ZOO_PLAY_H
#define SECKILL_LOADTEST_ZOO_PLAY_H

#include "loadtest/zoo/stage.h"

/* Plays it on an open stage and fills the record, as far as it came. False with the error, which is
 * the act's own where it did not end as it has to. */
bool zoo_play(struct zoo_stage *stage, const struct zoo_act *act, struct zoo_record *record,
              struct error *error);

/* How it ended, whatever it had to. */
enum zoo_end zoo_end_of(const struct zoo_books *books);

#endif
