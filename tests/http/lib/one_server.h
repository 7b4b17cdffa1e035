/*
 * What a program of HTTP tests calls: a database of its own, one server on it that all its tests
 * call, and a witness who reads the rows.
 */
#ifndef SECKILL_TESTS_HTTP_LIB_ONE_SERVER_H
#define SECKILL_TESTS_HTTP_LIB_ONE_SERVER_H

#include "lib/t.h"

#include "lib/server.h"
#include "lib/witness.h"

extern struct server *server;
extern struct witness *witness;

/* Runs the tests on it; the database is seckill_http_NAME. Returns main()'s value. */
int one_server_run(const char *name);

/* The same where each test starts a server of its own as `server` and stops it; with the teardown,
 * what it leaves running is stopped after it, and what it leaves held is let go. */
int one_server_run_bare(const char *name);
int one_server_clear(void **state);

/* Its conninfo. */
const char *one_server_database(void);

/* witness_hold for product 1. */
struct witness *one_server_hold_product(void);

#endif
