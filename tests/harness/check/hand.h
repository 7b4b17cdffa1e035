/*
 * Ledgers and rows made by hand, as the checker takes them: one product, one test at a time. The
 * test that runs fills `hand`, most of them by a scene.
 */
#ifndef SECKILL_TESTS_HARNESS_HAND_H
#define SECKILL_TESTS_HARNESS_HAND_H

#include "loadtest/judge/claims/claims.h"

enum { HAND_PRODUCT = 1 };

struct hand {
    struct ledger ledger;
    struct rows rows;
    struct check_result result;
    struct error error;
};
extern struct hand hand;

/*
 * A test: what happens, and what is found then, in these words with ';' between. BEGIN and END are
 * times in us, or behind a second ("1s+5"); an END of 0: no answer. A KEY of "-": none.
 *
 *     begin STOCK                     a sale, nothing sold yet; by its row all of it is left
 *     sell ID USER KEY BEGIN END      a buy that was answered with 201, and its row
 *     buy USER KEY BEGIN END          one without an answer
 *     refuse USER KEY BEGIN END       one that was told sold_out
 *     hold ID USER BEGIN END          as sell, and to be paid within a second
 *     pay ID BEGIN END STATUS [CODE]  a payment; cancel ID BEGIN END STATUS: a cancel
 *     look ID BEGIN END STATE         a read; "none": it found nothing
 *     restock BEGIN END UNITS         one that was done; refill UNITS: by its product's row
 *     row ID USER KEY STATE           in the order of their ids
 *     sold ID USER KEY                the same, with its unit gone from the stock
 *     ends ID STATE                   a sale that is none any more: its row; its unit goes back
 *
 *     answer STATUS [CODE]            of the operation that came last
 *     names ORDER STATE               the same
 *     unknown                         nobody knows what became of it
 *     last MEMBER VALUE               another member of it; first MEMBER VALUE: of the first one
 *     order N MEMBER [VALUE]          of a row, from 0
 *     keyless                         the last operation and the last row
 *     left UNITS                      so many more by the row, or fewer
 *     limit UNITS                     of the ledger; row_limit UNITS: of the row
 *
 *     clean                           nothing is found
 *     finds KIND TIMES UNITS          this, and of the others only what the exact search says of
 *                                     the same thing
 *     run                             whatever is found; counts KIND TIMES: of one kind
 *     is FIGURE NUMBER                of the last result
 */
struct scene {
    const char *name, *happens;
};

void scenes_add(struct scene *scenes, size_t count);
#define SCENES(scenes)                                                                             \
    __attribute__((constructor)) static void add_scenes(void)                                      \
    {                                                                                              \
        scenes_add((scenes), sizeof(scenes) / sizeof *(scenes));                                   \
    }

/* The same within a test. */
void happens(const char *all);

/* Something of everything, and nothing wrong: repeats, unknowns, a cancel, a restock, a 202.
 * Of the buys that were never answered k4's was sold, and k5's was not. */
#define CLEAN_SALE                                                                                 \
    "begin 2; sell a 1 k1 10 20; buy 1 k1 30 40; answer 200; names a confirmed; "                  \
    "sell b 2 - 15 50; refuse 3 k3 60 70; cancel b 80 90 200; ends b cancelled; "                  \
    "look b 95 96 cancelled; sold c 4 k4; buy 4 k4 100 0; buy 5 k5 110 0; restock 120 130 2; "     \
    "refill 2; sold d 6 k6; buy 6 k6 140 150; answer 202; names d queued; "                        \
    "look d 160 170 queued; look d 180 190 confirmed; buy 7 - 200 210; answer 503 queue_full; "    \
    "row e 8 k8 failed; buy 8 k8 220 230; answer 202; names e queued; look e 240 250 failed; "

void begin(int64_t stock);
struct ledger_op *sell(const char *id, int64_t user, const char *key, int64_t start_us,
                       int64_t end_us);
void is_clean(void);
void finds(enum finding_kind kind, size_t times, int64_t units);
int hand_tear_down(void **state);

#endif
