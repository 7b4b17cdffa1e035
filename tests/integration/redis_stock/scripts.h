/*
 * redis-stock's scripts called as the server calls them, over the stack's stock Redis, for one
 * product whose mirror a test loads.
 */
#ifndef SECKILL_TESTS_INTEGRATION_REDIS_STOCK_SCRIPTS_H
#define SECKILL_TESTS_INTEGRATION_REDIS_STOCK_SCRIPTS_H

#include "lib/t.h"

#include "redis/redis.h"

#define PREFIX     "{scripts-test}:stock"
#define PRODUCT    "7"
#define GENERATION "4711"
#define MIRROR     "{scripts-test}:stock:mirror:7"
#define LOADED     "{scripts-test}:stock:loaded"
#define ORDERS     "{scripts-test}:stock:orders"
#define WAITING    "{scripts-test}:stock:waiting"
#define UNITS      "{scripts-test}:stock:units"
#define PARTLY     "{scripts-test}:stock:partly"
#define USERS      "{scripts-test}:stock:users:7:4711"
#define CALLER     "{scripts-test}:stock:call:me"
#define FIELD      "7:1"
#define FIRST      "018f0000-0000-7000-8000-000000000001"
#define SECOND     "018f0000-0000-7000-8000-000000000002"
#define THIRD      "018f0000-0000-7000-8000-000000000003"
#define FOURTH     "018f0000-0000-7000-8000-000000000004"

enum script_verdict { DONE, NOT_LOADED, OTHER_EPOCH, TOO_MANY, GIVEN_UP, REFUSED, BROKEN_OFF };
enum script_code { RESERVED = 1, KEY_TAKEN, LIMIT, SOLD_OUT, NOT_OPEN };
enum { SCRIPTS_ORDERS_MAX = 4, SCRIPTS_TEXT = 64 };

/* Runs the group; each test begins with an empty Redis. */
int scripts_run(void);

/* A session, for what is not here, and a time for it. */
struct redis *scripts_redis(void);
int64_t scripts_soon(void);
/* A command by hand, whose answer is a number. */
int64_t scripts_ask(const char *command);
/* Takes a command from everybody ("-set"), or gives all back. */
void scripts_forbid(const char *command);
void scripts_allow_all(void);

/* Loads the mirror; whether it was not there. */
int64_t scripts_load(const char *epoch, const char *generation, const char *stock,
                     const char *limit);

/* `lines` as the stream has them, "id user quantity created key\n", at most SCRIPTS_ORDERS_MAX. The
 * call's number is the group of its orders' ids, too. */
enum redis_status scripts_call_reserve(const char *number, const char *epoch, const char *most,
                                       const char *lines, struct redis_reply **reply);
/* The verdict, and the orders' codes; `codes` may be NULL. */
int64_t scripts_reserve(const char *number, const char *epoch, const char *most, const char *lines,
                        int64_t codes[SCRIPTS_ORDERS_MAX]);
/* The codes of the lost answer, as one number; 0: the call has not run; -1: nobody can tell. */
int scripts_recall(const char *number);

void scripts_read_first_entry(char entry[SCRIPTS_TEXT]);
void scripts_expect_first_entry(const char *lines);
int64_t scripts_how_many_wait(void);
int64_t scripts_stock(void);

#endif
