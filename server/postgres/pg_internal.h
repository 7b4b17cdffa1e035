/* Shared by the files of postgres/, and by no others. */
#ifndef SECKILL_POSTGRES_PG_INTERNAL_H
#define SECKILL_POSTGRES_PG_INTERNAL_H

#include "base/connect/breaker.h"
#include "postgres/connect/cancels.h"
#include "postgres/connect/hosts.h"
#include "postgres/pg.h"

#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>

enum { STORE_SCHEMA_SIZE = 160, PG_TEXT_SIZE = 8192 };

/* A transaction that is seen each time; "": none. */
struct store_lasting {
    char number[24];
    int64_t since_us;
};

struct store {
    struct hosts *hosts;         /* owned */
    struct fast_path *fast_path; /* owned */
    struct store_limits limits;
    struct store_schema schema; /* where the tables are to be */
    struct cancels cancels;
    struct canceller *canceller; /* owned */
    _Atomic int64_t sessions;    /* that are open, or being opened */
    atomic_bool up;
    atomic_bool login_refused; /* the last connect, by a server that is there */
    atomic_bool ready;
    atomic_bool waits;
    _Atomic int64_t epoch_base;    /* of the database that `ready` speaks of */
    atomic_bool hangs;             /* a commit would not come back */
    _Atomic(const char *) trouble; /* why nothing can be sold though it is up; "": it can */
    struct store_lasting waiter;   /* the background's, as what follows: store.c's try_commit */
    int64_t commit_at_us;
    bool stalled;                  /* a commit has not come back, and none has since */
    bool unseen;                   /* that is so since the last look */
    const char *lacks;             /* of the last that has: pg_count_standbys */
    _Atomic int64_t current_us;    /* when the last one was begun that has, */
    _Atomic int64_t current_on;    /* and on which server: pg_server */
    struct pg *elsewhere;          /* owned, the background's: store/replaced.c */
    int64_t elsewhere_at_us;       /* when the next host is asked, */
    int elsewhere_turn;            /* and which */
    struct store_lasting snapshot; /* the background's: store.c's look_at_snapshots */
    _Atomic int64_t snapshot_us;   /* how long that has been the oldest */
    bool snapshots_hidden;         /* the background's: that was logged */
    int64_t sizes;           /* the background's: of the tables, as SQL_SCHEMA_STATE has them */
    _Atomic unsigned doubts; /* store_doubt's */
    _Atomic unsigned plans_number; /* how often that has risen */
    struct breaker breaker;
    atomic_bool limited;             /* a session was refused, and none was opened since */
    _Atomic int64_t told_us;         /* when that was logged */
    _Atomic int64_t full_until_us;   /* sessions that stand back do not ask before */
    _Atomic int64_t wanted_until_us; /* a session that does not stand back was refused */
    _Atomic unsigned generation; /* sessions of an earlier one are closed before their next use */
    bool told_older;             /* the background's: schema.c's tell_move */
    int64_t flaw_told_us;        /* the background's: when `flaw` was last logged */
    struct {
        pthread_mutex_t mutex;
        char schema[STORE_SCHEMA_SIZE]; /* where the tables are, as an identifier; "": not known */
        char flaw[600];                 /* why the schema cannot be used; "": it can */
        char mark[STORE_MARK_SIZE];
        struct store_durability durability;
        struct store_durability flusher; /* the same, of the flusher's session */
        bool has_flusher;
    } shared;
};

