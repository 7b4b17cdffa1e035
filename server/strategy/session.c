/*
 * Opens nothing: connections are made when drive.c first needs them, and stay. What a session has
 * is what this process was configured with; without memory there is no session.
 */
#include "strategy/session.h"

#include "base/clock.h"
#include "redis/redis.h"
#include "strategy/backends.h"

#include <stdlib.h>

static bool open_sessions(struct session *session)
{
    for (int i = 0; i < BACKEND_COUNT; i++) {
        void *backend = session->services->backends[i];
        if (!backend)
            continue;
        session->with[i] =
            backend_at(i)->session_open ? backend_at(i)->session_open(backend) : backend;
        if (!session->with[i])
            return false;
    }
    return true;
}

struct session *session_create(const struct services *services)
{
    struct session *session = calloc(1, sizeof *session);

    if (!session)
        return NULL;
    session->services = services;
    if (!open_sessions(session)) {
        session_destroy(session);
        return NULL;
    }
    session->pg = session->with[BACKEND_POSTGRESQL];
    session->redis = session->with[BACKEND_REDIS];
    session->stock = session->with[BACKEND_STOCK_REDIS];
    return session;
}

void session_destroy(struct session *session)
{
    if (!session)
        return;
    for (int i = 0; i < BACKEND_COUNT; i++)
        if (backend_at(i)->session_close)
            backend_at(i)->session_close(session->with[i]);
    free(session);
}

bool session_connect(struct session *session, unsigned needs, int64_t until_us, struct error *error)
{
    error->code = ERROR_NONE;
    for (int i = 0; i < BACKEND_COUNT; i++)
        if ((needs & 1u << i) && backend_at(i)->connect &&
            !backend_at(i)->connect(session->with[i], until_us, error))
            return false;
    return true;
}

void session_begin_work(struct session *session)
{
    session->work_until_us =
        clock_mono_us() + session->services->settings->work_timeout_ms * CLOCK_US_PER_MS;
}

struct lock_client session_lock_client(const struct session *session)
{
    return (struct lock_client){.redis = session->redis,
                                .renewer = session->services->renewer,
                                .settings = session->services->settings,
                                .pg = session->pg,
                                .sessions = session->with};
}

bool session_lease_lost(const struct session *session)
{
    return session->hold.held && atomic_load(&session->hold.lease.lost);
}

void session_work_pause(const struct session *session)
{
    int64_t work_ms = session->services->settings->work_ms;

    if (work_ms > 0)
        clock_sleep_until(clock_mono_us() + work_ms * CLOCK_US_PER_MS);
    if (session->stall_until_us > 0)
        clock_sleep_until(session->stall_until_us);
}
