/* The exact search against one that tries every order, on many small histories; and its limits. */
#include "lib/t.h"

#include "loadtest/judge/exact/exact.h"

#include <stdlib.h>

enum { SMALL = 6, HISTORIES = 3000, BUDGET = 100000 };

struct trial {
    struct exact_op ops[SMALL];
    size_t count;
    int64_t stock;
};

static bool may_follow(const struct trial *trial, unsigned chosen, size_t i)
{
    for (size_t j = 0; j < trial->count; j++) {
        if (!(chosen >> j & 1) && trial->ops[j].end_us < trial->ops[i].start_us)
            return false;
    }
    return true;
}

/* Every order, and with an optional operation left out too: by its definition. */
static bool has_order(const struct trial *trial, unsigned chosen, int64_t units)
{
    bool over = true;
    for (size_t i = 0; i < trial->count; i++)
        over = over && (chosen >> i & 1 || trial->ops[i].optional);
    for (size_t i = 0; !over && i < trial->count; i++) {
        const struct exact_op *op = &trial->ops[i];
        bool fits = units >= op->least && (!op->below || units < op->below);
        if (!(chosen >> i & 1) && fits && may_follow(trial, chosen, i))
            over = has_order(trial, chosen | 1U << i, units + op->change);
    }
    return over;
}

static int64_t pick(unsigned short random[3], int64_t below)
{
    return (int64_t)(erand48(random) * (double)below);
}

static void make(struct trial *trial, unsigned short random[3])
{
    trial->count = (size_t)pick(random, SMALL) + 1;
    trial->stock = pick(random, 4);
    for (size_t i = 0; i < trial->count; i++) {
        struct exact_op *op = &trial->ops[i];
        int64_t units = pick(random, 2) + 1, kind = pick(random, 8);
        *op = (struct exact_op){.start_us = pick(random, 20)};
        op->end_us = op->start_us + pick(random, 12);
        if (kind < 4) {
            op->least = units;
            op->change = -units;
        } else if (kind < 6) {
            op->below = units;
        } else {
            op->change = units;
            op->optional = kind == 7;
        }
        if (op->optional || (kind == 3 && pick(random, 2)))
            op->end_us = LEDGER_NEVER;
    }
}

TEST(it_agrees_with_every_order)
{
    unsigned short random[3] = {7, 0, 0};
    size_t yes = 0;
    for (int i = 0; i < HISTORIES; i++) {
        struct trial trial;
        make(&trial, random);
        bool wanted = has_order(&trial, 0, trial.stock);
        enum exact_answer answer = exact_search(trial.ops, trial.count, trial.stock, BUDGET);
        if (answer != (wanted ? EXACT_YES : EXACT_NO))
            fail_msg("history %d: %d", i, (int)answer);
        yes += wanted;
    }
    /* Both kinds were among them. */
    assert_in_range(yes, HISTORIES / 10, HISTORIES * 9 / 10);
}

/* A crowd that all ask at once is decided all the same: who is alike goes in turn. */
TEST(a_crowd_is_decided)
{
    struct exact_op ops[EXACT_OPS_MAX];
    for (size_t i = 0; i < EXACT_OPS_MAX; i++) {
        bool sold = i < 100;
        ops[i] = (struct exact_op){.start_us = (int64_t)i,
                                   .end_us = 1000 + (int64_t)(i * 37 % 101),
                                   .least = sold,
                                   .change = -(int64_t)sold,
                                   .below = !sold};
    }
    assert_int_equal(exact_search(ops, EXACT_OPS_MAX, 100, BUDGET), EXACT_YES);
    assert_int_equal(exact_search(ops, EXACT_OPS_MAX, 99, BUDGET), EXACT_NO);
}

TEST(it_gives_up_without_a_yes)
{
    struct exact_op ops[EXACT_OPS_MAX];
    for (size_t i = 0; i < 60; i++) {
        int64_t units = (int64_t)i % 20 + 1;
        ops[i] = (struct exact_op){.start_us = 1, .end_us = 2, .least = units, .change = -units};
    }
    assert_int_equal(exact_search(ops, 60, 629, 5000), EXACT_UNKNOWN); /* they sum up to 630 */
    assert_int_equal(exact_search(ops, 60, 630, 5000), EXACT_YES);
    assert_int_equal(exact_search(ops, EXACT_OPS_MAX + 1, 630, 5000), EXACT_NOT_TRIED);
}
