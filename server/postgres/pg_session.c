/*
 * A session's state: created, closed, told to stop; its errors, and the wait for its socket.
 *
 * A session that anything went wrong with is closed, and connected again when it is next needed;
 * nobody tries to find out what state it is in.
 */
#include "postgres/pg_internal.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { STOP_SEEN_US = 100000 };

struct pg *pg_create(struct store *store)
{
    struct pg *pg = calloc(1, sizeof *pg);

    if (!pg)
        return NULL;
    pg->store = store;
    pg->name = "seckill";
    return pg;
}

void pg_close(struct pg *pg)
{
    PQclear(pg->result);
    pg->result = NULL;
    cancel_request_free(atomic_exchange(&pg->cancel, NULL));
    if (pg->conn) {
        PQfinish(pg->conn);
        atomic_fetch_sub_explicit(&pg->store->sessions, 1, memory_order_relaxed);
    }
    pg->conn = NULL;
    pg->begin_pending = false;
    pg->in_transaction = pg->written = false;
    pg->useless = pg->unreplicated = false;
    pg->pooled = pg->set_up = pg->unsuited = false;
    memset(pg->prepared, 0, sizeof pg->prepared);
}

bool pg_is_open(const struct pg *pg)
{
    return pg->conn != NULL;
}

bool pg_is_refused(const struct pg *pg)
{
    return pg->refused && !pg->conn;
}

int64_t pg_server(const struct pg *pg)
{
    return pg->conn && pg->set_up && !pg->pooled ? pg->server_started_us : 0;
}

unsigned pg_opened(const struct pg *pg)
{
    return pg->opened;
}

void pg_stand_back(struct pg *pg, bool others)
{
    pg->stands_back = others;
}

bool pg_make_room(struct pg *pg)
{
    if (!pg->conn || !store_wants_room(pg->store) ||
        atomic_exchange_explicit(&pg->store->wanted_until_us, 0, memory_order_relaxed) == 0)
        return false;
    pg_close(pg);
    return true;
}

void pg_destroy(struct pg *pg)
{
    if (!pg)
        return;
    pg_close(pg);
    free(pg->buffer.bytes);
    free(pg);
}

const struct error *pg_error(const struct pg *pg)
{
    return &pg->error;
}

/* libpq's messages may have several lines; the log wants one. */
void pg_set_error(struct pg *pg, enum error_code code, const char *text)
{
    error_set(&pg->error, code, "%s", text && *text ? text : "the connection broke");
    for (char *c = pg->error.text; *c; c++)
        if (*c == '\n' || *c == '\t')
            *c = c[1] ? ' ' : '\0';
}

bool pg_wait_socket(struct pg *pg, short events, int64_t until_us)
{
    struct pollfd fd = {.fd = PQsocket(pg->conn), .events = events};

    for (;;) {
        int64_t turn_us = clock_earlier(until_us, clock_mono_us() + STOP_SEEN_US);
        int ready = poll(&fd, 1, clock_poll_ms(turn_us));
        if (ready > 0)
            return true;
        if (ready == 0 && (clock_mono_us() >= until_us ||
                           atomic_load_explicit(&pg->stopped, memory_order_relaxed)))
            return false;
        if (ready < 0 && errno != EINTR)
            return true; /* libpq will say what is wrong */
    }
}

void pg_stop(struct pg *pg)
{
    atomic_store_explicit(&pg->stopped, true, memory_order_relaxed);
}

bool pg_in_transaction(const struct pg *pg)
{
    return pg->in_transaction || pg->begin_pending;
}

void pg_interrupt(struct pg *pg)
{
    struct cancel_request *request = atomic_exchange(&pg->cancel, NULL);

    if (request)
        cancels_put(&pg->store->cancels, request);
}
