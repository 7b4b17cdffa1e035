/*
 * Whether a Redis serves what the strategies need, and why not.
 *
 * Whichever session fails to open or is refused notes the words, and whoever is asked for them
 * (GET /readyz, a log line) gets them without I/O. A session that opens shows that Redis can be
 * read; that it takes writes again only redis_probe_health can say, which the background thread
 * sends to each Redis twice a second. It uses a connection made anew, because one that is open may
 * go on where a new one is refused (NOAUTH), or hang at a server that the address no longer leads
 * to.
 *
 * Refusals are told by the error's first word. Redis before 7 wraps what a script's command was
 * refused with into its own sentence: "ERR Error running script (…): @user_script: 1: -READONLY …",
 * or for the script itself "@user_script: 1: -READONLY …".
 */
#include "redis/redis_internal.h"

#include "base/log.h"

#include <stdio.h>
#include <string.h>

#define SCRIPT_FAILED "ERR Error running script"

enum { PLACE_MAX = 300 };

/* Errors of a server that will not do it, now or ever. What is wrong with one command alone (ERR,
 * WRONGTYPE, NOSCRIPT, BUSYGROUP …) is not among them. */
static const char *const refusals[] = {
    "READONLY",    "MISCONF",  "NOAUTH",     "WRONGPASS",  "NOPERM", "LOADING",
    "OOM",         "BUSY",     "MASTERDOWN", "NOREPLICAS", "MOVED",  "ASK",
    "CLUSTERDOWN", "TRYAGAIN", "CROSSSLOT",  "UNBLOCKED",  "DENIED",
};

bool redis_is_refusal(const char *words)
{
    if (strncmp(words, SCRIPT_FAILED, strlen(SCRIPT_FAILED)) == 0 || *words == '@') {
        const char *inner = strstr(words, ": -");
        words = inner ? inner + 3 : words;
    }
    size_t length = strcspn(words, " ");
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (strlen(refusals[i]) == length && strncmp(words, refusals[i], length) == 0)
            return true;
    return false;
}

bool redis_server_up(const struct redis_server *server)
{
    return atomic_load_explicit(&server->up, memory_order_relaxed);
}

void redis_server_why(struct redis_server *server, char why[REDIS_WHY_MAX])
{
    pthread_mutex_lock(&server->state.mutex);
    snprintf(why, REDIS_WHY_MAX, "%s", server->state.why);
    pthread_mutex_unlock(&server->state.mutex);
}

void redis_server_report(struct redis_server *server, const char *name, const char *flaw,
                         backend_report *report, void *to)
{
    char why[REDIS_WHY_MAX];

    redis_server_why(server, why);
    report(to, name, !why[0], why[0] ? why : flaw);
}

static void note(struct redis_server *server, bool refuses, const char *before, const char *why)
{
    pthread_mutex_lock(&server->state.mutex);
    server->state.refuses = refuses;
    snprintf(server->state.why, sizeof server->state.why, "%s%s", before, why);
    atomic_store_explicit(&server->up, !server->state.why[0], memory_order_relaxed);
    pthread_mutex_unlock(&server->state.mutex);
}

void redis_server_note_refusal(struct redis_server *server, const char *words)
{
    note(server, true, "", words);
}

void redis_server_note_unreached(struct redis_server *server, const char *reason)
{
    note(server, false, "out of reach: ", reason);
}

void redis_server_note_reached(struct redis_server *server)
{
    pthread_mutex_lock(&server->state.mutex);
    if (!server->state.refuses) {
        server->state.why[0] = '\0';
        atomic_store_explicit(&server->up, true, memory_order_relaxed);
    }
    pthread_mutex_unlock(&server->state.mutex);
}

static void try_to_write(struct redis *redis, const char *key, int64_t until_us)
{
    struct redis_server *server = redis->server;
    int64_t ignored;

    if (redis_open(redis, until_us)) {
        redis_identify(redis, until_us);
        enum redis_status status = redis_script(redis, LUA_PROBE, 1, 1, &key, until_us, &ignored);
        const char *reason = redis_reason(redis);
        if (status == REDIS_OK) {
            atomic_store_explicit(&server->closed_until_us, 0, memory_order_relaxed);
            note(server, false, "", "");
        } else if (status == REDIS_REFUSED || redis_is_refusal(reason)) {
            redis_server_note_refusal(server, reason);
        } else {
            redis_server_note_unreached(server, reason);
        }
    }
    redis_close(redis);
}

void redis_probe_health(struct redis *redis, const char *flag, const char *key, int64_t until_us)
{
    struct redis_server *server = redis->server;
    char place[PLACE_MAX];
    char why[REDIS_WHY_MAX];

    try_to_write(redis, key, until_us);
    redis_server_why(server, why);
    if (strcmp(why, server->told) == 0)
        return;
    redis_server_place(server, place, sizeof place);
    if (why[0])
        log_warn("Redis at %s (%s) does not serve: %s", place, flag, why);
    else
        log_info("Redis at %s (%s) is back", place, flag);
    memcpy(server->told, why, sizeof why);
}
