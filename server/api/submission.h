/* The part that every call with an order shares: the strategy, its body, the key and the two
 * times. */
#ifndef SECKILL_API_SUBMISSION_H
#define SECKILL_API_SUBMISSION_H

#include "http/request.h"

/* Reads the query (strategy, wait_ms, body), the Idempotency-Key and the JSON body (`members`), and
 * stamps the request's order. False with a problem in the request. */
bool submission_read(struct request *request, struct member *members, size_t count);

/* Whether the server and `strategy` can serve now; false with a problem in the request. */
bool submission_admit(struct request *request, const struct strategy *strategy);

/* Gives the order its moment and its two absolute times. */
void submission_stamp(struct order *order, const struct settings *settings, int64_t wait_ms);

#endif
