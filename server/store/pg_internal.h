/* What the files of store/ share and nobody else sees. */
#ifndef SECKILL_STORE_PG_INTERNAL_H
#define SECKILL_STORE_PG_INTERNAL_H

#include "store/canceller.h"
#include "store/pg.h"

#include <libpq-fe.h>
#include <stdatomic.h>

struct store {
    char *conninfo; /* owned */
    struct store_limits limits;
    struct canceller *canceller; /* owned */
    atomic_bool up;
    atomic_bool ready;
    atomic_bool durable;
    _Atomic int64_t closed_until_us; /* after a failed connect nobody tries before this */
};

struct pg {
    struct store *store;        /* borrowed */
    PGconn *conn;               /* owned; NULL: not connected */
    _Atomic(PGcancel *) cancel; /* owned: how to cancel what conn runs; whoever takes it uses it */
    PGresult *result;           /* owned: the last statement's */
    enum sql begin;             /* with begin_pending: which BEGIN */
    bool begin_pending;
    bool in_transaction;
    bool written; /* by the transaction: its COMMIT will wait for the log */
    bool prepared[SQL_COUNT];
    bool writes[SQL_COUNT]; /* of those that are prepared: can it write? */
    struct error error;
    struct pg_buffer {
        char *bytes; /* owned: binary parameters of the statement being sent */
        size_t used;
        size_t size;
    } buffer;
};

/* Is there an open session outside a transaction that the server has not ended? */
bool pg_lives(struct pg *pg);

/* Connects without asking whether the schema is ready. */
bool pg_open(struct pg *pg, int64_t until_us);

/* NULL, as when the connection broke before the server could say anything, is PG_LOST. */
enum pg_status pg_classify(const char *sqlstate);

/* Runs plain SQL, several statements allowed; for the schema. */
enum pg_status pg_script(struct pg *pg, const char *text, int64_t until_us);

/* Encodes `values` into the session's buffer and points libpq's parameter arrays at it. */
enum { PG_MAX_PARAMETERS = 16 };
struct pg_parameters {
    const char *values[PG_MAX_PARAMETERS];
    int lengths[PG_MAX_PARAMETERS];
    int formats[PG_MAX_PARAMETERS];
};
void pg_encode(struct pg_buffer *buffer, const struct pg_value *values, int count,
               struct pg_parameters *out);

/* Counts a statement that is about to be sent, the bundle that has been, and one result of it; of
 * the PREPARE before it, if `preparing`. */
void pg_cost_sent(struct pg *pg, const struct pg_command *command,
                  const struct pg_parameters *parameters);
void pg_cost_round_trip(void);
void pg_cost_received(struct pg *pg, enum sql statement, bool preparing, PGresult *result);

#endif