struct pg {
    struct store *store;         /* borrowed */
    PGconn *conn;                /* owned; NULL: not connected */
    struct host_address address; /* of conn */
    bool refused;                /* the last open, because there are too many sessions */
    bool unsuited;               /* the connection, because of the pooler in between */
    bool stands_back;
    const char *name; /* its application_name, borrowed */
    /* owned: how to cancel what conn runs; taken by one thread, which uses it */
    _Atomic(struct cancel_request *) cancel;
    PGresult *result;               /* owned: the last statement's */
    unsigned generation;            /* of the store, when it was opened */
    unsigned plans_number;          /* of the tables' size for which it has planned */
    char schema[STORE_SCHEMA_SIZE]; /* in which its statements look for the tables */
    enum sql begin;                 /* with begin_pending: which BEGIN */
    bool begin_pending;
    bool in_transaction;
    bool written;              /* by the transaction: its COMMIT will wait for the log */
    int64_t server_started_us; /* that of conn */
    unsigned opened;           /* how often, so far */
    bool pooled;  /* a pooler lends it another server session for each transaction (session_setup.c)
                   */
    bool standby; /* it was with one when it was opened (pg_is_current) */
    bool set_up;  /* that is known, and statements have names */
    bool prepared[SQL_COUNT];
    bool writes[SQL_COUNT]; /* of those that are prepared: can it write? */
    atomic_bool stopped;    /* pg_stop */
    bool useless;           /* pg_ends_session: to be closed when its answers are read */
    bool unreplicated;      /* PostgreSQL has warned that a commit did not wait for the standby */
    struct pg_limit {
        int64_t until_us; /* statements wait for locks until then; 0: as long as they last */
        int64_t most_ms;  /* and not longer at a time */
        int64_t ms;       /* what PostgreSQL has been told; 0: no limit; or PG_LIMIT_UNKNOWN */
        bool early;       /* commits are not to wait for the log */
        bool told_early;  /* PostgreSQL has been told so */
        bool in_doubt;    /* it was told so inside the transaction that is open */
        bool sent;        /* that is under way, and nobody has read the answer */
    } limit;
    struct error error;
    struct pg_buffer {
        char *bytes; /* owned: binary parameters of the statement being sent */
        size_t used;
        size_t size;
    } buffer;
};

/* Whether there is an open session, outside a transaction, that the server has not ended. */
bool pg_lives(struct pg *pg);

/* Whether the tables have outgrown the session's plans. Behind a pooler none is kept. */
bool pg_plans_outgrown(const struct pg *pg);

/* Connects without asking whether the schema is ready. */
bool pg_open(struct pg *pg, int64_t until_us);
/* To this address alone, and for statements that rely on no setting. */
bool pg_open_at(struct pg *pg, const struct host_address *address, int64_t until_us);

void pg_set_error(struct pg *pg, enum error_code code, const char *text);
/* Of the present result, where in the log a commit is: why it is not on as many standbys as
 * store_limits asks for, in words; "": it is, or none are asked for. */
const char *pg_count_standbys(struct pg *pg, int64_t until_us);

/* Why another host is to be sold from, though this session's server takes writes; "": it is not,
 * for all that is known. */
const char *store_look_elsewhere(struct store *store, struct pg *pg, int64_t until_us);

/* Waits until the socket is ready for what libpq wants; false when the deadline has passed, or the
 * session was told to stop. */
bool pg_wait_socket(struct pg *pg, short events, int64_t until_us);
/* The next result, NULL at their end; false when the deadline or the connection ended the wait. */
bool pg_next_result(struct pg *pg, int64_t until_us, PGresult **out);
/* Closes a session that has not answered, and says why: PG_TIMEOUT or PG_LOST. */
enum pg_status pg_give_up(struct pg *pg, int64_t until_us);

/* The statement with the session's schema in its place; false where it does not fit. */
bool pg_write_text(const struct pg *pg, enum sql statement, char out[PG_TEXT_SIZE]);
/* Puts a statement, with its PREPARE if it needs one, into libpq's hands. */
bool pg_send_command(struct pg *pg, const struct pg_command *command);
void pg_forget_result(struct pg *pg);
/* Whether no transaction is open behind a bundle that ends with `last`. */
bool pg_ends_transaction(const struct pg *pg, const struct pg_command *last);
/* Sends off what libpq holds. */
bool pg_flush(struct pg *pg, int64_t until_us);
/* Reads the results of one bundle, up to its sync. `main` is the index of the statement whose
 * result is kept until pg_forget_result. A session that is lost is closed. */
enum pg_status pg_read_bundle(struct pg *pg, const struct pg_command *commands, int n, int main,
                              int64_t until_us);

/* The limit on waits for locks (store/waits.c). A new session begins with what this returns. */
enum { PG_LIMIT_UNKNOWN = -1, PG_LIMIT_TEXT = 32 };
int64_t pg_limit_begin(struct pg *pg);
void pg_limit_text(int64_t ms, char text[PG_LIMIT_TEXT]);
/* Before a bundle: puts the statement for a new limit into libpq's hands, if it takes one. */
bool pg_limit_send(struct pg *pg);
/* After it: waits for that statement, if there was one. */
enum pg_status pg_limit_read(struct pg *pg, int64_t until_us);
/* That was refused: what has been sent behind it may have committed without its flush. Closes the
 * session; PG_LOST. */
