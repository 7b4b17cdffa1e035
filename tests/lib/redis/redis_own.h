/*
 * Redis servers of a test's own: with a password, with TLS, with Sentinels or as a cluster, which
 * the stack's, that all tests of a build share, must not become.
 *
 * Each listens on a free port of the loopback interface and keeps its files in a folder of its own.
 * They end with the test program. Every function ends the test when Redis does not do as it is
 * told.
 */
#ifndef SECKILL_TESTS_LIB_REDIS_OWN_H
#define SECKILL_TESTS_LIB_REDIS_OWN_H

#include <stddef.h>

struct redis_own;

/* A running server. `flags` as redis-server takes them, NULL at the end: {"--requirepass",
 * "secret", NULL}; "--tls-port" with "PORT" as its value: that is the port, and there is no other.
 */
struct redis_own *redis_own_start(const char *const flags[]);
/* A Sentinel of the primary, under this name: a vote of `quorum` makes a failover. */
struct redis_own *redis_own_sentinel(const struct redis_own *primary, const char *name, int quorum);

int redis_own_port(const struct redis_own *redis);

/* A command as hiredis formats it, logged in as far as `password` goes (NULL: not). The reply's
 * text, "" for none, in a buffer of this call's thread; an integer in digits, of an array the first
 * two elements with a space between them. */
const char *redis_own_tell(const struct redis_own *redis, const char *password, const char *format,
                           ...);

void redis_own_kill(struct redis_own *redis); /* SIGKILL; its memory is lost */

/* For cmocka, as a teardown: ends every one of them. */
int redis_own_teardown(void **state);

#endif
