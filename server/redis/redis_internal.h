/* Shared by the files of redis/. */
#ifndef SECKILL_REDIS_REDIS_INTERNAL_H
#define SECKILL_REDIS_REDIS_INTERNAL_H

#include "base/connect/breaker.h"
#include "base/connect/resolver.h"
#include "redis/redis.h"
#include "redis/redis_url.h"

#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
    REDIS_ARGUMENTS_MAX = 600, /* redis-stock: 100 entries with five each, and some */
    REDIS_SHA_LENGTH = 40,
    REDIS_CHANNEL_MAX = 400
};

struct redis_tls;
struct redis_cluster;
struct redis_route;

struct redis_request;

/* A session with a cluster, as the other files here use it; cluster/ fills it in. */
struct redis_routing {
    void (*destroy)(struct redis_cluster *cluster);
    bool (*connect)(struct redis *redis, int64_t until_us);
    void (*close)(struct redis *redis);
    void (*forget)(struct redis *redis); /* before the session is freed */
    enum redis_status (*run)(struct redis *redis, const struct redis_request *request,
                             redisReply **reply);
    int64_t (*since_us)(const struct redis *redis);
    struct redis *(*last)(const struct redis *redis);
    /* The session that subscribed last, and to what. */
    struct redis *(*ear)(const struct redis *redis);
    const char *(*channel)(const struct redis *redis);
    void (*probe)(struct redis *redis, const struct redis_needs *needs, int64_t until_us);
};

struct redis_server {
    struct redis_url url;
    struct redis_tls *tls;               /* owned; NULL without TLS; a node's is its cluster's */
    struct resolver *resolver;           /* owned, or the cluster's */
    const struct redis_server *of;       /* borrowed; the cluster, where this is one of its nodes */
    struct redis_cluster *cluster;       /* owned; NULL: where it is one, it cannot be used */
    const struct redis_routing *routing; /* of the cluster */
    struct breaker breaker;
    _Atomic int64_t stale_us; /* sessions opened until then are opened anew */
    atomic_int version;
    atomic_uint flaws;
    atomic_bool clustered; /* it is a node of a cluster */
    int replicas;          /* that are wanted */
    atomic_bool lags;      /* fewer have flushed what the probe wrote */
    atomic_bool up;        /* no words below */
    atomic_bool taken;     /* there are words for it below */
    struct {
        pthread_mutex_t mutex;
        bool refuses; /* they are Redis's own */
        char why[REDIS_WHY_MAX];
        char taken[REDIS_WHY_MAX];
    } state;
    char told[REDIS_WHY_MAX]; /* what the log was told last; the prober's */
    int probed;               /* the number in a node's probe's keys; the prober's */
};

struct redis {
    struct redis_server *server; /* borrowed */
    redisContext *context;       /* owned; NULL: not connected */
    struct redis *listener;      /* owned; the session that subscribes, made on first use */
    struct redis_route *route;   /* owned; with a cluster, instead of these */
    int64_t opened_us;           /* when that began */
    int64_t since_us;            /* when it was done */
    int aim;                     /* the slot that it is about, and one; 0: any */
    bool owner;                  /* redis_server_take's */
    bool asking;                 /* ASKING goes before each command */
    bool moving;                 /* redis_is_moving */
    bool optional; /* what is asked now may be refused: others may be served all the same */
    struct error error;
    char sha[LUA_COUNT][REDIS_SHA_LENGTH + 1]; /* "" until this session has loaded the script */
};

/* Notes in health.c: a probe went through; a session could be opened, which ends "out of reach" but
 * no refusal; it could not, for this reason; Redis refused, in these words. */
void redis_server_note_served(struct redis_server *server);
void redis_server_note_reached(struct redis_server *server);
void redis_server_note_unreached(struct redis_server *server, const char *reason);
void redis_server_note_refusal(struct redis_server *server, const char *words);

/* Whether an error reply says that this server will not do it, whatever the command. */
bool redis_is_refusal(const char *words);

/* Why the last call failed, without what redis_error's text puts before it. */
const char *redis_reason(const struct redis *redis);

/* The probe's: writes the key, waits for the replicas that are wanted, notes whether they lag. */
void redis_probe_replicas(struct redis *redis, const char *key, int64_t until_us);

/* Whether the session was opened before Redis refused somebody (redis_caught). */
bool redis_is_stale(const struct redis *redis);

/* Opens the session anew, also when somebody has just failed to, and notes whether it could. */
bool redis_open(struct redis *redis, int64_t until_us);

/* No reply came: whatever was sent may or may not have run. Closes the session. */
enum redis_status redis_lose(struct redis *redis, enum error_code code, const char *why);

/* The next reply; REDIS_OK without one when the deadline came first. */
enum redis_status redis_read(struct redis *redis, int64_t until_us, redisReply **out);
/* The next reply; none in time loses the session. */
enum redis_status redis_receive(struct redis *redis, int64_t until_us, redisReply **out);

/* Sends a command and receives its reply, on this very session. *out is NULL unless there was one;
 * to be freed. */
enum redis_status redis_command(struct redis *redis, int count, const char *const *arguments,
                                int64_t until_us, redisReply **out);
/* The same when the reply is not needed. */
enum redis_status redis_tell(struct redis *redis, int count, const char *const *arguments,
                             int64_t until_us);

/* A call that has a key: `send` makes it on a session that is a connection. */
struct redis_request {
    enum redis_status (*send)(struct redis *redis, const struct redis_request *request,
                              redisReply **reply);
    const char *key;     /* whose slot says where it goes */
    const char *channel; /* NULL, or what it subscribes to */
    enum lua script;
    int keys;
    int count;
    const char *const *arguments;
    int64_t until_us;
};
/* Makes it on this session, or on that of the node which has the key. */
enum redis_status redis_run(struct redis *redis, const struct redis_request *request,
                            redisReply **reply);
/* A command, whose key is its first argument. */
enum redis_status redis_run_command(struct redis *redis, int count, const char *const *arguments,
                                    int64_t until_us, redisReply **reply);

/* Whether the session is one with a cluster. */
static inline bool redis_is_routed(const struct redis *redis)
{
    return redis->server->cluster &&
           atomic_load_explicit(&redis->server->clustered, memory_order_relaxed);
}
/* Whether the server has channels that are in one shard of its cluster alone; and the command that
 * subscribes there. */
bool redis_server_is_sharded(const struct redis_server *server);
const char *redis_subscribe_command(const struct redis *redis);
/* A server for one of a cluster's nodes; NULL: out of memory. */
struct redis_server *redis_server_create_node(const struct redis_server *of,
                                              const struct redis_place *place);

/* The probe of a server that is none of a cluster, or is a node. */
void redis_probe_needs(struct redis *redis, const struct redis_needs *needs, int64_t until_us);

/* In redis_dial.c. What a session's TLS is made from: the system's CAs, or those of a file. NULL
 * with an error; also where hiredis was built without TLS, which is said. */
struct redis_tls *redis_tls_create(const char *ca_file, struct error *error);
void redis_tls_destroy(struct redis_tls *tls); /* NULL is allowed */
/* A connection to the Redis that the URL stands for, on which nothing of ours is said yet. NULL
 * with an error; else the caller's. */
redisContext *redis_dial(struct redis_server *server, int64_t until_us, struct error *error);

/* AUTH, where the URL has a password. */
enum redis_status redis_log_in(struct redis *redis, int64_t until_us);

/* Gives a reply to a caller outside redis/, or frees it unless the status is REDIS_OK. */
enum redis_status redis_hand_over(enum redis_status status, redisReply *answer,
                                  struct redis_reply **reply);

#endif
