/*
 * What the nodes of a Redis Cluster say of where its slots are: the whole map (CLUSTER SLOTS), and
 * the errors that send a command to another node.
 *
 * A node that does not know its own name, or is told not to say it, gives none ("", nil or "?"):
 * then it is the host that was asked. Nothing in a reply is believed that is no slot, no port or no
 * name.
 *
 * Source: Redis documentation, "CLUSTER SLOTS", "Redis Cluster specification" (MOVED, ASK).
 */
#ifndef SECKILL_REDIS_CLUSTER_MAP_H
#define SECKILL_REDIS_CLUSTER_MAP_H

#include "redis/cluster/slot.h"
#include "redis/redis_url.h"

#include <stdbool.h>
#include <stdint.h>

struct redisReply; /* hiredis's */

enum { REDIS_PRIMARIES_MAX = 256 };

struct redis_map {
    int count;
    struct redis_place primaries[REDIS_PRIMARIES_MAX];
    uint16_t slots[REDIS_SLOTS]; /* the primary's index + 1; 0: nobody has it */
};

/* Reads the reply to CLUSTER SLOTS of the node at `asked`. False: it is none, or has more primaries
 * than fit. */
bool redis_map_read(const struct redisReply *reply, const char *asked, struct redis_map *map,
                    struct error *error);

enum redis_direction {
    REDIS_STAYS, /* no direction */
    REDIS_MOVED, /* the slot is another node's now */
    REDIS_ASKED, /* this command alone goes to another node: the slot is moving there */
    REDIS_AGAIN, /* some of the keys have moved already and some have not: later */
    REDIS_CROSS, /* the keys have no slot in common */
    REDIS_DOWN   /* the cluster, or the slot, is served by nobody */
};

/* What an error's words tell. `place`, if not NULL, gets a MOVED's or an ASK's; one that names no
 * place is REDIS_STAYS. */
enum redis_direction redis_direction_read(const char *words, const char *asked,
                                          struct redis_place *place);

#endif
