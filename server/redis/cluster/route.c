/*
 * A session with a cluster: a session with each node that it has met, and each command's way to one
 * of them.
 */
#include "redis/cluster/cluster.h"

#include "base/clock.h"
#include "base/random/random.h"
#include "metrics/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    READ_MOST_US = 500000,
    TRIES_MAX = 200, /* of one command; TRYAGAIN pauses in between */
    TRIES_AT_ONCE = 3,
    TRY_LEAST_US = 200000, /* a try after TRYAGAIN that has less may lose its answer */
    AIMS = 64              /* slots that are remembered, each of another 64th of all */
};

struct redis_route {
    unsigned version;                         /* of the map that is known to it */
    struct redis *seed;                       /* owned */
    struct redis *nodes[REDIS_PRIMARIES_MAX]; /* owned, by number; each is held */
    struct redis *ear;                        /* borrowed: one of these */
    struct redis *last;                       /* borrowed: the one that the last call went to */
    struct aim {                              /* who has served a slot: */
        const struct redis *node;             /* not looked into: it may be gone */
        int64_t node_since_us;
        int64_t since_us; /* when that became so */
        int slot;
    } aims[AIMS];
    char channel[REDIS_CHANNEL_MAX];
};

static struct redis_cluster *cluster_of(const struct redis *redis)
{
    return redis->server->cluster;
}

static const char *host_of(const struct redis *node)
{
    return node->server->url.places[0].host;
}

bool redis_cluster_prepare(struct redis *redis)
{
    if (!redis->route)
        redis->route = calloc(1, sizeof *redis->route);
    return redis->route || error_set(&redis->error, ERROR_INTERNAL, "Redis: out of memory");
}

/* With a node whose number is held, or with the seed (-1). NULL: out of memory. */
static struct redis *session_with(struct redis *redis, int number)
{
    struct redis **at = number < 0 ? &redis->route->seed : &redis->route->nodes[number];

    if (!*at)
        *at = redis_create(number < 0 ? redis_cluster_seed(cluster_of(redis))
                                      : redis_cluster_node(cluster_of(redis), number));
    if (!*at) {
        error_set(&redis->error, ERROR_INTERNAL, "Redis: out of memory");
        if (number >= 0)
            redis_cluster_let_go(cluster_of(redis), number);
    }
    return *at;
}

struct redis *redis_cluster_seed_session(struct redis *redis)
{
    return session_with(redis, -1);
}

struct redis *redis_cluster_primary(struct redis *redis, int number)
{
    return redis_cluster_hold(cluster_of(redis), number, redis->route->nodes)
               ? session_with(redis, number)
               : NULL;
}

static void drop(struct redis *redis, int number)
{
    if (redis->route->last == redis->route->nodes[number])
        redis->route->last = NULL;
    redis_destroy(redis->route->nodes[number]);
    redis->route->nodes[number] = NULL;
    redis_cluster_let_go(cluster_of(redis), number);
}

/* Sessions with nodes that have left the map. */
static void drop_strangers(struct redis *redis)
{
    struct redis_route *route = redis->route;
    unsigned version = redis_cluster_version(cluster_of(redis));

    if (route->version == version)
        return;
    route->version = version;
    for (int i = 0; i < REDIS_PRIMARIES_MAX; i++)
        if (route->nodes[i] && route->nodes[i] != route->ear &&
            !redis_cluster_has(cluster_of(redis), i))
            drop(redis, i);
}

void redis_cluster_close(struct redis *redis)
{
    for (int i = 0; redis->route && i < REDIS_PRIMARIES_MAX; i++)
        if (redis->route->nodes[i])
            redis_close(redis->route->nodes[i]);
}

void redis_cluster_forget(struct redis *redis)
{
    if (!redis->route)
        return;
    for (int i = 0; i < REDIS_PRIMARIES_MAX; i++)
        if (redis->route->nodes[i])
            drop(redis, i);
    redis_destroy(redis->route->seed);
    free(redis->route);
    redis->route = NULL;
}

struct redis *redis_cluster_ear(const struct redis *redis)
{
    return redis->route ? redis->route->ear : NULL;
}

static struct aim *aim_of(const struct redis *redis)
{
    return &redis->route->aims[(redis->aim - 1) * AIMS / REDIS_SLOTS];
}

/* A node that was not asked for the slot before may not have what the one before it had. */
static void note_served(struct redis *redis, struct redis *node)
{
    if (!redis->aim)
        return;
    struct aim *aim = aim_of(redis);
    if (aim->slot != redis->aim || aim->node != node || aim->node_since_us != node->since_us)
        *aim = (struct aim){node, node->since_us, clock_mono_us(), redis->aim};
}

