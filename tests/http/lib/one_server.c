#include "http/lib/one_server.h"

#include "lib/stack.h"

#include <stdio.h>
#include <stdlib.h>

struct server *server;
struct witness *witness;

static char *database;
static char database_name[64];

static int open_bare(void **state)
{
    (void)state;
    database = stack_database_create(database_name);
    server_use_database(database);
    server_stop(server_start(NULL, NULL)); /* the schema, for the witness */
    witness = witness_open(database);
    return 0;
}

static int open_served(void **state)
{
    open_bare(state);
    server = server_start(NULL, NULL);
    return 0;
}

static int close_bare(void **state)
{
    (void)state;
    witness_close(witness);
    stack_database_drop(database_name);
    free(database);
    return 0;
}

static int close_served(void **state)
{
    server_stop(server);
    server_teardown(state);
    return close_bare(state);
}

/* The transactions of a test that failed would make those after it wait, and fail as well. */
int one_server_clear(void **state)
{
    server_teardown(state);
    witness_run(witness, "ROLLBACK");
    witness_number(witness, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                            " AND backend_type = 'client backend'"); /* no autovacuum worker */
    return 0;
}

int one_server_run(const char *name)
{
    snprintf(database_name, sizeof database_name, "seckill_http_%s", name);
    return t_run_all(open_served, close_served);
}

int one_server_run_bare(const char *name)
{
    snprintf(database_name, sizeof database_name, "seckill_http_%s", name);
    return t_run_all(open_bare, close_bare);
}

struct witness *one_server_hold_product(void)
{
    return witness_hold(database, 1);
}

const char *one_server_database(void)
{
    return database;
}
