/* The search of exact.h. Operations stand in the order of their ends; what was chosen so far is a
 * set of bits, of which the number of units follows, so the set alone is what is remembered. */
#include "loadtest/judge/exact/exact.h"

#include "loadtest/base/pool.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = EXACT_OPS_MAX / 64, VISITED_MAX = 1 << 17, VISITED_SLOTS = VISITED_MAX * 2 };

struct set {
    uint64_t words[WORDS];
};

struct search {
    const struct exact_op *ops;
    size_t count;
    struct set chosen;
    int64_t units;
    size_t kinds[EXACT_OPS_MAX];
    size_t path[EXACT_OPS_MAX], depth;
    struct set *visited; /* owned: a table of VISITED_SLOTS, an empty set is a free slot */
    size_t visited_count;
};

static bool has(const struct set *set, size_t i)
{
    return set->words[i / 64] >> (i % 64) & 1;
}

static void flip(struct search *search, size_t i, int64_t change)
{
    search->chosen.words[i / 64] ^= UINT64_C(1) << (i % 64);
    search->units += change;
}

static uint64_t hash_set(const struct set *set)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < WORDS; i++) {
        hash = (hash ^ set->words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return hash;
}

/* Whether the set is new. A table that is full remembers nothing more; the budget ends that. */
static bool visit(struct search *search)
{
    static const struct set empty;
    for (size_t at = hash_set(&search->chosen) % VISITED_SLOTS;; at = (at + 1) % VISITED_SLOTS) {
        struct set *slot = &search->visited[at];
        if (memcmp(slot, &search->chosen, sizeof *slot) == 0)
            return false;
        if (memcmp(slot, &empty, sizeof *slot) != 0)
            continue;
        if (search->visited_count < VISITED_MAX) {
            *slot = search->chosen;
            search->visited_count++;
        }
        return true;
    }
}

/* Whether only their times tell them apart. */
static bool are_alike(const struct exact_op *a, const struct exact_op *b)
{
    return a->least == b->least && a->below == b->below && a->change == b->change &&
           a->optional == b->optional;
}

/* The first that is alike stands for all of them. */
static void find_kinds(struct search *search)
{
    for (size_t i = 0; i < search->count; i++) {
        size_t first = 0;
        while (!are_alike(&search->ops[first], &search->ops[i]))
            first++;
        search->kinds[i] = first;
    }
}

/* The earliest end of what is not chosen: nothing that began later may come before it. */
static int64_t find_limit(const struct search *search)
{
    for (size_t i = 0; i < search->count; i++) {
        if (!has(&search->chosen, i))
            return search->ops[i].end_us;
    }
    return LEDGER_NEVER;
}

static bool fits(const struct search *search, const struct exact_op *op)
{
    return search->units >= op->least && (!op->below || search->units < op->below);
}

/* The first candidate that is not before `from`; `count` for none. Of those that are alike the one
 * that ends first is the only one. */
static size_t find_next(const struct search *search, size_t from)
{
    bool seen[EXACT_OPS_MAX] = {false};
    int64_t limit_us = find_limit(search);
    for (size_t i = 0; i < search->count; i++) {
        const struct exact_op *op = &search->ops[i];
        if (has(&search->chosen, i) || op->start_us > limit_us || seen[search->kinds[i]])
            continue;
        seen[search->kinds[i]] = true;
        if (i >= from && fits(search, op))
            return i;
    }
    return search->count;
}

static bool is_over(const struct search *search)
{
    for (size_t i = 0; i < search->count; i++) {
        if (!has(&search->chosen, i) && !search->ops[i].optional)
            return false;
    }
    return true;
}

static enum exact_answer walk(struct search *search, int64_t budget)
{
    size_t from = 0;
    while (!is_over(search)) {
        size_t next = find_next(search, from);
        if (next < search->count) {
            if (budget-- <= 0)
                return EXACT_UNKNOWN;
            flip(search, next, search->ops[next].change);
            if (visit(search)) {
                search->path[search->depth++] = next;
                from = 0;
                continue;
            }
        } else if (search->depth > 0) {
            next = search->path[--search->depth];
        } else {
            return EXACT_NO;
        }
        flip(search, next, -search->ops[next].change);
        from = next + 1;
    }
    return EXACT_YES;
}

static int by_end(const void *a, const void *b)
{
    const struct exact_op *left = a, *right = b;
    if (left->end_us != right->end_us)
        return left->end_us < right->end_us ? -1 : 1;
    return (left->start_us > right->start_us) - (left->start_us < right->start_us);
}

enum exact_answer exact_search(struct exact_op *ops, size_t count, int64_t stock, int64_t budget)
{
    if (count > EXACT_OPS_MAX)
        return EXACT_NOT_TRIED;
    if (count > 1)
        qsort(ops, count, sizeof *ops, by_end);
    struct search search = {.ops = ops, .count = count, .units = stock};
    search.visited = memory_take(VISITED_SLOTS * sizeof *search.visited);
    find_kinds(&search);
    enum exact_answer answer = walk(&search, budget);
    free(search.visited);
    return answer;
}
