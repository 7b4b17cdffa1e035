/*
 * PostgreSQL and Redis as a test sees them: the stack that ctest keeps up for it (tests/README.md),
 * databases of the test's own in it, and killing, pausing and restarting its servers.
 *
 * A test has the stack to itself while it runs, so it may kill what is in it; it must leave it
 * running.
 */
#ifndef SECKILL_TESTS_LIB_STACK_H
#define SECKILL_TESTS_LIB_STACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The addresses; a test without a stack is skipped with a word of how to get one, and exit
 * status 77. */
const char *stack_database(void); /* libpq conninfo */
const char *stack_redis(void);    /* unix:///… */
const char *stack_stock_redis(void);
/* NULL when this stack has none. */
const char *stack_amqp(void);      /* amqp://… */
const char *stack_redlock(void);   /* three URLs with commas between them */
const char *stack_memcached(void); /* unix:///… */
const char *stack_zookeeper(void); /* HOST:PORT */
const char *stack_cluster(void);   /* redis://… of a node; a test without it is skipped */
/* Skips the program (exit status 77) where one of these three is missing. */
void stack_need_other_locks(void);

/* The folder of PostgreSQL's socket, and the conninfo of the same database through another folder;
 * malloc'ed. */
char *stack_socket_folder(void);
char *stack_database_through(const char *conninfo, const char *folder);

/* An empty database of this name, without what an earlier one of that name held. The conninfo is
 * malloc'ed. */
char *stack_database_create(const char *name);
void stack_database_drop(const char *name);

/* `server` is "postgres", "locks", "stock", "rabbitmq", "redlock1" …, as in scripts/stack.sh. */
pid_t stack_pid(const char *server);
void stack_kill(const char *server, int number);
/* Starts what is not running and waits until it answers. */
void stack_up(void);

/* For cmocka, as a group's teardown: whatever failed, the next program finds the stack running. */
int stack_restore(void **state);

#endif
