/*
 * Redis: sessions, scripts by name, and what an error means.
 *
 * A `struct redis_server` is the server as a whole, shared by all threads; a `struct redis` is one
 * session and belongs to one thread at a time. Every call is bounded by an absolute monotonic
 * deadline. After any I/O error or timeout a session is closed: a late reply would answer the next
 * command. So are all sessions, each before its next use, after an error that says that this server
 * will not do it (READONLY, MISCONF, NOPERM …; health.c): where the address has moved to another
 * server, the next connection meets that one. Scripts go by EVALSHA and are loaded again when Redis
 * has forgotten them.
 *
 * Sources: hiredis README; Redis documentation, EVALSHA, "Redis protocol specification" (error
 * prefixes), "Redis Cluster specification".
 */
#ifndef SECKILL_REDIS_REDIS_H
#define SECKILL_REDIS_REDIS_H

#include "backend/backend.h"
#include "base/error.h"

#include "lua_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redis_server;
struct redis;
struct redis_reply;

enum redis_status {
    REDIS_OK,
    REDIS_REFUSED, /* an error reply, or no node of a cluster that would take it: nothing was
                      executed; the session may be closed */
    REDIS_LOST     /* no reply, and the session is closed; or a script failed on its way: what was
                      executed is unknown */
};

/* Parses the URL (redis_url.h); connects to nothing. `ca_file` is for rediss://, "" the system's.
 */
struct redis_server *redis_server_create(const char *url, const char *ca_file, struct error *error);
void redis_server_destroy(struct redis_server *server); /* after every session; NULL is allowed */

/* Cached state, any thread, no I/O: whether this Redis serves what the strategies need, and why
 * not: its own words (READONLY …), or "out of reach: " and the reason. "" while it serves, "not
 * asked yet" at first. A failed connect and a refusal take it away at once; only a
 * redis_probe_health that went through ends a refusal. */
enum { REDIS_WHY_MAX = 640, REDIS_KEY_MAX = 192 };
bool redis_server_up(const struct redis_server *server);
/* The server is somebody else's for now, in these words ("": no more): it does not serve, and no
 * session of it can be used but this one, which is to find out when that ends. */
void redis_server_take(struct redis *redis, const char *words);
void redis_server_why(struct redis_server *server, char why[REDIS_WHY_MAX]);
/* The same as readiness shows it; `flaw` is what is wrong with one that serves. */
void redis_server_report(struct redis_server *server, const char *name, const char *flaw,
                         backend_report *report, void *to);
/* The server's place as it stands in messages, without a password: HOST:PORT, a path, or "NAME of"
 * its Sentinels. Any thread. */
void redis_server_place(const struct redis_server *server, char *out, size_t size);

/* What redis_survey found when it last looked, any thread, no I/O. The version is 602 for 6.2, and
 * 0 while unknown; the flaws are why data in this Redis may be lost, and 0 while unknown. */
enum redis_server_flaw {
    REDIS_NO_APPEND_FILE = 1u << 0, /* appendonly is not yes */
    REDIS_LAZY_FSYNC = 1u << 1,     /* appendfsync is not always */
    REDIS_EVICTS = 1u << 2,         /* maxmemory-policy is not noeviction */
    REDIS_SILENT = 1u << 3,         /* CONFIG GET is not allowed: nobody knows */
    REDIS_NAMELESS = 1u << 4        /* INFO is not allowed: nobody knows the version */
};
int redis_server_version(const struct redis_server *server);
unsigned redis_server_flaws(const struct redis_server *server);
/* Why a lock's keys may be lost in it; "": they may not. */
const char *redis_server_lock_flaw(const struct redis_server *server);
void redis_server_note(struct redis_server *server, int version, unsigned flaws);
/* A node of a Redis Cluster, which has a part of the keys alone. Any thread, no I/O; false while
 * unknown. */
bool redis_server_is_cluster(const struct redis_server *server);
/* Where the URL leads to a cluster's node, sessions use the whole cluster (cluster/cluster.h).
 * Before the first session; without it, and behind a socket or Sentinels, such a node is of no use.
 * False: out of memory. */
bool redis_server_allow_cluster(struct redis_server *server);
bool redis_server_allows_cluster(const struct redis_server *server);
/* Asks the session's server for its version, whether it is one of a cluster, and how durable it is,
 * and notes all of it there: at each probe, since an address may come to lead to another server.
 * False: there was no answer. */
bool redis_survey(struct redis *redis, int64_t until_us);
/* Acknowledged writes are to be in the append-only files of the server and of so many of its
 * replicas; 0 at first: nobody asks. Set before there is a session. */
void redis_server_want_replicas(struct redis_server *server, int replicas);
int redis_server_replicas(const struct redis_server *server);
/* NULL, or why that cannot be had of this server: a text. Any thread, no I/O. */
const char *redis_server_replicas_unfit(const struct redis_server *server);
/* Too few of them had flushed the last probe's write in time. Any thread, no I/O. */
bool redis_server_lags(const struct redis_server *server);
/* Waits until they have all that this session has written since it was opened, and so whatever the
 * server had before its last write. *enough: they have, or nobody asks. A session that has written
 * nothing waits for nothing, and has shown nothing. */
