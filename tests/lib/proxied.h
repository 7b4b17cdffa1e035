/*
 * A database of a test program's own, with a proxy in front of it (pg_proxy.h) and a witness who
 * looks past the proxy.
 */
#ifndef SECKILL_TESTS_LIB_PROXIED_H
#define SECKILL_TESTS_LIB_PROXIED_H

#include "lib/pg_proxy.h"
#include "lib/witness.h"

/* Owned, all of it. */
struct proxied {
    char *name;
    char *conninfo;
    char *through; /* the same through the proxy */
    struct pg_proxy *proxy;
    struct witness *witness;
};

void proxied_open(struct proxied *database, const char *name);
void proxied_close(struct proxied *database);

#endif
