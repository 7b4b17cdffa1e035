/*
 * Whether a Redis serves what the strategies need, and why not: cached, for any thread, without
 * I/O.
 *
 * A session that cannot be opened, or is refused, notes the server's words; GET /readyz and the log
 * show them. A session that opens shows that Redis can be read. Only the probe (health_probe.c)
 * shows that it takes writes again.
 *
 * Refusals are told by the error's first word. Redis before 7 wraps what a script's command was
 * refused with into its own sentence: "ERR Error running script (…): @user_script: 1: -READONLY …",
 * or for the script itself "@user_script: 1: -READONLY …".
 */
#include "redis/redis_internal.h"

#include <stdio.h>
#include <string.h>

#define SCRIPT_FAILED "ERR Error running script"

/* Errors of a server that will not do it, now or ever. Errors of one command alone (ERR, WRONGTYPE,
 * NOSCRIPT, BUSYGROUP …) are not among them. */
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
    snprintf(why, REDIS_WHY_MAX, "%s",
             server->state.why[0] ? server->state.why : server->state.taken);
    pthread_mutex_unlock(&server->state.mutex);
}

void redis_server_report(struct redis_server *server, const char *name, const char *flaw,
                         backend_report *report, void *to)
{
    char why[REDIS_WHY_MAX];

    redis_server_why(server, why);
    report(to, name, !why[0], why[0] ? why : flaw);
}

/* Holds the mutex. */
static void set_up(struct redis_server *server)
{
    atomic_store_explicit(&server->up, !server->state.why[0] && !server->state.taken[0],
                          memory_order_relaxed);
}

static void note(struct redis_server *server, bool refuses, const char *before, const char *why)
{
    pthread_mutex_lock(&server->state.mutex);
    server->state.refuses = refuses;
    snprintf(server->state.why, sizeof server->state.why, "%s%s", before, why);
    set_up(server);
    pthread_mutex_unlock(&server->state.mutex);
}

void redis_server_take(struct redis *redis, const char *words)
{
    struct redis_server *server = redis->server;

    redis->owner = true;
    pthread_mutex_lock(&server->state.mutex);
    snprintf(server->state.taken, sizeof server->state.taken, "%s", words);
    atomic_store_explicit(&server->taken, *words != '\0', memory_order_relaxed);
    set_up(server);
    pthread_mutex_unlock(&server->state.mutex);
}

void redis_server_note_served(struct redis_server *server)
{
    note(server, false, "", "");
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
        set_up(server);
    }
    pthread_mutex_unlock(&server->state.mutex);
}