enum redis_status redis_wait_replicas(struct redis *redis, int64_t until_us, bool *enough);

/* What strategies need of a Redis; the keys are such as they might write. */
struct redis_needs {
    const char *of; /* "locks", "redlock" or "stock": lua/lock/probe.lua has the commands */
    bool subscribes;
    char absent[REDIS_KEY_MAX]; /* does not exist; a channel, too */
    char hash[REDIS_KEY_MAX];   /* the probe's own */
    char kept[REDIS_KEY_MAX];   /* written for replicas to flush, where they are wanted */
};
/* Tries that, on a connection made anew, and writes nothing but the hash, once. Notes the result
 * there, and logs when the server begins and when it ceases to serve, and when it does not for
 * another reason. One thread a server. */
void redis_probe_health(struct redis *redis, const char *flag, const struct redis_needs *needs,
                        int64_t until_us);

struct redis *redis_create(struct redis_server *server); /* borrowed: server */
void redis_destroy(struct redis *redis);                 /* NULL is allowed */

/* Makes sure of an open session that is served; cheap when there is one, and none of this server
 * was refused since it was opened. After a failed attempt others fail at once for a quarter of a
 * second. */
bool redis_connect(struct redis *redis, int64_t until_us);
void redis_close(struct redis *redis);
/* When the session that is open, or was last, was there to be used; 0: none yet. */
int64_t redis_since_us(const struct redis *redis);
struct redis_server *redis_server_of(const struct redis *redis);
const struct error *redis_error(const struct redis *redis);

/* Whether the session is one with a cluster. Then what a call touches has to be in the slot of its
 * first key: of a script KEYS[1], of a command its first argument. "x{NAME}" is in that of NAME. */
bool redis_is_cluster(const struct redis *redis);
/* From now on all that the session asks is about one slot (cluster/slot.h), whatever its arguments:
 * with a cluster it goes to the node that has it, with which redis_connect connects, and
 * redis_since_us is of that. -1: no more. */
void redis_aim(struct redis *redis, int slot);
/* With a cluster the session with the node that the last call went to, until the next call; else
 * the session itself. */
struct redis *redis_last(struct redis *redis);
/* With a cluster: the last call was refused, for its slot is on its way to another node. */
bool redis_is_moving(const struct redis *redis);
/* The command by which a script reaches those who redis_subscribe. */
const char *redis_publish_command(const struct redis *redis);

/* Runs a script: KEYS[1..keys] are the first of `arguments`, ARGV the rest. The scripts of this
 * project answer with one integer; nil gives REDIS_NIL. */
#define REDIS_NIL INT64_MIN
enum redis_status redis_script(struct redis *redis, enum lua script, int keys, int count,
                               const char *const *arguments, int64_t until_us, int64_t *reply);

/* Waits for an element of the list `key` until `until_us` and takes it. *popped says whether there
 * was one. */
enum redis_status redis_wait(struct redis *redis, const char *key, int64_t until_us, bool *popped);

/* A whole reply: a number, a text, nothing, or an array of replies. *reply is NULL unless REDIS_OK,
 * and is freed with redis_reply_free. redis_eval is redis_script with such a reply. */
enum redis_status redis_call(struct redis *redis, int count, const char *const *arguments,
                             int64_t until_us, struct redis_reply **reply);
enum redis_status redis_eval(struct redis *redis, enum lua script, int keys, int count,
                             const char *const *arguments, int64_t until_us,
                             struct redis_reply **reply);
/* A script has caught this error and answers with its words: taken as if they were the reply. */
void redis_caught(struct redis *redis, const char *words);
void redis_reply_free(struct redis_reply *reply);       /* NULL is allowed */
int redis_reply_count(const struct redis_reply *reply); /* of an array's elements, else 0 */
const struct redis_reply *redis_reply_at(const struct redis_reply *reply, int i);
const char *redis_reply_text(const struct redis_reply *reply); /* NULL when it is no text */
int64_t redis_reply_number(const struct redis_reply *reply);   /* also of digits; else 0 */

/* One command whose reply is not needed (PING, SET, DEL …). */
enum redis_status redis_send(struct redis *redis, int count, const char *const *arguments,
                             int64_t until_us);

/* One command and its reply. A status (OK) is a text; what is longer than `text` is cut. */
struct redis_answer {
    enum { ANSWER_NIL, ANSWER_NUMBER, ANSWER_TEXT } type;
    int64_t number;
    char text[64];
};
enum redis_status redis_ask(struct redis *redis, int count, const char *const *arguments,
                            int64_t until_us, struct redis_answer *answer);

/* Pub/sub, on a second session that this one opens for it and keeps: from redis_subscribe to
 * redis_unsubscribe the messages of one channel are heard, none in between is missed. */
enum redis_status redis_subscribe(struct redis *redis, const char *channel, int64_t until_us);
/* Waits for a message until `until_us`; *heard says whether there was one. */
enum redis_status redis_hear(struct redis *redis, int64_t until_us, bool *heard);
void redis_unsubscribe(struct redis *redis, int64_t until_us);

#endif
