/* Looks into, and meddles with, the locks' Redis, at one or in a cluster (FLUSHALL and CONFIG: all
 * of it). Not getting an answer ends the test. */
#ifndef SECKILL_TESTS_LIB_REDIS_PROBE_H
#define SECKILL_TESTS_LIB_REDIS_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redisContext; /* hiredis's, both */
struct redisReply;

/* One command as hiredis formats it. An integer's value; 1 for +OK and for a string, 0 for nil.
 * `text`, if not NULL, gets a string's. */
int64_t redis_probe(char *text, size_t size, const char *format, ...);

/* The same at another Redis of the stack: unix:///… */
int64_t redis_probe_at(const char *url, const char *format, ...);

/* How often Redis has run a command ("evalsha") since CONFIG RESETSTAT. */
int64_t redis_probe_calls(const char *command);

/* A figure of INFO's section, whose name is before it ("blocked_clients:"); of a cluster's nodes
 * the sum. */
int64_t redis_probe_sum(const char *section, const char *name);

/* For calls of another form: a connection, and whether a node of a cluster has answered that
 * another one has the key. */
enum { REDIS_PROBE_URL = 128 };
struct redisContext *redis_probe_dial(const char *url);
bool redis_probe_moved(const struct redisReply *reply, char url[REDIS_PROBE_URL]);

#endif
