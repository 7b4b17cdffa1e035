/*
 * One HTTP request of a target and its answer, on a curl handle that keeps its connections' cache
 * with the others of its multi handle. What comes back is bounded, and so is the time.
 *
 * A request that has left is never sent a second time by itself: curl would repeat one whose
 * kept-alive connection ends before the first byte of an answer, and the shop might have heard
 * both.
 */
#ifndef SECKILL_LOADTEST_SHOP_LOAD_CALL_H
#define SECKILL_LOADTEST_SHOP_LOAD_CALL_H

#include "loadtest/shop/fill.h"
#include "loadtest/shop/load/meaning.h"

#include <curl/curl.h>

enum { CALL_ANSWER_MAX = 1 << 20 };

struct call_settings {
    int64_t timeout_ms;
    const char *ca_file; /* borrowed; "": the system's */
};

struct call {
    CURL *easy;                 /* owned */
    struct curl_slist *headers; /* owned */
    char *url, *body;           /* owned */
    char *answer;               /* owned */
    size_t length, room;
    bool too_long;                /* the answer; it was cut off */
    bool left;                    /* the request was on its way */
    char reason[CURL_ERROR_SIZE]; /* curl's, of what went wrong; "": it has none */
};

bool call_init(struct call *call, const struct call_settings *settings, struct error *error);
void call_fini(struct call *call); /* a zeroed one is allowed */

/* A new user: no cookies. */
void call_forget_cookies(struct call *call);

/* Makes it ready to be sent. False: a text names a field that has no value here. */
bool call_prepare(struct call *call, const struct shop_request *request,
                  const struct fill_field *fields, size_t count, struct error *error);

/* After curl is done with it. The status is 0 of what did not come whole. */
struct shop_answer call_answer(const struct call *call, CURLcode result);

/* What a step takes from it, owned by the caller; NULL: nothing is there, or an empty text. A
 * cookie may be from an answer before. */
char *call_take(const struct call *call, const struct shop_answer *answer,
                const struct shop_take *take);

/* Why it has no answer; of a certificate that is refused also what would help. An empty text: it
 * has one. */
void call_explain(const struct call *call, CURLcode result, struct error *error);

#endif
