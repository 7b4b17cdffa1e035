/*
 * Where a program of HTTP tests plays: a database of its own, one server on it that all its tests
 * call, and a witness who reads the rows.
 */
#ifndef SECKILL_TESTS_HTTP_LIB_STAGE_H
#define SECKILL_TESTS_HTTP_LIB_STAGE_H

#include "lib/t.h"

#include "lib/server.h"
#include "lib/witness.h"

extern struct server *server;
extern struct witness *witness;

/* Runs the tests on the stage; the database is seckill_http_NAME. Returns main()'s value. */
int stage_run(const char *name, const struct CMUnitTest *tests, size_t count);

/* The same where each test, named with STAGE_TEST, starts a server of its own as `server` and stops
 * it; what it leaves running is stopped after it, and what it leaves held is let go. */
int stage_run_bare(const char *name, const struct CMUnitTest *tests, size_t count);
int stage_clear(void **state);
#define STAGE_TEST(name) cmocka_unit_test_teardown(name, stage_clear)

/* Its conninfo. */
const char *stage_database(void);

/* witness_hold for product 1. */
struct witness *stage_hold_product(void);

#endif
