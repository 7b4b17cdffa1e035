/*
 * The plain wire: HTTP over sockets (client.h), one epoll, connections that stand before the first
 * request is due.
 */
#ifndef SECKILL_LOADTEST_ENGINE_PLAIN_H
#define SECKILL_LOADTEST_ENGINE_PLAIN_H

#include "loadtest/engine/engine.h"

enum { PLAIN_SERVERS_MAX = 16 };

struct plain_plan {
    const char *const *servers; /* borrowed: http://HOST:PORT */
    size_t servers_count;
    /* Which server a connection is of, as a number that may be larger; NULL: its own number. */
    size_t (*server_of)(size_t connection);
    bool moves_on; /* a connection that gets no answer goes to the next server */
};

/* engine_run over such connections, in place of the plan's wire. */
bool plain_run(const struct plain_plan *plain, const struct engine_plan *plan, struct error *error);

#endif
