/*
 * The books of a sale: what a product's rows say, and the formulas over them; and the verdicts, by
 * their rules. Pure functions, so that the rules can be tested without a database; where the
 * figures come from (the witness's SQL, the server's answer) is somebody else's business.
 */
#ifndef SECKILL_LOADTEST_JUDGE_VERDICT_H
#define SECKILL_LOADTEST_JUDGE_VERDICT_H

#include "loadtest/base/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many figures behind the first are what rows say; what follows is concluded from them. */
enum { BOOKS_STRATEGIES_MAX = 512, BOOKS_OF_ROWS = 13 };

/* One product's, or the sum over several (books_add). Units unless it says rows. */
struct books {
    int64_t products;
    int64_t initial_stock; /* S */
    int64_t restocked;     /* R */
    int64_t sold;          /* B: confirmed */
    int64_t held;          /* H: of pending orders, which are to be paid */
    int64_t stock;         /* K: what is left, by the row */
    int64_t duplicate_orders, limit_violations, queued;
    int64_t confirmed_rows; /* of orders that were sold: also what is, or was, to be paid */
    int64_t restock_rows;
    int64_t failed_rows;  /* accepted, and decided against; tombstones are not among them */
    int64_t revoked_rows; /* accepted, and failed for no reason that a buyer may be given */
    int64_t lost;         /* of these, units that the stock's Redis has lost */
    int64_t oversold, lost_updates;
    int64_t negative;     /* products with K < 0 */
    int64_t undersold;    /* books_undersell decides */
    int64_t missing;      /* 201s and 202s without their row, or revoked: the phase knows them */
    int64_t resold;       /* sales that were begun after somebody had been told "sold out" */
    int64_t unrepeatable; /* orders that a repeat of their key does not name: the phase asks */
    int64_t lowest_stock; /* the least K of any product; all before it are sums */
    char strategies[BOOKS_STRATEGIES_MAX]; /* names seen, separated by ',', each once */
    size_t strategies_count;
};

/* Fills oversold, lost_updates and negative of a product from S, R, B, H and K. */
void books_compute(struct books *audit);

/* Adds a product to a sum. A sum starts as (struct books){0}. */
void books_add(struct books *sum, const struct books *one);

/* Names with commas between; each is kept once. */
void books_add_strategies(struct books *books, const char *names);

/* Somebody was told "sold out" for `quantity` units. It was false for sure when every product still
 * has that many: stock only falls while orders come in. */
void books_undersell(struct books *sum, int64_t sold_out_answers, int64_t quantity);

bool books_consistent(const struct books *audit);

/* Violations of any kind, as verdicts count them; 0 is none. */
int64_t books_violations(const struct books *audit);

/* In the order in which merging takes them: the later one wins. That gives both columns of the
 * table's rule: where nothing was promised one violation in any phase shows the danger, and where
 * something was, one phase that proved nothing leaves the whole unproved. A run that could not be
 * made hides neither a BROKEN one. */
enum verdict {
    VERDICT_KEPT,
    VERDICT_PROVED_NOTHING,
    VERDICT_UNSAFE,
    VERDICT_NO_RUN,
    VERDICT_BROKEN
};

struct promise {
    bool one_instance, many_instances, paused_holder, redis_failover;
};

/* A guarded body promises every letter, whatever the strategy's own are. */
struct promise promise_with(const struct promise *promise, bool guarded);
/* The promise in force: what the number of instances asks for. */
bool promise_in_force(const struct promise *promise, int instances, bool guarded);
/* The condition under which the promise holds: "anything happens", "no failover", "one instance",
 * "never". */
const char *promise_right_if(const struct promise *promise);

struct evidence {
    enum scenario scenario;
    bool promised;
    bool complete;   /* the phase reached its end: stock gone, everybody refused */
    int64_t done;    /* orders (or restocks) that a row proves */
    int64_t refused; /* final noes */
    int64_t internal_errors;
    const struct books *audit;
};

enum verdict verdict_of(const struct evidence *evidence);
enum verdict verdict_merge(enum verdict a, enum verdict b);
const char *verdict_name(enum verdict verdict);
/* The same for a row of a table: what was kept, and what nobody has put to the test. */
const char *verdict_in_words(enum verdict verdict, const struct promise *promise);

/* 0, 1 or 2, from all merged verdicts. */
struct verdict_tally {
    size_t counts[VERDICT_BROKEN + 1];
};
int verdict_exit_status(const struct verdict_tally *tally);

#endif
