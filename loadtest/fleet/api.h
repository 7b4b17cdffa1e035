/*
 * The servers' HTTP API as the harness uses it: products, audits, strategies, metrics, readiness.
 * Every call has a time limit and gives up when the harness is interrupted.
 */
#ifndef SECKILL_LOADTEST_FLEET_API_H
#define SECKILL_LOADTEST_FLEET_API_H

#include "base/error.h"
#include "loadtest/engine/answer.h"
#include "loadtest/fleet/scrape.h"
#include "loadtest/judge/verdict.h"

#include <stddef.h>

struct api;

/* `admin_token` ("": none) is sent with every call; borrowed. */
struct api *api_create(const char *admin_token);
void api_destroy(struct api *api);

struct api_strategy {
    char name[64];
    bool available;
    bool usual; /* one of those that `--strategies usual` takes */
    char unavailable_reason[200];
    bool has_bodies; /* among which an order chooses */
    char needs[160]; /* backends, each with a blank before and behind it */
    struct promise promise;
};
bool api_needs(const struct api_strategy *strategy, const char *backend);
/* `out` holds `size`; returns how many there are, -1 on failure. */
int api_strategies(struct api *api, const char *server, struct api_strategy *out, size_t size,
                   struct error *error);

/* Starts the sale of products first … first + count - 1 afresh. */
struct api_sale {
    int64_t first, count;
    int64_t stock;        /* of each */
    int64_t limit;        /* units of each that a user may have; 0: any */
    const char *name;     /* as JSON takes it; NULL: "load test" where there is one product */
    const char *opens_at; /* a time that is still to come; NULL: at once */
    int64_t *epoch;       /* gets the last one's, where the answer tells; NULL: nobody asks */
};
bool api_put_products(struct api *api, const char *server, const struct api_sale *sale,
                      struct error *error);

/* The product's epoch as this server sees it. */
bool api_epoch(struct api *api, const char *server, int64_t product, int64_t *epoch,
               struct error *error);

/* The units of products first … last that are reserved and not decided; *known is false while the
 * server cannot tell of one. */
bool api_reserved(struct api *api, const char *server, int64_t first, int64_t last, int64_t *units,
                  bool *known, struct error *error);

/* GET /products/ID/audit. Only what the server says: undersold and missing stay 0. `consistent` is
 * its word. */
bool api_audit(struct api *api, const char *server, int64_t product, struct books *out,
               bool *consistent, struct error *error);

bool api_scrape(struct api *api, const char *server, const char *strategy, const char *kind,
                struct scrape *out, struct error *error);

/* A strategy's counter of GET /metrics, by its name; one that is not there is 0. */
bool api_counter(struct api *api, const char *server, const char *name, const char *strategy,
                 int64_t *out, struct error *error);

/* POSTs `body` ("": none), and what the answer says: of an order its id, of a problem its code.
 * False: there was none. */
struct api_answer {
    long status;
    struct answer_fields says;
};
bool api_post(struct api *api, const char *server, const char *path, const char *body,
              struct api_answer *out, struct error *error);

/* POSTs an order as a buyer does: without the admin token, with `lines` of headers as headers_read
 * makes them. */
struct api_order {
    const char *path, *body, *lines; /* borrowed */
};
bool api_buy(struct api *api, const char *server, const struct api_order *order,
             struct api_answer *out, struct error *error);

/* GET /readyz says 200; `durable` is its word on PostgreSQL, `unsafe` what it says of a backend
 * that may evict; else "". */
enum { API_UNSAFE_MAX = 200 };
bool api_ready(struct api *api, const char *server, bool *durable, char unsafe[API_UNSAFE_MAX],
               struct error *error);

#endif
