/* See stock_lease.h: a look, and what is done where the number of streams has changed. */
#include "strategies/redis_stock/stock_lease.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#define STOCK_LEASE_MS "10000"
#define SEVERAL        " --stock-streams "
enum { LOOK_US = 500000, TIMEOUT_US = 1000000, OWNER_MAX = STORE_MARK_SIZE + 24 };

bool stock_lease_init(struct stock_lease *lease, const struct services *services,
                      const struct stock_shards *shards, struct error *error)
{
    *lease = (struct stock_lease){.services = services,
                                  .shards = shards,
                                  .redis = redis_create(services->backends[BACKEND_STOCK_REDIS])};
    if (!lease->redis)
        return error_set(error, ERROR_INTERNAL, "out of memory");
    random_token(lease->instance);
    stock_lease_keep(lease);
    return true;
}

/* About the shard that there is of a single stream, or another one. */
static struct stock_link link_of(struct stock_lease *lease, const struct stock_shard *shard)
{
    struct stock_link link = {.settings = lease->services->settings,
                              .redis = lease->redis,
                              .until_us = clock_mono_us() + TIMEOUT_US};

    stock_aim(&link, shard);
    return link;
}

/* What a look finds: "" or the other owner, and how many streams were used last. */
struct finding {
    char other[OWNER_MAX];
    int streams;
};

/* False: Redis did not answer. */
static bool ask(struct stock_lease *lease, const char *owner, struct finding *out)
{
    char leases[STOCK_KEY_MAX];
    char streams[STOCK_KEY_MAX];
    struct stock_shards single;
    struct redis_reply *reply;

    stock_shards_init(&single, lease->services->settings, 1);
    struct stock_link link = link_of(lease, &single.at[0]);
    stock_key(link.shard, "leases", -1, leases);
    stock_key(link.shard, "streams", -1, streams);
    if (!redis_connect(lease->redis, link.until_us) ||
        redis_eval(lease->redis, LUA_STOCK_LEASE, 2, 5,
                   (const char *const[]){leases, streams, lease->instance, owner, STOCK_LEASE_MS},
                   link.until_us, &reply) != REDIS_OK)
        return false;
    const char *other = redis_reply_text(redis_reply_at(reply, 0));
    int64_t used = redis_reply_number(redis_reply_at(reply, 1));
    snprintf(out->other, sizeof out->other, "%s", other ? other : "");
    out->streams = used >= 1 && used <= STOCK_SHARDS_MAX ? (int)used : 1;
    redis_reply_free(reply);
    return true;
}

/* Closes the shards or opens them, as far as Redis answers; how many entries wait in those that
 * were closed, -1: it did not for some. */
static int64_t set_closed(struct stock_lease *lease, const struct stock_shards *shards, bool closed)
{
    static const char *const names[] = {"units", "loaded", "orders", "waiting"};
    enum { KEYS = sizeof names / sizeof *names };
    char keys[KEYS][STOCK_KEY_MAX];
    int64_t sum = 0;
    bool known = true;

    for (int i = 0; i < shards->count; i++) {
        struct stock_link link = link_of(lease, &shards->at[i]);
        const char *arguments[KEYS + 2] = {
            keys[0], keys[1], keys[2], keys[3], link.shard->prefix, closed ? "1" : "0"};
        int64_t waiting = 0;
        for (int k = 0; k < KEYS; k++)
            stock_key(link.shard, names[k], -1, keys[k]);
        if (!redis_connect(lease->redis, link.until_us) ||
            redis_script(lease->redis, LUA_STOCK_CLOSE, KEYS, KEYS + 2, arguments, link.until_us,
                         &waiting) != REDIS_OK)
            known = false;
        sum += waiting;
    }
    return known ? sum : -1;
}

