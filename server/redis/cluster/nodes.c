/*
 * The nodes of a cluster and the map of its slots, as all sessions share them.
 *
 * A node is found by its place and has a number as long as it is in the map or a session holds it.
 * One that is in neither leaves its number to the next that is new, so that a cluster whose nodes
 * come and go fills no table.
 */
#include "redis/cluster/cluster.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = REDIS_PRIMARIES_MAX, READ_EVERY_US = 100000 };

struct redis_cluster {
    const struct redis_server *head; /* borrowed */
    struct redis_server *seed;       /* owned */
    atomic_bool known;
    atomic_bool old;
    atomic_bool reading;
    _Atomic int64_t read_us; /* when that was begun last */
    atomic_uint version;
    struct {
        pthread_mutex_t mutex;
        struct redis_server *nodes[NODES_MAX]; /* owned */
        int holders[NODES_MAX];
        bool mapped[NODES_MAX];
        uint16_t slots[REDIS_SLOTS]; /* the primary's number + 1; 0: nobody has it */
    } shared;
};

struct redis_cluster *redis_cluster_create(const struct redis_server *head)
{
    struct redis_cluster *cluster = calloc(1, sizeof *cluster);

    if (!cluster)
        return NULL;
    cluster->head = head;
    cluster->seed = redis_server_create_node(head, &head->url.places[0]);
    if (!cluster->seed) {
        free(cluster);
        return NULL;
    }
    pthread_mutex_init(&cluster->shared.mutex, NULL);
    return cluster;
}

void redis_cluster_destroy(struct redis_cluster *cluster)
{
    if (!cluster)
        return;
    for (int i = 0; i < NODES_MAX; i++)
        redis_server_destroy(cluster->shared.nodes[i]);
    redis_server_destroy(cluster->seed);
    pthread_mutex_destroy(&cluster->shared.mutex);
    free(cluster);
}

struct redis_server *redis_cluster_seed(struct redis_cluster *cluster)
{
    return cluster->seed;
}

bool redis_cluster_is_known(struct redis_cluster *cluster)
{
    return atomic_load(&cluster->known);
}

bool redis_cluster_is_due(struct redis_cluster *cluster)
{
    return !redis_cluster_is_known(cluster) ||
           (atomic_load_explicit(&cluster->old, memory_order_relaxed) &&
            clock_mono_us() - atomic_load(&cluster->read_us) >= READ_EVERY_US);
}

void redis_cluster_doubt(struct redis_cluster *cluster)
{
    atomic_store(&cluster->old, true);
}

bool redis_cluster_begin_reading(struct redis_cluster *cluster)
{
    if (atomic_exchange(&cluster->reading, true) && redis_cluster_is_known(cluster))
        return false;
    atomic_store(&cluster->read_us, clock_mono_us());
    /* A mistake that is met from here on may be in the map that is read now. */
    atomic_store(&cluster->old, false);
    return true;
}

void redis_cluster_end_reading(struct redis_cluster *cluster)
{
    atomic_store(&cluster->reading, false);
}

unsigned redis_cluster_version(struct redis_cluster *cluster)
{
    return atomic_load(&cluster->version);
}

/* All below hold the mutex. */

static int find(const struct redis_cluster *cluster, const struct redis_place *place)
{
    for (int i = 0; i < NODES_MAX; i++) {
        const struct redis_server *node = cluster->shared.nodes[i];
        if (node && node->url.places[0].port == place->port &&
            strcmp(node->url.places[0].host, place->host) == 0)
            return i;
    }
    return -1;
}

static int find_or_add(struct redis_cluster *cluster, const struct redis_place *place)
{
    int number = find(cluster, place);

    for (int i = 0; number < 0 && i < NODES_MAX; i++) {
        if (cluster->shared.nodes[i] &&
            (cluster->shared.mapped[i] || cluster->shared.holders[i] > 0))
            continue;
        redis_server_destroy(cluster->shared.nodes[i]);
        cluster->shared.nodes[i] = redis_server_create_node(cluster->head, place);
        return cluster->shared.nodes[i] ? i : -1;
    }
    return number;
}

static int hold(struct redis_cluster *cluster, int number, struct redis *const held[])
{
    if (number >= 0 && !held[number])
        cluster->shared.holders[number]++;
    return number;
}

