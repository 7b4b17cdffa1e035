/*
 * PostgreSQL: sessions, statements by name, and what an error means, in one place.
 *
 * A `struct store` is the database as a whole, shared by all threads; a `struct pg` is one session
 * and belongs to one thread at a time. Every call is bounded by an absolute monotonic deadline that
 * the client side enforces: non-blocking libpq, poll, then a cancel request and close. A session
 * that is lost, timed out or in an unknown state is closed at once and connected again by the next
 * pg_connect.
 *
 * Sources: PostgreSQL documentation, libpq "Asynchronous Command Processing", "Pipeline Mode",
 * "Canceling Queries in Progress"; appendix A, error codes.
 */
#ifndef SECKILL_POSTGRES_PG_H
#define SECKILL_POSTGRES_PG_H

#include "base/error.h"
#include "base/random/uuid.h"

#include "sql_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct store;
struct pg;

/* What became of a statement. A strategy decides by these alone. */
enum pg_status {
    PG_OK,
    PG_CONFLICT, /* 40001, 40P01, a session whose statements are not what they were,: the
                    transaction is gone and may be made again, after pg_connect */
    PG_BUSY,     /* 55P03: NOWAIT found the row locked, or the wait for a lock has lasted as long as
                    pg_lock_until says: the statement, and those of its bundle, did nothing */
    PG_UNIQUE,   /* 23505 */
    PG_BUG,      /* a CHECK fired (23514), or a value is wrong (22xxx) */
    PG_REFUSED,  /* another rule of the database speaks against the row: a constraint (23xxx), a
                    trigger (P0xxx, 27xxx), a view (44xxx) */
    PG_WITHHELD, /* a write left rows out that it had to change, and nobody said why: a trigger, a
                    rule or a view of somebody else's; the statement did nothing, or is to be rolled
                    back */
    PG_FAILED,   /* any other answer of the server, which speaks of its own state: a full disk, no
                    memory, read-only, cancelled, the schema, privileges; the statement did nothing
                  */
    PG_TIMEOUT,  /* no answer before the deadline; the session is closed, the statement's fate
                    unknown */
    PG_LOST      /* the connection broke; the statement's fate is unknown */
};

/* Whether the rows themselves are at fault, so that PostgreSQL refuses them however often they are
 * written. Every other failure speaks of the server's state, which passes: an accepted order must
 * not end with it. */
static inline bool pg_blames_rows(enum pg_status status)
{
    return status == PG_UNIQUE || status == PG_BUG || status == PG_REFUSED;
}

/* The limits that a session sets on the server's side, constants of the process. */
struct store_limits {
    int64_t statement_ms;           /* statement_timeout; above every client deadline */
    int64_t idle_in_transaction_ms; /* frees the rows that a frozen client holds */
    int64_t standbys; /* that must have flushed a commit (pg_prove); not a session's */
};

/* The schema of the tables. */
struct store_schema {
    const char *name; /* borrowed by the store */
    bool fixed;       /* its tables are made and changed by somebody else */
};

/* Parses the conninfo; connects to nothing. */
struct store *store_create(const char *conninfo, struct store_limits limits,
                           struct store_schema schema, struct error *error);
void store_destroy(struct store *store); /* after every session; NULL is allowed */

/* Prints what makes the tables in this schema, or brings them up to date, for psql. */
void schema_print(FILE *to, const char *name);

/* What a commit waits for before it is answered. All of it is false or "" until the first contact.
 */
struct store_durability {
    bool durable; /* a crash of the server loses nothing: the next three, the last not off or local
                   */
    bool fsync;
    bool full_page_writes;
    char synchronous_commit[16];
    char standby_names[256]; /* synchronous_standby_names, cut; "": a commit waits for no standby */
    int64_t standbys;        /* that are counted besides (pg_prove) */
};

