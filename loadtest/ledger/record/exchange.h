/* An operation as a request of the servers' HTTP API, and an answer as the operation's end. */
#ifndef SECKILL_LOADTEST_LEDGER_RECORD_EXCHANGE_H
#define SECKILL_LOADTEST_LEDGER_RECORD_EXCHANGE_H

#include "loadtest/engine/answer.h"
#include "loadtest/engine/http_request.h"
#include "loadtest/ledger/ledger.h"

/* The same in every request. */
struct exchange {
    const char *query; /* borrowed: what stands behind "strategy=NAME", as "&wait_ms=5" */
    const char *token; /* borrowed; "": none */
};

void exchange_ask(const struct exchange *exchange, const struct ledger_op *op,
                  struct http_request *out);

/* Fills the operation's result, status, code, order and state. A 503 of the API's own, which has a
 * code, says that nothing was done; any other 5xx says nothing. */
void exchange_read(struct ledger_asked *asked, const struct answer *answer);

/* There is no answer. Of a request that was not sent whole nothing can have been done. */
void exchange_lose(struct ledger_op *op, bool sent);

#endif
