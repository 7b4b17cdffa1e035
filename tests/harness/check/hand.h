/*
 * Ledgers and rows made by hand, as the checker takes them: one product, one test at a time. The
 * test that runs fills `hand`.
 */
#ifndef SECKILL_TESTS_HARNESS_HAND_H
#define SECKILL_TESTS_HARNESS_HAND_H

#include "loadtest/judge/claims/check.h"

enum { HAND_PRODUCT = 1, HAND_ROWS_MAX = 64 };

struct hand {
    struct ledger ledger;
    struct row_order orders[HAND_ROWS_MAX];
    struct row_product product;
    struct row_restock restocks[4];
    struct rows rows;
    struct check_result result;
    struct error error;
};
extern struct hand hand;

/* A sale of `stock` units, nothing sold yet; by its row all of them are left. */
void begin(int64_t stock);
/* Something of everything, and nothing wrong: repeats, unknowns, a cancel, a restock, a 202. */
void begin_clean(void);
int hand_tear_down(void **state);

/* The operation that was added last. Times are a beginning and an end; 0 for the end: no answer. */
struct ledger_op *last(void);
struct ledger_op *buy(int64_t user, const char *key, int64_t start_us, int64_t end_us);
struct ledger_op *answer(struct ledger_op *to, int status, const char *code);
struct ledger_op *names(struct ledger_op *to, const char *order, enum ledger_state state);

/* An order's row; they must be added in the order of their ids. */
struct row_order *row(const char *id, int64_t user, const char *key);
/* The same, and the unit is gone from the stock. */
struct row_order *sold_row(const char *id, int64_t user, const char *key);

/* A buy that was answered with 201, and its row. */
struct ledger_op *sell(const char *id, int64_t user, const char *key, int64_t start_us,
                       int64_t end_us);
struct ledger_op *refuse(int64_t user, const char *key, int64_t start_us, int64_t end_us);
struct ledger_op *cancel(const char *id, int64_t start_us, int64_t end_us, int status);
/* A buy that was answered with 201 and is to be paid within a second, and its row. */
struct ledger_op *hold(const char *id, int64_t user, int64_t start_us, int64_t end_us);
/* A sale that is none any more: its row, and its unit, which goes back. */
void ends(const char *id, enum ledger_state state);
struct ledger_op *pay(const char *id, int64_t start_us, int64_t end_us, int status,
                      const char *code);
struct ledger_op *look(const char *id, int64_t start_us, int64_t end_us, enum ledger_state state);
struct ledger_op *restock(int64_t start_us, int64_t end_us, int64_t quantity);
void refill_row(int64_t quantity);

void run(void);
void is_clean(void);
/* This kind, so often, and of the others only what the exact search says of the same thing. */
void finds(enum finding_kind kind, size_t times, int64_t units);

#endif