enum pg_status pg_limit_untold(struct pg *pg);
/* The transaction, in which the limit may have been set, has ended. */
void pg_limit_ended(struct pg *pg, bool committed);

/* Whether the limit that PostgreSQL has been told will do. */
bool pg_limit_suits(const struct pg *pg);

/* What a session sets for itself, as a statement (store/waits.c): for as long as it lasts, or,
 * where it is pooled, for the transaction. Borrowed from `out`. */
enum { PG_SETTINGS = 4 };
struct pg_settings {
    struct pg_command command;
    struct pg_value values[PG_SETTINGS];
    char statement[PG_LIMIT_TEXT];
    char idle[PG_LIMIT_TEXT];
    char lock[PG_LIMIT_TEXT];
};
/* As PostgreSQL reports it with each answer; of a pooler it is what the session was that it asked
 * first. */
bool pg_tells_standby(const struct pg *pg);
const struct pg_command *pg_settings(struct pg *pg, struct pg_settings *out);
/* Makes a new connection a session of ours: sets that, or finds out what a pooler in between is
 * good for. Unsuited: for nothing, and store_trouble says so. */
bool pg_set_up(struct pg *pg, int64_t until_us);

/* NULL, as when the connection broke before the server could say anything, is PG_LOST. */
enum pg_status pg_classify(const char *sqlstate);
/* Whether a session that was answered so must be closed, though its connection is there. The
 * statement did nothing; PG_CONFLICT says that a new session can do it. */
bool pg_ends_session(const char *sqlstate);
/* Whether the answer means that a part of the schema is missing. */
bool pg_misses_schema(const char *sqlstate);

/* The schema in which every session's statements look for the tables, whatever the search_path is:
 * sets it for sessions opened from now on, and tells it; both answer the store's generation. */
unsigned store_set_schema(struct store *store, const char *schema);
unsigned store_schema(struct store *store, char schema[STORE_SCHEMA_SIZE]);
unsigned store_generation(const struct store *store);
/* A change renews all sessions: some may be connected to a server that is no longer the primary.
 * The text is a constant. */
void store_set_trouble(struct store *store, const char *trouble);
/* Sessions that are open now are closed when they are next to be used. */
void store_renew_sessions(struct store *store);
/* The database may not be the one that it was: nothing is done in it until store_prepare has looked
 * at its schema again. */
void store_doubt(struct store *store);
unsigned store_doubts(const struct store *store); /* how often */

/* What store_prepare says of the schema; a session that is not fit for use afterwards is closed. */
bool schema_ensure(struct pg *pg, int64_t until_us, int64_t schema_until_us, struct error *error);
struct schema_state {
    int64_t gone;  /* tables */
    int64_t sizes; /* a class of 15 each of those that are there, the first table's the lowest */
};
/* False: it cannot be found out, or rights on the tables are missing, ERROR_DENIED. */
bool schema_check(struct pg *pg, int64_t until_us, struct schema_state *out, struct error *error);

/* Encodes `values` into the session's buffer and points libpq's parameter arrays at it. */
enum { PG_MAX_PARAMETERS = 16 };
struct pg_parameters {
    const char *values[PG_MAX_PARAMETERS];
    int lengths[PG_MAX_PARAMETERS];
    int formats[PG_MAX_PARAMETERS];
};
void pg_encode(struct pg_buffer *buffer, const struct pg_value *values, int count,
               struct pg_parameters *out);

/* Counts a statement that is about to be sent, with the text that is prepared before it or NULL;
 * the sync of a bundle that travels with another; a bundle that has been sent and is waited for;
 * and one result of it, of the PREPARE before the statement if `preparing`. */
void pg_cost_sent(struct pg *pg, const struct pg_command *command,
                  const struct pg_parameters *parameters, const char *text);
void pg_cost_sync(void);
void pg_cost_round_trip(void);
void pg_cost_received(struct pg *pg, enum sql statement, bool preparing, PGresult *result);

#endif
