/*
 * One user's purchase from beginning to end, a request at a time: the steps before it, the purchase
 * itself, and asking what became of what was accepted. A step that fails, or that says no, ends it,
 * and the shop was never asked to sell.
 *
 * A visit has a curl handle, which keeps its connections' cache with the others of its multi
 * handle. What comes back is bounded, and so is the time. A request that has left is never sent a
 * second time by itself: curl would repeat one whose kept-alive connection ends before the first
 * byte of an answer, and the shop might have heard both.
 *
 * No thread, no waiting: the engine sends what is prepared, and send.h says what came.
 */
#ifndef SECKILL_LOADTEST_SHOP_LOAD_VISIT_H
#define SECKILL_LOADTEST_SHOP_LOAD_VISIT_H

#include "loadtest/ledger/ledger.h"
#include "loadtest/shop/load/meaning.h"

#include <curl/curl.h>

enum { VISIT_FIELDS_MAX = 64, VISIT_ANSWER_MAX = 1 << 20 };

/* The fields that texts may name, with what they have for this user. */
struct visit_fields {
    struct pool pool;                          /* the values' */
    struct fill_field items[VISIT_FIELDS_MAX]; /* names are borrowed, of the target or its users */
    size_t count;
    struct curl_slist *cookies; /* owned; of a repeat: what the first had by then */
};

/* A field that is there gets the new value. */
void visit_fields_set(struct visit_fields *fields, const char *name, const char *value);
const char *visit_fields_get(const struct visit_fields *fields, const char *name); /* or "" */
void visit_fields_copy(struct visit_fields *to, const struct visit_fields *from);
void visit_fields_drop(struct visit_fields *fields);

enum visit_state {
    VISIT_IDLE,
    VISIT_STEP,    /* a step's request is on its way */
    VISIT_BUYING,  /* the purchase's */
    VISIT_RESTING, /* until rest_until_us: then it asks again */
    VISIT_ASKING
};

struct visit {
    const struct target *target; /* borrowed */
    enum visit_state state;
    struct visit_fields fields;
    size_t number; /* the purchase's place in the ledger */
    size_t step;
    int64_t rest_until_us, give_up_us;
    int64_t bought;  /* so often its user had been told `sold` before */
    bool ready;      /* its request is prepared, and not sent yet */
    bool doubles;    /* its request is to be sent again at once */
    bool comes_back; /* or when it is answered */

    CURL *easy;                 /* owned */
    struct curl_slist *headers; /* owned, as the two below: of its request */
    char *url, *body;
    char *answer; /* owned */
    size_t length, room;
    bool too_long;                /* the answer; it was cut off */
    bool left;                    /* the request was on its way */
    char reason[CURL_ERROR_SIZE]; /* curl's, of what went wrong; "": it has none */
    struct error error;           /* what the last of the three below found wrong; "": nothing */
};

/* `ca_file` "": the system's CAs. */
bool visit_init(struct visit *visit, const struct target *target, int64_t timeout_ms,
                const char *ca_file, struct error *error);
void visit_fini(struct visit *visit); /* a zeroed one is allowed */

/* Prepares the first request. It is idle when it has ended, with its error. */
void visit_begin(struct visit *visit, struct ledger_op *purchase);

/* curl is done with its request. Afterwards the next request is prepared, or it rests, or has ended
 * and is idle. */
void visit_answered(struct visit *visit, struct ledger_op *purchase, CURLcode result);

/* It has rested: prepares the question. */
void visit_ask(struct visit *visit);

#endif