int64_t redis_cluster_since_us(const struct redis *redis)
{
    return redis->route && redis->aim && aim_of(redis)->slot == redis->aim ? aim_of(redis)->since_us
                                                                           : clock_mono_us();
}

struct redis *redis_cluster_last(const struct redis *redis)
{
    return redis->route ? redis->route->last : NULL;
}

const char *redis_cluster_channel(const struct redis *redis)
{
    return redis->route->channel;
}

/* Why the node did not do it, with its place: there are several. */
static void blame(struct redis *redis, const struct redis *node)
{
    char place[REDIS_HOST_MAX + 8];

    redis_server_place(node->server, place, sizeof place);
    error_set(&redis->error, node->error.code, "Redis: %s: %s", place, redis_reason(node));
}

static bool ask_map(struct redis *redis, struct redis *node, int64_t until_us,
                    struct redis_map *map)
{
    redisReply *reply = NULL;
    bool read = false;

    if (!redis_connect(node, until_us)) {
        blame(redis, node);
        return false;
    }
    node->optional = true;
    if (redis_command(node, 2, (const char *const[]){"CLUSTER", "SLOTS"}, until_us, &reply) !=
        REDIS_OK) {
        blame(redis, node);
    } else if (redis_map_read(reply, host_of(node), map, &redis->error) &&
               redis_cluster_install(cluster_of(redis), map, &redis->error)) {
        read = true;
    } else {
        error_prefix(&redis->error, "Redis: %s", host_of(node));
    }
    node->optional = false;
    if (reply)
        freeReplyObject(reply);
    /* What nobody has surveyed yet, because an error said that this is a cluster. */
    if (read && redis_server_version(redis->server) == 0 && redis_survey(node, until_us))
        redis_server_note(redis->server, redis_server_version(node->server),
                          redis_server_flaws(node->server));
    return read;
}

/* Any node's map will do, from a random one on, and the seed's if no node gives one. */
static bool read_map(struct redis *redis, int64_t until_us, struct redis_map *map)
{
    int first = (int)random_below(REDIS_PRIMARIES_MAX);
    int64_t end_us = clock_earlier(until_us, clock_mono_us() + READ_MOST_US);

    for (int i = 0; i < REDIS_PRIMARIES_MAX && clock_mono_us() < end_us; i++) {
        int number = (first + i) % REDIS_PRIMARIES_MAX;
        struct redis *node = redis_cluster_primary(redis, number);
        int64_t now_us = clock_mono_us();
        if (node && ask_map(redis, node, now_us + (end_us - now_us) / 2, map))
            return true;
    }
    struct redis *seed = redis_cluster_seed_session(redis);
    return seed && ask_map(redis, seed, end_us, map);
}

bool redis_cluster_read(struct redis *redis, int64_t until_us)
{
    struct redis_cluster *cluster = cluster_of(redis);

    if (!redis_cluster_prepare(redis))
        return false;
    if (!redis_cluster_begin_reading(cluster))
        return true;
    struct cost before = cost_of_thread[COST_REDIS];
    struct redis_map *map = malloc(sizeof *map);
    bool read = map ? read_map(redis, until_us, map)
                    : error_set(&redis->error, ERROR_INTERNAL, "Redis: out of memory");
    if (!read)
        redis_cluster_doubt(cluster);
    redis_cluster_end_reading(cluster);
    cost_of_thread[COST_REDIS] = before;
    free(map);
    return read;
}

static bool know_map(struct redis *redis, int64_t until_us)
{
    struct redis_cluster *cluster = cluster_of(redis);

    if (!redis_cluster_prepare(redis))
        return false;
    if (redis_cluster_is_due(cluster) && !redis_cluster_read(redis, until_us) &&
        !redis_cluster_is_known(cluster))
        return false;
    drop_strangers(redis);
    return true;
}

static struct redis *session_of(struct redis *redis, int slot, int64_t until_us)
{
    if (!know_map(redis, until_us))
        return NULL;
    int number = redis_cluster_owner(cluster_of(redis), slot, redis->route->nodes);
    if (number >= 0)
        return session_with(redis, number);
    redis_cluster_doubt(cluster_of(redis));
    error_set(&redis->error, ERROR_UNAVAILABLE, "Redis: no node of the cluster has slot %d", slot);
    return NULL;
}

static struct redis *session_at(struct redis *redis, const struct redis_place *place, int slot)
{
    int number = redis_cluster_at(cluster_of(redis), place, redis->route->nodes);

