/*
 * The health of a cluster as a whole: each slot has a primary, and each primary serves what the
 * strategies need. One that does not is named; what is locked on the others goes on being sold.
 *
 * The server of the URL is asked first: while it says that it is of no cluster, nothing here holds.
 * When it is gone the nodes that are known have to do. Each is probed like any other Redis, with
 * keys that are in a slot of its own, in its share of the time, so that one that hangs hides no
 * other.
 */
#include "redis/cluster/cluster.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

enum { SEED_SHARE = 4, NUMBERS_MAX = 1000000 };

/* The findings, over all nodes. */
struct verdict {
    int nodes;
    int failing;
    int slots; /* that nobody has */
    int version;
    unsigned flaws;
    bool lags;
    char place[REDIS_HOST_MAX + 8]; /* of the first that fails, */
    char why[REDIS_WHY_MAX];        /* and its words */
};

/* False: it is known to be no cluster. */
static bool is_cluster_still(struct redis *redis, int64_t until_us)
{
    struct redis *seed = redis_cluster_seed_session(redis);

    if (!seed || !redis_open(seed, until_us) || !redis_survey(seed, until_us) ||
        redis_server_is_cluster(seed->server))
        return true;
    atomic_store_explicit(&redis->server->clustered, false, memory_order_relaxed);
    atomic_store_explicit(&seed->server->clustered, true, memory_order_relaxed);
    redis_close(redis);
    return false;
}

/* "NAME{7}"; of a key with a tag, "{TAG}NAME", "{TAG:7}NAME". */
static void name_key(const char *of, int number, char out[REDIS_KEY_MAX])
{
    int tag = (int)strcspn(of, "}");

    if (of[tag])
        snprintf(out, REDIS_KEY_MAX, "%.*s:%d%s", tag, of, number, of + tag);
    else
        snprintf(out, REDIS_KEY_MAX, "%.*s{%d}", REDIS_KEY_MAX - 20, of, number);
}

/* Keys with a number such that their slot is the node's. */
static void name_keys(struct redis_server *node, int slot, const struct redis_needs *of,
                      struct redis_needs *needs)
{
    *needs = *of;
    for (int i = 0; i < NUMBERS_MAX; i++) {
        name_key(of->absent, node->probed, needs->absent);
        if (redis_slot(needs->absent) == slot)
            break;
        node->probed = (node->probed + 1) % NUMBERS_MAX;
    }
    name_key(of->hash, node->probed, needs->hash);
    name_key(of->kept, node->probed, needs->kept);
}

static void add(struct redis_server *node, struct verdict *verdict)
{
    int version = redis_server_version(node);
    char why[REDIS_WHY_MAX];

    redis_server_why(node, why);
    verdict->nodes++;
    verdict->flaws |= redis_server_flaws(node);
    verdict->lags |= redis_server_lags(node);
    if (version && (!verdict->version || version < verdict->version))
        verdict->version = version;
    if (why[0] && verdict->failing++ == 0) {
        redis_server_place(node, verdict->place, sizeof verdict->place);
        memcpy(verdict->why, why, sizeof why);
    }
}

static void tell(struct redis_server *server, const struct verdict *verdict)
{
    char words[REDIS_WHY_MAX];

    redis_server_note(server, verdict->version ? verdict->version : redis_server_version(server),
                      verdict->flaws);
    atomic_store_explicit(&server->lags, verdict->lags, memory_order_relaxed);
    if (verdict->failing > 0)
        snprintf(words, sizeof words, "%d of the cluster's %d primaries: %s: %.*s",
                 verdict->failing, verdict->nodes, verdict->place, REDIS_WHY_MAX / 2, verdict->why);
    else
        snprintf(words, sizeof words, "%d of the cluster's %d slots are served by nobody",
                 verdict->slots, REDIS_SLOTS);
    if (verdict->failing > 0 || verdict->slots > 0)
        redis_server_note_refusal(server, words);
    else
        redis_server_note_served(server);
}

static void probe_all(struct redis *redis, const struct redis_needs *of, int64_t until_us,
                      struct verdict *verdict)
{
    struct redis_primaries all;

    redis_cluster_list(redis->server->cluster, &all);
    verdict->slots = all.unserved;
    for (int i = 0; i < all.count; i++) {
        struct redis *node = redis_cluster_primary(redis, all.numbers[i]);
        int64_t now_us = clock_mono_us();
        struct redis_needs needs;

        if (!node)
            continue;
        name_keys(node->server, all.slots[i], of, &needs);
        redis_probe_needs(node, &needs, now_us + (until_us - now_us) / (all.count - i));
        add(node->server, verdict);
    }
}

void redis_cluster_probe(struct redis *redis, const struct redis_needs *needs, int64_t until_us)
{
    struct redis_server *server = redis->server;
    int64_t share_us = (until_us - clock_mono_us()) / SEED_SHARE;
    struct verdict verdict = {0};

    if (!redis_cluster_prepare(redis) || !is_cluster_still(redis, clock_mono_us() + share_us))
        return;
    redis_cluster_doubt(server->cluster);
    redis_cluster_read(redis, clock_mono_us() + share_us);
    if (!redis_cluster_connect(redis, until_us)) {
        redis_server_note_unreached(server, redis_reason(redis));
        return;
    }
    probe_all(redis, needs, until_us, &verdict);
    tell(server, &verdict);
}
