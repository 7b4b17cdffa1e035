/*
 * The exhibits: for each strategy that lacks a letter of its promise, the shortest interleaving
 * that breaks it, and the same with one that keeps it. They are texts, exhibits/NAME.zoo, and built
 * into the program; exhibits/steps.zoo says how they are written.
 *
 * Statements and scripts are the server's own, by name (sql/, lua/), so they cannot drift. Redis's
 * and memcached's commands stand in the texts as the server's locks send them;
 * tests/harness/zoo/test_zoo_sends.c compares them with what a server sends.
 */
#ifndef SECKILL_LOADTEST_ZOO_EXHIBIT_H
#define SECKILL_LOADTEST_ZOO_EXHIBIT_H

#include "base/error.h"

#include <stddef.h>

enum { ZOO_BUYERS = 3, ZOO_STEP_VERBS = 9, ZOO_STEPS = 16, ZOO_VERBS = 48 };
enum zoo_column { A, B, C };

/* Words for a reader; NULL: there are none. */
struct zoo_text {
    const char *en, *zh;
};

/* A SALE is a statement whose rows are orders. */
enum zoo_kind { ZOO_SQL, ZOO_SALE, ZOO_REDIS, ZOO_MEMCACHED, ZOO_RUN, ZOO_DIES };

/* Redis of the locks, Redlock's, redis-stock's; and memcached. */
enum zoo_node { NODE_LOCKS, NODE_1, NODE_2, NODE_3, NODE_STOCK, NODE_MEMCACHED, ZOO_NODES };

/* What a buyer sends, or what happens to it. Its texts are the exhibit's. */
struct zoo_verb {
    const char *name;
    enum zoo_kind kind;
    enum zoo_node node;
    bool happens;      /* the stage's own session sends it, and it is shown as a remark */
    const char *words; /* as they are written; of a statement its values */
    const char *text;  /* of the statement, or of the script that EVAL runs */
    struct zoo_text shows;
    const char *gives; /* NULL: whatever comes */
};

/* What a buyer sends together and waits for, as the server does. */
struct zoo_step {
    enum zoo_column who;
    size_t count;
    const struct zoo_verb *verbs[ZOO_STEP_VERBS];
    size_t waits; /* the verb that waits for another buyer's lock, from 1 on; 0: none */
    bool resumes; /* the step that waits ends, and what it has left is done */
    struct zoo_text note;
    /* "201", "202 queued": the buyer is told yes, and must have been sold something. Anything else
     * is a no, and it must not. NULL: nothing. */
    const char *answer;
};

/* How an act has to end. */
enum zoo_end {
    ZOO_KEPT,     /* sold what was told, and no more than there was */
    ZOO_OVERSOLD, /* more units than there were */
    ZOO_LOST,     /* somebody was told yes, and has no order */
    ZOO_STUCK,    /* nobody was sold anything, and the lock has no lease */
    ZOO_ENDS      /* the text does not say */
};

struct zoo_act {
    const char *strategy;
    struct zoo_text story; /* what happens, in a sentence or two */
    int stock, buyers;
    enum zoo_end end;
    size_t count;
    struct zoo_step steps[ZOO_STEPS];
};

/* One whose texts were read stays where it is: steps point at its verbs. */
struct zoo_exhibit {
    struct zoo_text title;
    unsigned nodes; /* that it uses, a bit each */
    struct zoo_act unsafe, safe;
    size_t verbs_count;
    struct zoo_verb verbs[ZOO_VERBS];
    char *texts[2]; /* owned; all others point into them */
};

/* Reads the common steps, and the text of `file` behind them. False with the error, which names the
 * file and the line. In both cases: zoo_exhibit_drop. */
bool zoo_exhibit_read(struct zoo_exhibit *exhibit, const char *file, const char *text,
                      struct error *error);
void zoo_exhibit_drop(struct zoo_exhibit *exhibit);

/* All that are built in, in the order of the strategies' tables. */
struct zoo {
    size_t count;
    struct zoo_exhibit *exhibits; /* owned */
};

/* False with the error, and nothing to close. */
bool zoo_open(struct zoo *zoo, struct error *error);
void zoo_close(struct zoo *zoo);
/* By the strategy that breaks; NULL: there is none. */
const struct zoo_exhibit *zoo_find(const struct zoo *zoo, const char *name);

#endif
