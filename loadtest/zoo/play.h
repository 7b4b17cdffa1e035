/*
 * The player: an act's steps in order, each over its buyer's own sessions; and its records as
 * people read them.
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

#include <stdio.h>

/* An act as it was played, and the books at the end. */
struct zoo_record {
    const struct zoo_act *act; /* borrowed */
    /* Owned; a step each: [who, ["s", sent, came] or ["n", note, its Chinese] or ["a", answer, ""]
     * …], where "" is none, or nothing that matters. */
    json_t *steps;
    struct zoo_books books;
};

/* Both acts of an exhibit. */
struct zoo_pair {
    const struct zoo_exhibit *exhibit; /* borrowed */
    struct zoo_record unsafe, safe;
};

/* Plays it on an open stage and fills the record, as far as it came. False with the error, which is
 * the act's own where it did not end as it has to. In both cases: zoo_record_drop. */
bool zoo_play(struct zoo_stage *stage, const struct zoo_act *act, struct zoo_record *record,
              struct error *error);
void zoo_record_drop(struct zoo_record *record); /* a zeroed one is allowed */

/* How it ended, whatever it had to. */
enum zoo_end zoo_end_of(const struct zoo_books *books);

/* An act as a table, time downward, as far as it came; at the end what the rows say, if it is
 * `whole`. `columns`: characters of a line. */
void zoo_print_act(FILE *to, const struct zoo_exhibit *exhibit, const struct zoo_record *record,
                   bool whole, int columns);

/* An object a name, of `count` exhibits (server/api/page/page.js reads it). */
void zoo_print_json(FILE *to, const struct zoo_pair *pairs, size_t count);

#endif
