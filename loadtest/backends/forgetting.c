/* See forgetting.h. */
#include "loadtest/backends/forgetting.h"

#include "base/clock.h"
#include "loadtest/backends/redis_words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EVICT_LIMIT_US = 1000000, EVICT_POLL_US = 1000 };

bool forgetting_set_sync(const char *redis, const char *appendfsync, struct error *error)
{
    redisContext *link = redis_link_open(redis, error);
    bool set = link && redis_words_tell(link, error, "CONFIG SET appendfsync %s", appendfsync);

    if (link)
        redisFree(link);
    return set;
}

/* The newest "incr" line of the manifest names the file that is written to. */
static bool read_manifest(const char *folder, char *path, size_t size, struct error *error)
{
    char manifest[1100], line[512], name[256];
    bool found = false;

    snprintf(manifest, sizeof manifest, "%s/appendonly.aof.manifest", folder);
    FILE *from = fopen(manifest, "r");
    while (from && fgets(line, sizeof line, from)) {
        if (sscanf(line, "file %255s seq %*d type i", name) != 1 || !strstr(line, " type i"))
            continue;
        snprintf(path, size, "%s/%s", folder, name);
        found = true;
    }
    if (from)
        fclose(from);
    return found || error_fail(error, "%s names no file that is appended to", manifest);
}

static bool find_file(redisContext *redis, char *path, size_t size, struct error *error)
{
    char folder[512], below[256], both[800], appends[8];

    if (!redis_words_config(redis, "appendonly", appends, sizeof appends, error) ||
        !redis_words_config(redis, "dir", folder, sizeof folder, error) ||
        !redis_words_config(redis, "appenddirname", below, sizeof below, error))
        return false;
    if (strcmp(appends, "yes") != 0)
        return error_fail(error, "this Redis keeps no append-only file: it forgets everything");
    snprintf(both, sizeof both, "%s/%s", folder, below);
    return read_manifest(both, path, size, error);
}

bool forgetting_mark(struct forgetting_mark *mark, const char *redis, struct error *error)
{
    struct stat file;
    redisContext *link = redis_link_open(redis, error);
    bool found = link && find_file(link, mark->path, sizeof mark->path, error);

    if (link)
        redisFree(link);
    if (!found)
        return false;
    if (stat(mark->path, &file) != 0)
        return error_fail(error, "%s: %s", mark->path, strerror(errno));
    mark->bytes = file.st_size;
    mark->at_us = clock_mono_us();
    return true;
}

/* us that the present setting may leave unsynced. */
static bool find_window(const char *redis, int64_t *window_us, struct error *error)
{
    static const struct {
        const char *name;
        int64_t window_us;
    } settings[] = {{"everysec", CLOCK_US_PER_S}, {"no", 30 * CLOCK_US_PER_S}, {"always", 0}};
    char now[16] = "";
    redisContext *link = redis_link_open(redis, error);
    bool known = link && redis_words_config(link, "appendfsync", now, sizeof now, error);

    if (link)
        redisFree(link);
    *window_us = 0;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (strcmp(now, settings[i].name) == 0)
            *window_us = settings[i].window_us;
    }
    return known;
}

bool forgetting_crash(struct backends *backends, const char *server, const char *redis,
                      const struct forgetting_mark *mark, int64_t *lost_bytes, struct error *error)
{
    int64_t window_us = 0;
    struct stat file;

    *lost_bytes = 0;
    if (!find_window(redis, &window_us, error) ||
        !backends_signal(backends, server, BACKENDS_STOP, error))
        return false;
    /* It writes nothing any more from here on. */
    int64_t passed_us = clock_mono_us() - mark->at_us;
    if (!backends_signal(backends, server, BACKENDS_KILL, error))
        return false;
    bool found = stat(mark->path, &file) == 0;
    bool cut = found && passed_us <= window_us && file.st_size > mark->bytes;
    if (cut && truncate(mark->path, mark->bytes) == 0)
        *lost_bytes = file.st_size - mark->bytes;
    if (!backends_restart(backends, server, error))
        return false;
    if (!found)
        return error_fail(error, "%s is gone: it was written anew since it was marked", mark->path);
    if (window_us > 0 && passed_us > window_us)
        return error_fail(error, "the mark is %lld ms old: more than may be unsynced",
                          (long long)(passed_us / CLOCK_US_PER_MS));
    return true;
}

/* Asks for a write until enough are gone: whoever writes has Redis evict first. */
static void press(redisContext *link, int64_t keys, int64_t before, int64_t *evicted)
{
    int64_t until_us = clock_mono_us() + EVICT_LIMIT_US;
    int64_t left = 1;

    while (*evicted < keys && left > 0 && clock_mono_us() < until_us) {
        redisReply *refused = redisCommand(link, "SET seckill-eviction 1 PX 1");
        freeReplyObject(refused);
        int64_t now = redis_words_number(link, "evicted_keys") - before;
        redisReply *size = redisCommand(link, "DBSIZE");
        left = size ? size->integer : 0;
        freeReplyObject(size);
        if (now == *evicted)
            clock_sleep_until(clock_mono_us() + EVICT_POLL_US);
        *evicted = now;
    }
}

static bool evict(redisContext *link, const char *policy, int64_t keys, int64_t *evicted,
                  struct error *error)
{
    char memory[32], former[32];

    if (!redis_words_config(link, "maxmemory", memory, sizeof memory, error) ||
        !redis_words_config(link, "maxmemory-policy", former, sizeof former, error))
        return false;
    int64_t before = redis_words_number(link, "evicted_keys");
    bool pressed = redis_words_tell(link, error, "CONFIG SET maxmemory-policy %s", policy) &&
                   redis_words_tell(link, error, "CONFIG SET maxmemory 1");
    if (pressed)
        press(link, keys, before, evicted);
    struct error second;
    bool restored = redis_words_tell(link, &second, "CONFIG SET maxmemory %s", memory) &&
                    redis_words_tell(link, &second, "CONFIG SET maxmemory-policy %s", former);
    if (pressed && !restored)
        *error = second;
    return pressed && restored;
}

bool forgetting_evict(const char *redis, const char *policy, int64_t keys, int64_t *evicted,
                      struct error *error)
{
    redisContext *link = redis_link_open(redis, error);

    *evicted = 0;
    bool done = link && evict(link, policy, keys, evicted, error);
    if (link)
        redisFree(link);
    return done;
}
