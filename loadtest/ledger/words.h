/* The words of a ledger's file: what is done, how it ended, what an answer showed or meant. */
#ifndef SECKILL_LOADTEST_LEDGER_WORDS_H
#define SECKILL_LOADTEST_LEDGER_WORDS_H

enum ledger_kind {
    LEDGER_BUY,
    LEDGER_CANCEL,
    LEDGER_RESTOCK,
    LEDGER_READ,
    LEDGER_PAY,
    LEDGER_KINDS
};

/* info: nobody knows whether it was done. ok: it was. fail: a definite no, nothing was done. */
enum ledger_result { LEDGER_INFO, LEDGER_OK, LEDGER_FAIL, LEDGER_RESULTS };

/* An order as an answer showed it. */
enum ledger_state {
    LEDGER_STATE_NONE, /* the answer showed no order */
    LEDGER_QUEUED,
    LEDGER_CONFIRMED,
    LEDGER_CANCELLED,
    LEDGER_FAILED,
    LEDGER_PENDING, /* taken, and to be paid before its hold is over */
    LEDGER_EXPIRED, /* nobody paid in time */
    LEDGER_STATES
};

/* What a shop's answer means. The first that matches is taken; an answer that none matches is
 * unknown, as is one that did not come. */
enum shop_meaning {
    SHOP_UNKNOWN,
    SHOP_SOLD,
    SHOP_ACCEPTED, /* it will be sold or refused: `poll` tells */
    SHOP_SOLD_OUT, /* refused, since nothing is left */
    SHOP_REFUSED,  /* a definite no for another reason: bought already, closed */
    SHOP_SHED,     /* turned away, nothing was decided: too busy */
    SHOP_MEANINGS
};

/* "" for none. The second half is -1 for a word that it does not know. */
const char *ledger_kind_name(enum ledger_kind kind);
const char *ledger_result_name(enum ledger_result result);
const char *ledger_state_name(enum ledger_state state);
const char *shop_meaning_name(enum shop_meaning meaning);
int ledger_kind_of(const char *name);
int ledger_result_of(const char *name);
int ledger_state_of(const char *name);
int shop_meaning_named(const char *name);

#endif
