/*
 * A Redis Cluster behind --redis: the map of its slots, and commands that find their node.
 *
 * A server that may be one (redis_server_allow_cluster) becomes one when it says so: INFO, or an
 * error that only a cluster's node gives. From then on its sessions are no connections: each has a
 * session a node, which is an ordinary one with an ordinary server of its own, so that a node's
 * deadlines, refusals, scripts and pauses after a failure are those of any Redis. A Redis that is
 * no cluster passes none of this.
 *
 * Happy path: the map is read once (CLUSTER SLOTS); a command goes to the primary that has the slot
 * of its key.
 *
 * How it fails: MOVED and ASK say that nothing was executed, so the command goes where they say,
 * and TRYAGAIN brings it again in a moment, all within its deadline. MOVED, CLUSTERDOWN, a
 * connection that cannot be made and one that breaks make the map old: the next user reads it anew,
 * from any node, at most ten times a second. A reply that was lost is lost as with one Redis, and
 * nothing is sent twice. Commands for other nodes do not notice.
 *
 * Source: Redis documentation, "Redis Cluster specification".
 */
#ifndef SECKILL_REDIS_CLUSTER_CLUSTER_H
#define SECKILL_REDIS_CLUSTER_CLUSTER_H

#include "redis/cluster/map.h"
#include "redis/redis_internal.h"

/* In nodes.c: what all threads share. */
struct redis_cluster *redis_cluster_create(const struct redis_server *head); /* borrowed: head */
void redis_cluster_destroy(struct redis_cluster *cluster);                   /* NULL is allowed */
/* The server of the URL itself, which is asked while no node is known. */
struct redis_server *redis_cluster_seed(struct redis_cluster *cluster);
/* Whether a map has been read, and whether it is time to read it (again). */
bool redis_cluster_is_known(struct redis_cluster *cluster);
bool redis_cluster_is_due(struct redis_cluster *cluster);
/* The map may be old. */
void redis_cluster_doubt(struct redis_cluster *cluster);
/* True for one thread at a time, and for all while no map is known; then redis_cluster_end_reading.
 */
bool redis_cluster_begin_reading(struct redis_cluster *cluster);
void redis_cluster_end_reading(struct redis_cluster *cluster);
/* From now on this is the map. */
bool redis_cluster_install(struct redis_cluster *cluster, const struct redis_map *map,
                           struct error *error);
/* Grows with each map that is installed. */
unsigned redis_cluster_version(struct redis_cluster *cluster);

/* Numbers of nodes, -1 for none: the primary of a slot, and a node by its place. Each is held for
 * the caller, so that its number stays its own until redis_cluster_let_go, unless held[number] says
 * that the caller holds it already. The same of a number, if it is in the map. */
bool redis_cluster_hold(struct redis_cluster *cluster, int number, struct redis *const held[]);
int redis_cluster_owner(struct redis_cluster *cluster, int slot, struct redis *const held[]);
int redis_cluster_at(struct redis_cluster *cluster, const struct redis_place *place,
                     struct redis *const held[]);
void redis_cluster_let_go(struct redis_cluster *cluster, int number);
/* Of a number that is held. */
struct redis_server *redis_cluster_node(struct redis_cluster *cluster, int number);
/* A slot has moved to the node of that number, which is held. */
void redis_cluster_move(struct redis_cluster *cluster, int slot, int number);
/* Whether it is in the map. */
bool redis_cluster_has(struct redis_cluster *cluster, int number);
/* The primaries' numbers and the first slot of each, and how many slots nobody has. */
struct redis_primaries {
    int count;
    int numbers[REDIS_PRIMARIES_MAX];
    int slots[REDIS_PRIMARIES_MAX];
    int unserved;
};
void redis_cluster_list(struct redis_cluster *cluster, struct redis_primaries *out);

/* In route.c: a thread's. */
bool redis_cluster_prepare(struct redis *redis); /* false: out of memory */
/* The rows of struct redis_routing. */
bool redis_cluster_connect(struct redis *redis, int64_t until_us);
void redis_cluster_close(struct redis *redis);
void redis_cluster_forget(struct redis *redis);
enum redis_status redis_cluster_run(struct redis *redis, const struct redis_request *request,
                                    redisReply **reply);
int64_t redis_cluster_since_us(const struct redis *redis);
struct redis *redis_cluster_last(const struct redis *redis);
struct redis *redis_cluster_ear(const struct redis *redis);
const char *redis_cluster_channel(const struct redis *redis);
/* Reads the map, whatever is known. False with the session's error. */
bool redis_cluster_read(struct redis *redis, int64_t until_us);
/* The session with the seed, and with a primary; NULL: out of memory, or it is in the map no more.
 */
struct redis *redis_cluster_seed_session(struct redis *redis);
struct redis *redis_cluster_primary(struct redis *redis, int number);

/* In probe.c. Health of the whole: every slot has a primary, and each serves what is needed. */
void redis_cluster_probe(struct redis *redis, const struct redis_needs *needs, int64_t until_us);

#endif
