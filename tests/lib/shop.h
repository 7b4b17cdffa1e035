/* The service's calls by name, for tests about selling; what a call must answer stands beside it.
 */
#ifndef SECKILL_TESTS_LIB_SHOP_H
#define SECKILL_TESTS_LIB_SHOP_H

#include "lib/crowd.h"
#include "lib/server.h"

enum { SHOP_ID_SIZE = 40 };

struct buy {
    const char *strategy;
    const char *body; /* NULL: not said */
    const char *more; /* of the query, "&wait_ms=0"; NULL: nothing */
    const char *key;  /* NULL: none */
    int64_t product;
    int64_t user;
    int64_t quantity; /* 0: not said */
};

/* Starts the product's sale afresh; `more` are further members (", \"limit_per_user\": 3") or NULL.
 */
void shop_put(struct server *server, int64_t product, int64_t stock, const char *more);

/* The reply as it comes; free it. */
struct http_reply shop_send(struct server *server, const struct buy *buy);
/* The reply (of a 202: what became of it, as settled.h has it); free it. */
struct http_reply shop_buy(struct server *server, const struct buy *buy);
/* Buys, and the answer must have this status and
 * code ("" for success). `id`, if not NULL, gets the order's. */
void shop_expect_buy(struct server *server, const struct buy *buy, int status, const char *code,
                     char id[SHOP_ID_SIZE]);
/* The same for a success that may take a while to come, after a backend was away: as long as the
 * answer is backend_unavailable, or wait_timeout for a lock that died with its holder, it is asked
 * again. */
void shop_expect_buy_soon(struct server *server, const struct buy *buy, int status);
void shop_expect(struct server *server, const char *method, const char *target, const char *headers,
                 const char *body, int status, const char *code);

void shop_crowd_buy(struct crowd *crowd, struct server *server, const struct buy *buy);
void shop_crowd_cancel(struct crowd *crowd, struct server *server, const char *id);
/* As a buy, with the product, the quantity and the key. */
void shop_crowd_restock(struct crowd *crowd, struct server *server, const struct buy *restock);
void shop_expect_restock(struct server *server, const struct buy *restock, int status,
                         const char *code);

/* The audit the server makes itself must say `consistent`. */
void shop_expect_consistent(struct server *server, int64_t product);

#endif
