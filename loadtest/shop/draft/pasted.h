/* What a draft (draft.h) is made of: a curl command as a browser copies it ("copy as cURL", for
 * bash), and an answer as `curl -i` prints it. Texts are the pool's. */
#ifndef SECKILL_LOADTEST_SHOP_PASTED_H
#define SECKILL_LOADTEST_SHOP_PASTED_H

#include "loadtest/shop/target.h"

#include <jansson.h>

struct pasted_answer {
    int status;
    const char *body;
    json_t *json; /* owned; NULL: it is none */
};

/* False: `error` says file, line where there is one, what is wrong and what would be right. The
 * request's URL is its path and query alone; its body is FILL_JSON, or else a form, unless a header
 * says what it is. */
bool pasted_read_curl(const char *file, struct pool *pool, struct shop_request *out,
                      struct error *error);
bool pasted_read_answer(const char *file, struct pool *pool, struct pasted_answer *out,
                        struct error *error);

#endif
