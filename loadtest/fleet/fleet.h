/* The servers under load, and what the harness speaks to them with; the same for many phases. */
#ifndef SECKILL_LOADTEST_FLEET_FLEET_H
#define SECKILL_LOADTEST_FLEET_FLEET_H

#include "loadtest/fleet/api.h"
#include "loadtest/fleet/instance.h"
#include "loadtest/judge/witness.h"

enum { FLEET_REDIS_MAX = 12, FLEET_REDIS_URL = 512 };

struct fleet {
    const char *urls[OPTIONS_MAX_INSTANCES]; /* borrowed */
    size_t count;
    const char *balancer;       /* borrowed; NULL: none */
    struct instance *instances; /* borrowed; NULL: not ours */
    struct api *api;            /* borrowed */
    struct witness *witness;    /* borrowed */
    const char *admin_token;    /* borrowed */
    /* URLs of the Redis servers that the harness was told of, each once. "": no more */
    char redis[FLEET_REDIS_MAX][FLEET_REDIS_URL];
    void (*progress)(void *context, const char *text); /* NULL: nobody watches */
    void *progress_context;
};

/* Where orders and calls about a product go: to the servers, or to the balancer alone. */
static inline const char *const *fleet_targets(const struct fleet *fleet)
{
    return fleet->balancer ? &fleet->balancer : fleet->urls;
}

static inline size_t fleet_targets_count(const struct fleet *fleet)
{
    return fleet->balancer ? 1 : fleet->count;
}

#endif