/* Cached state, any thread, no I/O. */
bool store_up(const struct store *store); /* the last contact succeeded */
/* How many sessions are open, or being opened; any thread. */
int64_t store_sessions(const struct store *store);
/* For how long somebody else's snapshot has kept dead rows of this database, as store_prepare has
 * seen it; any thread. 0: nobody's, or PostgreSQL does not serve. */
int64_t store_snapshot_us(const struct store *store);
bool store_ready(const struct store *store); /* the schema has been seen to */
/* All that, and nothing keeps anything from being written (store_trouble). */
bool store_serves(const struct store *store);
struct store_durability store_durability(struct store *store);
/* The session whose commits prove others' (sale/flusher.h), just opened; NULL: there is none any
 * more. What it does not wait for is told by store_durability. False: PostgreSQL did not say. */
bool store_look_at_flusher(struct store *store, struct pg *pg, int64_t until_us);
/* Does a commit wait for a synchronous standby, or should it? */
bool store_waits(const struct store *store);
/* Are standbys counted (pg_prove)? */
bool store_counts(const struct store *store);
/* Why nothing can be written though PostgreSQL is up and its schema suits, in words for an
 * operator;
 * "": it can. What can be read is read all the same. Seen by store_prepare. */
const char *store_trouble(const struct store *store);

/* Why the schema cannot be used, cut to `size`; "": it can, or nothing is known of it. Any thread.
 */
void store_flaw(struct store *store, char *out, size_t size);

/* Creates the schema or brings it up to date, once however many instances start together; learns
 * whether the database is durable; then sessions may be used. What changes tables may take until
 * `schema_until_us`, every other statement until `until_us`. False: out of reach, in trouble
 * (store_trouble); ERROR_UNSUITABLE for a schema newer than this server, or one that is not there
 * or old and that it shall not make; ERROR_DENIED for missing rights, which has been logged: at
 * once, and again every minute. */
bool store_prepare(struct store *store, struct pg *pg, int64_t until_us, int64_t schema_until_us,
                   struct error *error);

struct pg *pg_create(struct store *store); /* borrowed: store */
void pg_destroy(struct pg *pg);            /* NULL is allowed */

/* Makes sure of an open, idle session; cheap when there is one. After a failed attempt others fail
 * at once for a quarter of a second, so that a dead backend costs nobody a connect timeout. */
bool pg_connect(struct pg *pg, int64_t until_us);
void pg_close(struct pg *pg);
/* The sales of the database that sessions are connected to have epochs above this and below
 * base + PG_EPOCHS; those of one that was lost and made again have others. */
#define PG_EPOCHS (INT64_C(1) << 26)
int64_t pg_epoch_base(const struct pg *pg);
/* The database among others, DATABASE.SCHEMA (NUMBER), the number being its epoch base over
 * PG_EPOCHS; "" while none has been seen. Any thread. */
enum { STORE_MARK_SIZE = 192 };
void store_mark(struct store *store, char out[STORE_MARK_SIZE]);

/* Whether the last pg_connect failed because PostgreSQL allows no more sessions. PostgreSQL is up
 * then, and the open sessions go on. */
bool pg_is_refused(const struct pg *pg);
bool pg_is_open(const struct pg *pg);
/* Which run of which server the session is with: when that one was started. 0: it is with none, or
 * a pooler is in between. While two sessions with the same one are open, what one commits is
 * covered by what the other flushes later. */
int64_t pg_server(const struct pg *pg);
/* How often the session has been opened: whether it is still the one that it was. */
unsigned pg_opened(const struct pg *pg);
/* With `others` (of the same kind) that have a session: after a refusal this one asks once a second
 * at most, and nobody makes room for it. */
void pg_stand_back(struct pg *pg, bool others);
/* Whether a session that cannot stand back was refused a moment ago. */
bool store_wants_room(const struct store *store);
/* Closes the session if another needs room; true when it did. Between two uses of the session. */
bool pg_make_room(struct pg *pg);

/* Why the last call failed; for the log, never for a client. */
const struct error *pg_error(const struct pg *pg);

