/*
 * Servers that the harness starts by itself: N instances of seckill-server on free ports of
 * 127.0.0.1, on one database and one Redis. They are stopped with SIGTERM and must then end with
 * status 0, as a server that has answered every order does. What they write stands in the out
 * folder, a file an instance.
 */
#ifndef SECKILL_LOADTEST_FLEET_INSTANCE_H
#define SECKILL_LOADTEST_FLEET_INSTANCE_H

#include "base/error.h"
#include "loadtest/base/options.h"
#include "loadtest/base/process.h"

struct instance {
    struct process process;
    char url[300];
    char log_path[1100];
};

/* The --server-binary, or the one beside this program, or in ../server/ as in a build tree. */
bool instance_find_binary(const struct options *options, char *out, size_t size,
                          struct error *error);

/* Starts `count` instances and waits until each says where it listens. On failure none is left
 * running. */
bool instance_start_all(struct instance *instances, size_t count, const struct options *options,
                        const char *binary, const char *out_dir, struct error *error);

/* False when one has died; the error says which, how, and what it wrote last. */
bool instance_all_alive(struct instance *instances, size_t count, struct error *error);

/* Stops them all at once. False when one did not end with status 0. */
bool instance_stop_all(struct instance *instances, size_t count, struct error *error);

/* Ends it at once, as a crash does, and waits until it is gone. */
void instance_kill(struct instance *instance);
/* Starts one that was killed, where it listened before. */
bool instance_start_again(struct instance *instance, const struct options *options,
                          const char *binary, struct error *error);

/* Stops it as a whole, until it is resumed (SIGSTOP), and waits until it stands still. */
bool instance_stall(struct instance *instance, struct error *error);
void instance_resume(struct instance *instance);

/* The URL in "listening on http://HOST:PORT" at the start of `line`; false when it is another line.
 */
bool instance_read_url(const char *line, char *url, size_t size);

#endif
