/*
 * One user's purchase from beginning to end, a request at a time: the steps before it, the purchase
 * itself, and asking what became of what was accepted. A step that fails, or that says no, ends it,
 * and the shop was never asked to sell.
 *
 * No thread, no waiting: the engine sends what is prepared, and send.h says what came.
 */
#ifndef SECKILL_LOADTEST_SHOP_LOAD_VISIT_H
#define SECKILL_LOADTEST_SHOP_LOAD_VISIT_H

#include "loadtest/ledger/ledger.h"
#include "loadtest/shop/load/call.h"

enum { VISIT_FIELDS_MAX = 64 };

/* The fields that texts may name, with what they have for this user. */
struct visit_fields {
    const char *names[VISIT_FIELDS_MAX]; /* borrowed: the target's, its users' */
    char *values[VISIT_FIELDS_MAX];      /* owned; NULL behind the last */
    size_t count;
    struct curl_slist *cookies; /* owned; of a repeat: what the first had by then */
};

/* False: no room, or no memory. A field that is there gets the new value. */
bool visit_fields_set(struct visit_fields *fields, const char *name, const char *value);
bool visit_fields_copy(struct visit_fields *to, const struct visit_fields *from);
void visit_fields_drop(struct visit_fields *fields);

enum visit_state {
    VISIT_IDLE,
    VISIT_STEP,    /* a step's request is on its way */
    VISIT_BUYING,  /* the purchase's */
    VISIT_RESTING, /* until rest_until_us: then it asks again */
    VISIT_ASKING
};

struct visit {
    enum visit_state state;
    struct call call;
    struct visit_fields fields;
    size_t number; /* the purchase's place in the ledger */
    size_t step;
    int64_t rest_until_us, give_up_us;
    int64_t bought;  /* so often its user had been told `sold` before */
    bool ready;      /* its request is prepared, and not sent yet */
    bool doubles;    /* its request is to be sent again at once */
    bool comes_back; /* or when it is answered */
};

/* Prepares the first request. False: it has ended, with the error; then it is idle. */
bool visit_begin(struct visit *visit, const struct target *target, struct ledger_op *purchase,
                 struct error *error);

/* curl is done with its request. Afterwards the next request is prepared, or it rests, or has ended
 * (idle; the error is set, or its text is empty). */
void visit_answered(struct visit *visit, const struct target *target, struct ledger_op *purchase,
                    CURLcode result, struct error *error);

/* It has rested: prepares the question. */
bool visit_ask(struct visit *visit, const struct target *target, struct error *error);

#endif