/* From any thread: cancels what the session runs now, if it runs something; it ends as PG_FAILED,
 * and the session is opened anew before its next use. Behind a pooler nothing is cancelled: which
 * process it is changes with each transaction. */
void pg_interrupt(struct pg *pg);
/* From any thread: whatever the session waits for, now or later, ends within a tenth of a second as
 * PG_LOST. For the session of a thread that is to end. */
void pg_stop(struct pg *pg);

/* From now on a statement waits for locks (rows, keys that another transaction is writing, advisory
 * locks) until `until_us` and not longer than `most_ms` at a time, and then ends as PG_BUSY. Inside
 * a transaction that leaves it to be rolled back. The wait may be shorter, as its end is rounded
 * down: try again while there is time. Where several locks are waited for in turn it may be longer.
 * At first, and with 0, there is no bound but the statement's own. Costs nothing until a statement
 * is sent, and seldom then. */
void pg_lock_until(struct pg *pg, int64_t until_us, int64_t most_ms);

/* From now on commits do not wait until they are flushed, nor for a standby: their locks are free
 * at once, and a crash may undo them until a later commit has waited. Outside a transaction, and
 * not behind a pooler. Costs nothing until a statement is sent. */
void pg_commit_early(struct pg *pg, bool early);
/* Whether what this session has read may be told: it is with no standby, which may be behind; and
 * where commits wait for one, a commit that the probe has begun on this server at most a second ago
 * has come back. A primary that was left behind answers, and does not know what is sold and
 * cancelled elsewhere. Cheap. */
bool pg_is_current(const struct pg *pg);
/* PG_FAILED where a commit would not come back, as store_prepare has seen: nothing that needs one
 * should be begun, since PostgreSQL does not see that nobody waits for it any more, and keeps its
 * session. Cheap. */
enum pg_status pg_may_commit(struct pg *pg);
/* Waits until all that this session has read is as durable as a commit of its own. PG_OK, or
 * nothing is known. */
enum pg_status pg_flush_reads(struct pg *pg, int64_t until_us);
/* The same by a commit in any case, and as many standbys as store_limits asks for are seen to have
 * flushed it: names that somebody has emptied, a stranger that '*' lets in, or a wait that was
 * cancelled make fewer, and PG_FAILED. */
enum pg_status pg_flush_log(struct pg *pg, int64_t until_us);
/* pg_flush_log where standbys are counted, else PG_OK at once: for a commit that has waited itself.
 */
enum pg_status pg_prove(struct pg *pg, int64_t until_us);

/* A parameter, passed in binary. Text and arrays are borrowed until the call returns; NULL text is
 * SQL NULL. */
struct pg_value {
    enum {
        PG_NULL,
        PG_INT8,
        PG_TIME,
        PG_TEXT,
        PG_UUID,
        PG_INT8S,
        PG_TIMES,
        PG_TEXTS,
        PG_UUIDS
    } type;
    int count;
    union {
        int64_t number;
        const char *text;
        const struct uuid *uuids;
        const int64_t *numbers;
        const char *const *texts;
    } as;
};

static inline struct pg_value pg_int8(int64_t n)
{
    return (struct pg_value){.type = PG_INT8, .as.number = n};
}
static inline struct pg_value pg_int8_or_null(bool present, int64_t n)
{
    return (struct pg_value){.type = present ? PG_INT8 : PG_NULL, .as.number = n};
}
static inline struct pg_value pg_time(int64_t wall_us)
{
    return (struct pg_value){.type = PG_TIME, .as.number = wall_us};
}
static inline struct pg_value pg_time_or_null(bool present, int64_t wall_us)
{
    return (struct pg_value){.type = present ? PG_TIME : PG_NULL, .as.number = wall_us};
}
static inline struct pg_value pg_text(const char *text)
{
    return (struct pg_value){.type = text ? PG_TEXT : PG_NULL, .as.text = text};
}
static inline struct pg_value pg_uuid(const struct uuid *id)
{
    return (struct pg_value){.type = PG_UUID, .as.uuids = id};
}
static inline struct pg_value pg_int8s(const int64_t *numbers, int count)
{
    return (struct pg_value){.type = PG_INT8S, .count = count, .as.numbers = numbers};
}
static inline struct pg_value pg_times(const int64_t *wall_us, int count)
{
    return (struct pg_value){.type = PG_TIMES, .count = count, .as.numbers = wall_us};
}
static inline struct pg_value pg_texts(const char *const *texts, int count)
{
    return (struct pg_value){.type = PG_TEXTS, .count = count, .as.texts = texts};
}
static inline struct pg_value pg_uuids(const struct uuid *ids, int count)
{
    return (struct pg_value){.type = PG_UUIDS, .count = count, .as.uuids = ids};
}

