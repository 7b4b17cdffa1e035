/*
 * Where exhibits are played: the zoo's own schema in the database that was named, keys of its own
 * in Redis and memcached, and each buyer's own sessions.
 *
 * Happy path: zoo_stage_open makes the schema `seckill_zoo` with the server's tables; zoo_stage_set
 * puts one product on sale for an act; zoo_stage_close drops the schema and deletes the keys.
 * Failure modes: a schema of that name that is there already is not ours, and is not touched; a
 * player that is killed leaves its schema, which the next one's error says how to drop; keys have a
 * random part, so they are nobody else's.
 *
 * Thread rule: a stage belongs to one thread.
 */
#ifndef SECKILL_LOADTEST_ZOO_STAGE_H
#define SECKILL_LOADTEST_ZOO_STAGE_H

#include "loadtest/base/options.h"
#include "loadtest/zoo/exhibit.h"

#include <hiredis/hiredis.h>
#include <libpq-fe.h>
#include <stdint.h>

#define ZOO_SCHEMA "seckill_zoo"

/* Opened when first used. The stage has one too, for what happens to a buyer. */
struct zoo_sessions {
    PGconn *pg;
    redisContext *nodes[ZOO_NODES];
};

/* What a buyer has read last, but for its number; LEFT is the stock less one. */
enum zoo_figure {
    FIGURE_NUMBER,
    FIGURE_STOCK,
    FIGURE_LEFT,
    FIGURE_EPOCH,
    FIGURE_FENCE,
    FIGURE_CAS,
    ZOO_FIGURES
};

struct zoo_buyer {
    struct zoo_sessions sessions;
    enum zoo_column column;
    int64_t figures[ZOO_FIGURES];
    bool written;                  /* an order's row, in a transaction that may yet roll back */
    bool sold;                     /* committed, or reserved */
    const struct zoo_step *waited; /* the step that waits for a lock, as its text says */
};

enum { ZOO_KEYS = 32, ZOO_KEY_SIZE = 96 };

struct zoo_stage {
    const struct options *options; /* borrowed: where the backends are */
    struct zoo_sessions own;
    char prefix[64];                   /* of keys */
    char keys[ZOO_KEYS][ZOO_KEY_SIZE]; /* that were named */
    size_t keys_count;
    bool has_schema;
    struct zoo_buyer buyers[ZOO_BUYERS];
};

/* What the rows say at the end of an act, and how many buyers were told yes. */
struct zoo_books {
    int stock, sold, left, told;
    bool stuck; /* the lock is held and has no lease */
};

/* The option that an exhibit with such nodes lacks: "--redis"; NULL: none. */
const char *zoo_stage_lacks(const struct options *options, unsigned nodes);

/* False with the error, and nothing left behind. */
bool zoo_stage_open(struct zoo_stage *stage, const struct options *options, struct error *error);
/* Also after a failure in the middle of an act. False: the schema, or a key, could not be removed.
 */
bool zoo_stage_close(struct zoo_stage *stage, struct error *error);

/* A new sale of `stock` units, no locks, no orders, buyers who know nothing. */
bool zoo_stage_set(struct zoo_stage *stage, int stock, struct error *error);
/* All but `told`. */
bool zoo_stage_count(struct zoo_stage *stage, struct zoo_books *books, struct error *error);

/* A session of these, opened if need be; NULL with the error. */
PGconn *zoo_pg(struct zoo_stage *stage, struct zoo_sessions *sessions, struct error *error);
redisContext *zoo_node(struct zoo_stage *stage, struct zoo_sessions *sessions, enum zoo_node node,
                       struct error *error);
/* Ends them all, and with them their transactions. */
void zoo_hang_up(struct zoo_sessions *sessions);

/* Of a word that is sent: where it is a key of the zoo's own it will be taken away at the end.
 * False with the error: there are too many. */
bool zoo_stage_remember(struct zoo_stage *stage, const char *word, struct error *error);
/* Runs a statement of the zoo's own, in its schema. */
bool zoo_stage_run(struct zoo_stage *stage, const char *sql, struct error *error);

/* An exhibit as it was played: each step with what was sent and what came back, and the books at
 * the end. */
enum { ZOO_LINES = ZOO_STEP_VERBS + 2, ZOO_LINE_SIZE = 200, ZOO_CAME_SIZE = 64 };

enum zoo_line_kind { ZOO_SENT, ZOO_NOTE, ZOO_ANSWER };

struct zoo_line {
    enum zoo_line_kind kind;
    char text[ZOO_LINE_SIZE];
    char came[ZOO_CAME_SIZE]; /* "": nothing that matters */
    const char *zh;           /* a note's; borrowed from the exhibit */
};

struct zoo_row {
    int number; /* from 1 on */
    enum zoo_column who;
    size_t count;
    struct zoo_line lines[ZOO_LINES];
};

struct zoo_record {
    const struct zoo_act *act; /* borrowed */
    size_t count;
    struct zoo_row rows[ZOO_STEPS];
    struct zoo_books books;
};

#endif
