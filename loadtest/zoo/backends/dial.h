/* A socket to HOST:PORT or unix:///path, for backends whose protocol the zoo speaks itself. */
#ifndef SECKILL_LOADTEST_ZOO_BACKENDS_DIAL_H
#define SECKILL_LOADTEST_ZOO_BACKENDS_DIAL_H

#include <stdbool.h>
#include <stddef.h>

/* Connecting, and each send and receive after it, ends within 5 s. -1 with errno. */
int dial_address(const char *address);

/* All of it. False with errno. */
bool dial_send(int socket, const void *bytes, size_t length);

#endif