#define PG_ARGS(...)                                                                               \
    (const struct pg_value[]){__VA_ARGS__},                                                        \
        (int)(sizeof((const struct pg_value[]){__VA_ARGS__}) / sizeof(struct pg_value))
#define PG_NO_ARGS NULL, 0

/* Opens a transaction unless one is open. It costs no round trip: BEGIN travels with the next
 * statement. */
void pg_begin(struct pg *pg);
void pg_begin_serializable(struct pg *pg);

/* Runs one statement and keeps its result until the next call on this session. */
enum pg_status pg_exec(struct pg *pg, enum sql statement, const struct pg_value *values, int count,
                       int64_t until_us);
/* pg_exec, outside a transaction, of what is told of orders: PG_FAILED from a standby, which may be
 * behind. */
enum pg_status pg_look(struct pg *pg, enum sql statement, const struct pg_value *values, int count,
                       int64_t until_us);

struct pg_command {
    enum sql statement;
    const struct pg_value *values; /* borrowed for the call */
    int count;
};

/* One or two statements and the COMMIT in one round trip: for the last ones of a transaction, when
 * each of them either does its work or raises an error. PG_TIMEOUT and PG_LOST leave the commit
 * unknown. */
enum pg_status pg_exec_commit(struct pg *pg, const struct pg_command *statements, int count,
                              int64_t until_us);

/* Runs statements that are each a transaction, and do not wait for one another's answers: one after
 * the other, in this order. Returns how many were sent; out[i] says what became of the first so
 * many, and nothing was done about the others: they were not begun by `begin_until_us`, or one
 * before them is PG_BUSY or has lost the session. Outside a transaction. */
struct pg_each {
    enum pg_status status;
    int64_t affected;
};
int pg_exec_each(struct pg *pg, const struct pg_command *commands, int count, struct pg_each *out,
                 int64_t begin_until_us, int64_t until_us);

bool pg_in_transaction(const struct pg *pg); /* one is open, or will be with the next statement */

/* PG_TIMEOUT and PG_LOST leave the commit unknown; every other status but PG_OK means it did not
 * happen. */
enum pg_status pg_commit(struct pg *pg, int64_t until_us);

/* Leaves the transaction, if one is open; closes the session when that cannot be done in time. */
void pg_rollback(struct pg *pg, int64_t until_us);

/* What the caller has found by counting: a row of this table was withheld. PG_WITHHELD, and the
 * error says so. */
enum pg_status pg_withheld(struct pg *pg, const char *table);

/* The kept result. */
int pg_rows(const struct pg *pg);
int64_t pg_affected(const struct pg *pg);
bool pg_is_null(const struct pg *pg, int row, int column);
int64_t pg_get_int8(const struct pg *pg, int row, int column);
int pg_get_int2(const struct pg *pg, int row, int column);
bool pg_get_bool(const struct pg *pg, int row, int column);
int64_t pg_get_time(const struct pg *pg, int row, int column); /* wall clock microseconds */
struct uuid pg_get_uuid(const struct pg *pg, int row, int column);
/* Copies at most size - 1 bytes and a NUL; NULL gives "". */
void pg_get_text(const struct pg *pg, int row, int column, char *out, size_t size);

#endif
