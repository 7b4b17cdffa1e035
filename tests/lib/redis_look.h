/* Looks into a Redis of the test's, on a connection of its own, and shares no code with the server.
 */
#ifndef SECKILL_TESTS_LIB_REDIS_LOOK_H
#define SECKILL_TESTS_LIB_REDIS_LOOK_H

#include <stddef.h>
#include <stdint.h>

/* The integer that the command answers; OK and nil are 0. An error, or no Redis, ends the test. */
int64_t redis_look(const char *url, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* How often Redis has run a command ("evalsha") since CONFIG RESETSTAT. */
int64_t redis_look_calls(const char *url, const char *command);

#endif
