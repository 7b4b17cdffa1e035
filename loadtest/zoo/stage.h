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
#include <jansson.h>
#include <libpq-fe.h>
#include <stdint.h>

#define ZOO_SCHEMA "seckill_zoo"
#define ZOO_NAME   "seckill-loadtest zoo" /* of its sessions with PostgreSQL */

/* Opened when first used. The stage has one too, for what happens to a buyer. */
struct zoo_sessions {
    PGconn *pg;
    redisContext *nodes[ZOO_NODES];
};

/* The values that an exhibit's words name, in braces: what a buyer has read last, but for its
 * number; LEFT is the stock less one. And two that are no figures. */
enum zoo_figure {
    FIGURE_NUMBER,
    FIGURE_STOCK,
    FIGURE_LEFT,
    FIGURE_EPOCH,
    FIGURE_FENCE,
    FIGURE_CAS,
    ZOO_FIGURES,
    VALUE_LETTER = ZOO_FIGURES,
    VALUE_PREFIX,
    ZOO_VALUES
};

struct zoo_buyer {
    struct zoo_sessions sessions;
    enum zoo_column column;
    int64_t figures[ZOO_FIGURES];
    bool written;                  /* an order's row, in a transaction that may yet roll back */
    bool sold;                     /* committed, or reserved */
    const struct zoo_step *waited; /* the step that waits for a lock, as its text says */
};

struct zoo_stage {
    const struct options *options; /* borrowed: where the backends are */
    struct zoo_sessions own;
    char prefix[64]; /* of keys */
    json_t *keys;    /* owned: an object, with a member for each that was named */
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

/* Runs a statement of the zoo's own, in its schema. */
bool zoo_stage_run(struct zoo_stage *stage, const char *sql, struct error *error);

/*
 * A session with memcached, in its text protocol (doc/protocol.txt of memcached): one command, one
 * answer. It is hiredis's connection, which dials hosts and paths and has limits, and of which the
 * socket alone is used: the harness needs no library for one exhibit.
 *
 * Sends a command, less its last line end, and reads its answer, less its last one: "STORED",
 * "END", or with what a key holds "VALUE key flags bytes number\r\ntext\r\nEND". An answer that is
 * an error, or too long, is an error.
 */
enum { MEMCACHED_REPLY_SIZE = 256 };
bool zoo_memcached_say(redisContext *session, const char *command, char reply[MEMCACHED_REPLY_SIZE],
                       struct error *error);

/* Values ------------------------------------------------------------------------------------- */

enum { ZOO_VALUE_SIZE = 256, ZOO_WORDS = 24 };

/* A value as it is sent, and as it is shown: "{seckill-zoo-1f3a}:lock", "lock". */
struct zoo_value {
    char sent[ZOO_VALUE_SIZE], shown[ZOO_VALUE_SIZE];
};

/* The length of "{name}" that `text` begins with; 0: no name in braces. */
size_t zoo_value_name(const char *text);
/* Which of the values `text` begins with, in braces; -1: none. */
int zoo_value_find(const char *text);

/* A template with its names replaced. */
void zoo_value_fill(struct zoo_value *out, const struct zoo_stage *stage,
                    const struct zoo_buyer *buyer, const char *text);

/* The next word of `at`, behind which it then stands, without its quotes and with its line ends.
 * False: there is none, or it is too long. */
bool zoo_value_word(const char **at, char out[ZOO_VALUE_SIZE]);

/* The words of a template, each filled. How many. A key of the zoo's own among them will be taken
 * away at the end. */
int zoo_value_words(struct zoo_value out[ZOO_WORDS], const struct zoo_stage *stage,
                    const struct zoo_buyer *buyer, const char *text);

#endif