    if (number < 0) {
        error_set(&redis->error, ERROR_INTERNAL, "Redis: no room for the cluster's nodes");
        return NULL;
    }
    struct redis *node = session_with(redis, number);
    if (node && slot >= 0)
        redis_cluster_move(cluster_of(redis), slot, number);
    return node;
}

/* One way of a command. The node that it goes to: where the last error sent it, or by the map. */
struct way {
    int slot;
    int tries;
    enum redis_direction direction;
    struct redis_place place;
};

static struct redis *next_node(struct redis *redis, const struct way *way, int64_t until_us)
{
    if (way->direction == REDIS_MOVED || way->direction == REDIS_ASKED)
        return session_at(redis, &way->place, way->direction == REDIS_MOVED ? way->slot : -1);
    return session_of(redis, way->slot, until_us);
}

static bool is_moving(const struct way *way)
{
    return way->direction == REDIS_MOVED || way->direction == REDIS_ASKED ||
           way->direction == REDIS_AGAIN;
}

/* Nothing was executed: whether it is to be sent again, after a pause where it could go round. */
static bool goes_on(struct redis *redis, struct redis *node, struct way *way, int64_t until_us)
{
    way->direction = redis_direction_read(redis_reason(node), host_of(node), &way->place);
    /* A script may touch keys that its call does not name. Where they have gone their absence is an
     * error; where they are to come they would be taken for keys that nobody has. */
    if (way->direction == REDIS_ASKED && redis->aim)
        way->direction = REDIS_AGAIN;
    if (way->direction == REDIS_MOVED || way->direction == REDIS_DOWN)
        redis_cluster_doubt(cluster_of(redis));
    if (!is_moving(way) || ++way->tries >= TRIES_MAX)
        return false;
    if (way->direction == REDIS_AGAIN || way->tries > TRIES_AT_ONCE)
        clock_sleep_until(
            clock_earlier(clock_mono_us() + random_backoff_us((unsigned)way->tries), until_us));
    return clock_mono_us() + (way->direction == REDIS_AGAIN ? TRY_LEAST_US : 0) < until_us;
}

/* No connection, so nothing was sent: another node may have the slot by now. */
static bool has_another(struct redis *redis, const struct redis *node, struct way *way,
                        int64_t until_us)
{
    redis_cluster_doubt(cluster_of(redis));
    blame(redis, node);
    struct error error = redis->error;
    way->direction = REDIS_STAYS;
    const struct redis *now = session_of(redis, way->slot, until_us);
    redis->error = error;
    return now && now != node && ++way->tries < TRIES_AT_ONCE && clock_mono_us() < until_us;
}

bool redis_cluster_connect(struct redis *redis, int64_t until_us)
{
    struct way way = {.slot = redis->aim - 1};

    if (!redis->aim)
        return know_map(redis, until_us);
    for (;;) {
        struct redis *node = session_of(redis, way.slot, until_us);
        if (!node)
            return false;
        if (redis_connect(node, until_us)) {
            note_served(redis, node);
            return true;
        }
        if (!has_another(redis, node, &way, until_us))
            return false;
    }
}

static void keep_ear(struct redis *redis, struct redis *node, const struct redis_request *request)
{
    if (!request->channel)
        return;
    redis->route->ear = node;
    if (request->channel != redis->route->channel) /* once more, where it has gone */
        snprintf(redis->route->channel, sizeof redis->route->channel, "%s", request->channel);
}

enum redis_status redis_cluster_run(struct redis *redis, const struct redis_request *request,
                                    redisReply **reply)
{
    struct way way = {.slot = redis->aim ? redis->aim - 1 : redis_slot(request->key)};
    int64_t until_us = request->until_us;

    redis->moving = false;
    for (*reply = NULL;;) {
        struct redis *node = next_node(redis, &way, until_us);
        if (!node)
            return REDIS_REFUSED;
        if (!redis_connect(node, until_us)) {
            if (has_another(redis, node, &way, until_us))
                continue;
            return REDIS_REFUSED;
        }
        note_served(redis, node);
        redis->route->last = node;
        node->asking = way.direction == REDIS_ASKED;
        enum redis_status status = request->send(node, request, reply);
        node->asking = false;
        if (status == REDIS_OK) {
            keep_ear(redis, node, request);
            return status;
        }
        blame(redis, node);
        if (status == REDIS_LOST) {
            redis_cluster_doubt(cluster_of(redis));
            return status;
        }
        if (!goes_on(redis, node, &way, until_us)) {
            redis->moving = is_moving(&way);
            return status;
        }
        if (*reply)
            freeReplyObject(*reply);
        *reply = NULL;
    }
}
