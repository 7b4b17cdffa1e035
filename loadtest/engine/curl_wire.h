/*
 * The curl wire: any HTTP, over libcurl's multi interface. A connection is an easy handle, which
 * its behaviour sets up and has ready before it asks; curl keeps the sockets.
 */
#ifndef SECKILL_LOADTEST_ENGINE_CURL_WIRE_H
#define SECKILL_LOADTEST_ENGINE_CURL_WIRE_H

#include "loadtest/engine/engine.h"

#include <curl/curl.h>

struct curl_wire {
    CURLM *multi;   /* owned */
    CURL **handles; /* borrowed: by connection; their CURLOPT_PRIVATE is the wire's */
    size_t count;
    CURLcode result; /* of what has just ended */
    int64_t idle_us; /* when there was last nothing to do */
};

/* A status of 0 for what did not come whole; what did is the handle's. */
extern const struct wire wire_curl;

bool curl_wire_init(struct curl_wire *wire, CURL **handles, size_t count, struct error *error);
void curl_wire_fini(struct curl_wire *wire); /* a zeroed one is allowed */

#endif