static bool install(struct redis_cluster *cluster, const struct redis_map *map)
{
    int numbers[REDIS_PRIMARIES_MAX] = {0};

    memset(cluster->shared.mapped, 0, sizeof cluster->shared.mapped);
    /* Those that are there first, or a new one could take their number. */
    for (int i = 0; i < map->count; i++) {
        numbers[i] = find(cluster, &map->primaries[i]);
        if (numbers[i] >= 0)
            cluster->shared.mapped[numbers[i]] = true;
    }
    bool fits = true;
    for (int i = 0; i < map->count; i++) {
        if (numbers[i] < 0)
            numbers[i] = find_or_add(cluster, &map->primaries[i]);
        if (numbers[i] >= 0)
            cluster->shared.mapped[numbers[i]] = true;
        else
            fits = false;
    }
    for (int slot = 0; slot < REDIS_SLOTS; slot++)
        cluster->shared.slots[slot] =
            map->slots[slot] ? (uint16_t)(numbers[map->slots[slot] - 1] + 1) : 0;
    return fits;
}

/* The mutex is taken. */

bool redis_cluster_install(struct redis_cluster *cluster, const struct redis_map *map,
                           struct error *error)
{
    pthread_mutex_lock(&cluster->shared.mutex);
    bool fits = install(cluster, map);
    pthread_mutex_unlock(&cluster->shared.mutex);
    atomic_fetch_add(&cluster->version, 1);
    atomic_store(&cluster->known, true);
    return fits || error_set(error, ERROR_INTERNAL, "no room for the cluster's nodes");
}

bool redis_cluster_hold(struct redis_cluster *cluster, int number, struct redis *const held[])
{
    pthread_mutex_lock(&cluster->shared.mutex);
    bool mapped = cluster->shared.mapped[number];
    if (mapped)
        hold(cluster, number, held);
    pthread_mutex_unlock(&cluster->shared.mutex);
    return mapped;
}

int redis_cluster_owner(struct redis_cluster *cluster, int slot, struct redis *const held[])
{
    pthread_mutex_lock(&cluster->shared.mutex);
    int number = hold(cluster, cluster->shared.slots[slot] - 1, held);
    pthread_mutex_unlock(&cluster->shared.mutex);
    return number;
}

int redis_cluster_at(struct redis_cluster *cluster, const struct redis_place *place,
                     struct redis *const held[])
{
    pthread_mutex_lock(&cluster->shared.mutex);
    int number = hold(cluster, find_or_add(cluster, place), held);
    pthread_mutex_unlock(&cluster->shared.mutex);
    return number;
}

void redis_cluster_let_go(struct redis_cluster *cluster, int number)
{
    pthread_mutex_lock(&cluster->shared.mutex);
    cluster->shared.holders[number]--;
    pthread_mutex_unlock(&cluster->shared.mutex);
}

struct redis_server *redis_cluster_node(struct redis_cluster *cluster, int number)
{
    pthread_mutex_lock(&cluster->shared.mutex);
    struct redis_server *node = cluster->shared.nodes[number];
    pthread_mutex_unlock(&cluster->shared.mutex);
    return node;
}

void redis_cluster_move(struct redis_cluster *cluster, int slot, int number)
{
    pthread_mutex_lock(&cluster->shared.mutex);
    cluster->shared.slots[slot] = (uint16_t)(number + 1);
    cluster->shared.mapped[number] = true;
    pthread_mutex_unlock(&cluster->shared.mutex);
}

bool redis_cluster_has(struct redis_cluster *cluster, int number)
{
    pthread_mutex_lock(&cluster->shared.mutex);
    bool mapped = cluster->shared.mapped[number];
    pthread_mutex_unlock(&cluster->shared.mutex);
    return mapped;
}

void redis_cluster_list(struct redis_cluster *cluster, struct redis_primaries *out)
{
    bool seen[NODES_MAX + 1] = {false};

    out->count = out->unserved = 0;
    pthread_mutex_lock(&cluster->shared.mutex);
    for (int slot = 0; slot < REDIS_SLOTS; slot++) {
        int number = cluster->shared.slots[slot];
        out->unserved += number == 0;
        if (number == 0 || seen[number])
            continue;
        seen[number] = true;
        out->numbers[out->count] = number - 1;
        out->slots[out->count++] = slot;
    }
    pthread_mutex_unlock(&cluster->shared.mutex);
}
