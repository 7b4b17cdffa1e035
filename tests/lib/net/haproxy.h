/*
 * A real HAProxy of the test's. It has a folder of its own, in which the test leaves haproxy.cfg
 * and what that names; its log goes there, too. It ends with the test at the latest.
 */
#ifndef SECKILL_TESTS_LIB_NET_HAPROXY_H
#define SECKILL_TESTS_LIB_NET_HAPROXY_H

#include <stdbool.h>

struct haproxy;

struct haproxy *haproxy_create(void);
/* The file's path, in its folder; good until seven more were asked for. */
const char *haproxy_path(const struct haproxy *proxy, const char *file);
/* Runs haproxy.cfg; waits until it passes calls on at 127.0.0.1:`port`. */
void haproxy_start(struct haproxy *proxy, int port);
/* "http://127.0.0.1:PORT" */
const char *haproxy_address(const struct haproxy *proxy);
/* Whether a line of its log holds the text. */
bool haproxy_says(const struct haproxy *proxy, const char *text);
/* Stops it and deletes the folder. NULL is allowed. */
void haproxy_destroy(struct haproxy *proxy);

#endif
