#include "redis/cluster/map.h"

#include <hiredis/hiredis.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT_MAX = 65535, PORT_DIGITS = 5, RANGE_LEAST = 3, NODE_LEAST = 2 };

static bool fill_place(const char *host, size_t length, int64_t port, const char *asked,
                       struct redis_place *place)
{
    if (length == 0 || (length == 1 && *host == '?')) {
        host = asked;
        length = strlen(asked);
    }
    if (length == 0 || length > REDIS_HOST_MAX || memchr(host, '\0', length) || port < 1 ||
        port > PORT_MAX)
        return false;
    memcpy(place->host, host, length);
    place->host[length] = '\0';
    place->port = (int)port;
    return true;
}

/* The primary stands first among a range's nodes. */
static bool read_primary(const redisReply *node, const char *asked, struct redis_place *place)
{
    if (node->type != REDIS_REPLY_ARRAY || node->elements < NODE_LEAST ||
        node->element[1]->type != REDIS_REPLY_INTEGER)
        return false;
    const redisReply *host = node->element[0];
    bool named = host->type == REDIS_REPLY_STRING;

    return (named || host->type == REDIS_REPLY_NIL) &&
           fill_place(named ? host->str : "", named ? (size_t)host->len : 0,
                      node->element[1]->integer, asked, place);
}

/* Its index + 1; 0: there are too many. */
static uint16_t number_of(struct redis_map *map, const struct redis_place *place)
{
    for (int i = 0; i < map->count; i++)
        if (map->primaries[i].port == place->port &&
            strcmp(map->primaries[i].host, place->host) == 0)
            return (uint16_t)(i + 1);
    if (map->count == REDIS_PRIMARIES_MAX)
        return 0;
    map->primaries[map->count++] = *place;
    return (uint16_t)map->count;
}

static bool is_range(const redisReply *range)
{
    return range->type == REDIS_REPLY_ARRAY && range->elements >= RANGE_LEAST &&
           range->element[0]->type == REDIS_REPLY_INTEGER &&
           range->element[1]->type == REDIS_REPLY_INTEGER && range->element[0]->integer >= 0 &&
           range->element[0]->integer <= range->element[1]->integer &&
           range->element[1]->integer < REDIS_SLOTS;
}

bool redis_map_read(const redisReply *reply, const char *asked, struct redis_map *map,
                    struct error *error)
{
    memset(map, 0, sizeof *map);
    if (reply->type != REDIS_REPLY_ARRAY)
        return error_set(error, ERROR_UNSUITABLE, "CLUSTER SLOTS answers no list of slots");
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *range = reply->element[i];
        struct redis_place place;

        if (!is_range(range) || !read_primary(range->element[2], asked, &place))
            return error_set(error, ERROR_UNSUITABLE, "CLUSTER SLOTS has a range without a place");
        uint16_t number = number_of(map, &place);
        if (number == 0)
            return error_set(error, ERROR_UNSUITABLE, "the cluster has more than %d primaries",
                             REDIS_PRIMARIES_MAX);
        for (int64_t slot = range->element[0]->integer; slot <= range->element[1]->integer; slot++)
            map->slots[slot] = number;
    }
    return true;
}

/* "MOVED 3999 HOST:PORT"; an IPv6 address stands without brackets, so the last colon is the port's.
 */
static bool read_place(const char *words, const char *asked, struct redis_place *place)
{
    const char *slot = strchr(words, ' ');
    const char *host = slot ? strchr(slot + 1, ' ') : NULL;
    const char *colon = host ? strrchr(host, ':') : NULL;

    if (!colon)
        return false;
    size_t digits = strspn(colon + 1, "0123456789");
    if (digits == 0 || digits > PORT_DIGITS || colon[1 + digits])
        return false;
    host++;
    return fill_place(host, (size_t)(colon - host), strtol(colon + 1, NULL, 10), asked, place);
}

enum redis_direction redis_direction_read(const char *words, const char *asked,
                                          struct redis_place *place)
{
    static const struct {
        const char *word;
        enum redis_direction direction;
    } rows[] = {{"MOVED", REDIS_MOVED},
                {"ASK", REDIS_ASKED},
                {"TRYAGAIN", REDIS_AGAIN},
                {"CROSSSLOT", REDIS_CROSS},
                {"CLUSTERDOWN", REDIS_DOWN}};
    size_t length = strcspn(words, " ");
    enum redis_direction found = REDIS_STAYS;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strlen(rows[i].word) == length && strncmp(words, rows[i].word, length) == 0)
            found = rows[i].direction;
    if (place && (found == REDIS_MOVED || found == REDIS_ASKED) && !read_place(words, asked, place))
        return REDIS_STAYS;
    return found;
}
