/*
 * The addresses behind a host's name, with a deadline: getaddrinfo has none, and nothing ends it
 * while a name server is silent.
 *
 * Each lookup runs in a thread of its own, which outlives the caller's wait, and the resolver too,
 * where the answer comes late. There is one at a time for a name: whoever asks meanwhile waits for
 * the same answer, so there are never more threads than names, and a name server that is slower
 * than any single wait is of use all the same.
 */
#ifndef SECKILL_BASE_CONNECT_RESOLVER_H
#define SECKILL_BASE_CONNECT_RESOLVER_H

#include "base/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct resolver;

enum { RESOLVER_NAME_SIZE = 256, RESOLVER_ADDRESS_SIZE = 64, RESOLVER_ADDRESSES_MAX = 16 };

struct resolved {
    char addresses[RESOLVER_ADDRESSES_MAX][RESOLVER_ADDRESS_SIZE]; /* numeric */
    int count;
};

/* NULL: out of memory. Owned. resolver_destroy waits for no lookup, and allows NULL; nobody may be
 * waiting in resolver_ask. */
struct resolver *resolver_create(void);
void resolver_destroy(struct resolver *resolver);

/* True for an address in digits, IPv4 or IPv6, which needs no lookup; `out` gets it as it is
 * written in one way only. */
bool resolver_is_numeric(const char *name, char out[RESOLVER_ADDRESS_SIZE]);

/* At least one address; false: *error is ERROR_UNAVAILABLE when the name has none, ERROR_TIMEOUT
 * when there was no answer by then, or *stopped (NULL: never) has become true, which is seen within
 * a tenth of a second. Any thread. */
bool resolver_ask(struct resolver *resolver, const char *name, int64_t until_us,
                  const atomic_bool *stopped, struct resolved *out, struct error *error);

#endif