/* Closes the shards of another number, which were used until now. False: orders wait in them. */
static bool close_others(struct stock_lease *lease, int streams, char words[REDIS_WHY_MAX])
{
    struct stock_shards others;

    stock_shards_init(&others, lease->services->settings, streams);
    int64_t waiting = set_closed(lease, &others, true);
    if (waiting > 0)
        snprintf(words, REDIS_WHY_MAX,
                 "%lld batches of orders wait in the streams of --stock-streams %d, and this is "
                 "%d: start an instance with that until they are decided",
                 (long long)waiting, streams, lease->shards->count);
    return waiting == 0;
}

static bool note_streams(struct stock_lease *lease)
{
    struct stock_shards single;
    char key[STOCK_KEY_MAX];
    char number[STOCK_NUMBER_MAX];

    stock_shards_init(&single, lease->services->settings, 1);
    struct stock_link link = link_of(lease, &single.at[0]);
    stock_key(link.shard, "streams", -1, key);
    stock_number(lease->shards->count, number);
    return redis_send(lease->redis, 3, (const char *const[]){"SET", key, number}, link.until_us) ==
           REDIS_OK;
}

/* Whether our shards may be used, where `streams` were until now; `words` say why not. */
static bool agree(struct stock_lease *lease, int streams, char words[REDIS_WHY_MAX])
{
    if (streams == lease->shards->count) {
        if (!stock_lease_agreed(lease))
            set_closed(lease, lease->shards, false); /* one that stays closed says so */
        return true;
    }
    if (close_others(lease, streams, words) && set_closed(lease, lease->shards, false) >= 0 &&
        note_streams(lease))
        return true;
    if (!*words)
        snprintf(words, REDIS_WHY_MAX,
                 "whether orders wait in the streams of --stock-streams %d, and this is %d, is not "
                 "known: %.*s",
                 streams, lease->shards->count, REDIS_WHY_MAX / 2, redis_error(lease->redis)->text);
    return false;
}

static void name_other(const struct stock_lease *lease, const char *mark, const char *owner,
                       const char *other, char words[REDIS_WHY_MAX])
{
    size_t length = strlen(mark);
    bool same = strncmp(other, mark, length) == 0 &&
                (!other[length] || strncmp(other + length, SEVERAL, strlen(SEVERAL)) == 0);

    if (same)
        snprintf(words, REDIS_WHY_MAX,
                 "other instances sell there with --stock-streams %s, and this one has %d: all "
                 "need the same",
                 other[length] ? other + length + strlen(SEVERAL) : "1", lease->shards->count);
    else
        snprintf(words, REDIS_WHY_MAX,
                 "under the name %s it is database %s's, and this is %s: give one of them another "
                 "--system-name, or another database of a Redis (--stock-redis)",
                 lease->services->settings->system_name, other, owner);
}

void stock_lease_keep(struct stock_lease *lease)
{
    char mark[STORE_MARK_SIZE];
    char owner[OWNER_MAX];
    char words[REDIS_WHY_MAX] = "";
    struct finding found;

    if (clock_mono_us() < lease->look_at_us)
        return;
    lease->look_at_us = clock_mono_us() + LOOK_US;
    store_mark(services_store(lease->services), mark);
    snprintf(owner, sizeof owner, "%s", mark);
    if (lease->shards->count > 1)
        snprintf(owner + strlen(mark), sizeof owner - strlen(mark), SEVERAL "%d",
                 lease->shards->count);
    if (!*mark || !ask(lease, owner, &found))
        return;
    if (*found.other)
        name_other(lease, mark, owner, found.other, words);
    else if (agree(lease, found.streams, words))
        atomic_store(&lease->agreed, true);
    else
        ask(lease, "", &found); /* for an instance with that number */
    redis_server_take(lease->redis, words);
}

bool stock_lease_agreed(struct stock_lease *lease)
{
    return atomic_load(&lease->agreed);
}

void stock_lease_doubt(struct stock_lease *lease)
{
    atomic_store(&lease->agreed, false);
}

void stock_lease_fini(struct stock_lease *lease)
{
    struct finding nobody;

    if (lease->redis)
        ask(lease, "", &nobody);
    redis_destroy(lease->redis);
}
