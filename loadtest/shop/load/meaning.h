/*
 * What an answer means, by the rules of its request: the first rule of which everything holds is
 * taken. A body that is no JSON has nothing at any pointer. Pure: no network, any thread.
 */
#ifndef SECKILL_LOADTEST_SHOP_LOAD_MEANING_H
#define SECKILL_LOADTEST_SHOP_LOAD_MEANING_H

#include "loadtest/shop/target.h"

struct shop_answer {
    int status;
    const char *body; /* borrowed; need not end with a zero */
    size_t length;
};

/* SHOP_UNKNOWN when none matches, or no answer came (status 0). `*order` is the order's id as a
 * text, owned by the caller; NULL where the rule names none, or the answer has none there. */
enum shop_meaning meaning_of(const struct shop_request *request, const struct shop_answer *answer,
                             char **order);

/* What stands in the answer's JSON at a pointer (RFC 6901), owned by the caller: a text as it is,
 * anything else as JSON. NULL: nothing, null, or an empty text. */
char *meaning_take(const struct shop_answer *answer, const char *pointer);

#endif
