/*
 * Which rate to try next, when the highest that holds is wanted: doubled until one fails (or halved
 * until one holds), bisected until what holds and what fails are close, and then the rate that
 * holds is confirmed. One run says little on a machine that does other things: a rate is found when
 * it has held CAPACITY_CONFIRMATIONS times, and given up, for one a tenth lower, when it has failed
 * twice before that.
 *
 * A pure machine without a clock: whoever runs it tells what came of the rate that it asks for. It
 * ends whatever it is told, within CAPACITY_RUNS_MAX runs.
 */
#ifndef SECKILL_LOADTEST_COMMANDS_CAPACITY_CAPACITY_SEARCH_H
#define SECKILL_LOADTEST_COMMANDS_CAPACITY_CAPACITY_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CAPACITY_CONFIRMATIONS = 3,
    CAPACITY_APART_PERCENT = 5, /* of the rate that holds: closer than this is not told apart */
    CAPACITY_RUNS_MAX = 60
};

/* While it seeks, `holds` and `fails` decide which rate is next. */
enum capacity_stage { CAPACITY_SEEKS, CAPACITY_CONFIRMS, CAPACITY_ENDED };

struct capacity_search {
    enum capacity_stage stage;
    int64_t least, most; /* rates that may be asked for */
    int64_t rate;        /* to be tried now */
    int64_t holds;       /* the highest that has held; 0: none */
    int64_t fails;       /* the lowest that has failed; 0: none */
    int held, failed;    /* of the runs that confirm */
    int runs;
    int64_t found; /* when it has ended; 0: no rate holds, or none was confirmed in so many runs */
};

/* 1 <= least <= first <= most. */
void capacity_begin(struct capacity_search *search, int64_t least, int64_t first, int64_t most);

/* What came of search->rate. Afterwards there is a next one, or it has ended. */
void capacity_tell(struct capacity_search *search, bool held);

#endif
