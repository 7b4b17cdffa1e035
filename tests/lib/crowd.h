/*
 * Many calls at once: each on a connection of its own, opened first, then all sent as fast as one
 * thread can.
 *
 * Between sending and finishing the test may do what it likes to the servers. Everything a call met
 * is kept: its reply, or that the connection ended, or that nothing came.
 */
#ifndef SECKILL_TESTS_LIB_CROWD_H
#define SECKILL_TESTS_LIB_CROWD_H

#include "lib/http_client.h"
#include "lib/server.h"

struct crowd;

struct crowd_call {
    enum http_result result; /* HTTP_TIMEOUT until something came */
    struct http_reply reply; /* with HTTP_REPLY */
    char code[32];           /* the problem document's, "" for none */
    int64_t took_us;         /* from its sending */
};

struct crowd *crowd_create(void);
void crowd_destroy(struct crowd *crowd); /* NULL is allowed */

/* Opens the connection; a server that takes none ends the test. */
void crowd_add(struct crowd *crowd, struct server *server, const char *method, const char *target,
               const char *headers, const char *body);
/* Sends what was added since the last time. */
void crowd_send(struct crowd *crowd);
/* Reads until `enough` calls in all have ended; false when the deadline came first. */
bool crowd_wait(struct crowd *crowd, int enough, int64_t until_us);
/* Sends, and reads until every call has ended; one that does not within `us` ends the test. */
void crowd_answers(struct crowd *crowd, int64_t us);
/* The same, and then waits until every 202 has become what it ends as (settled.h). */
void crowd_finish(struct crowd *crowd, int64_t us);

int crowd_size(const struct crowd *crowd);
const struct crowd_call *crowd_at(const struct crowd *crowd, int i);
/* Calls that ended with this status and, if not NULL, this code. */
int crowd_count(const struct crowd *crowd, int status, const char *code);
/* Calls whose connection ended without a reply. */
int crowd_lost(const struct crowd *crowd);
/* The ids of the calls that were answered 201: how many distinct ones. */
int crowd_distinct_orders(const struct crowd *crowd);
/* One line, for messages: "20 × 201, 44 × 409 sold_out"; until the next call. */
const char *crowd_summary(const struct crowd *crowd);

#endif
