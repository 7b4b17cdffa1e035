/* See capacity_search.h. */
#include "loadtest/commands/capacity/capacity_search.h"

#include <math.h>

enum { FAILURES_MAX = 2 };

void capacity_begin(struct capacity_search *search, int64_t least, int64_t first, int64_t most)
{
    *search = (struct capacity_search){.least = least, .most = most, .rate = first};
}

static void end(struct capacity_search *search, int64_t found)
{
    search->stage = CAPACITY_ENDED;
    search->found = found;
}

static void confirm(struct capacity_search *search, int64_t rate)
{
    search->stage = CAPACITY_CONFIRMS;
    search->rate = rate;
    search->held = 0;
    search->failed = 0;
}

/* The middle of two rates is the one that is as many times the lower as the higher is times it. */
static void bisect(struct capacity_search *search)
{
    int64_t apart = search->holds * CAPACITY_APART_PERCENT / 100;
    int64_t middle = (int64_t)sqrt((double)search->holds * (double)search->fails);
    if (search->fails - search->holds <= apart || middle <= search->holds)
        confirm(search, search->holds);
    else
        search->rate = middle;
}

static void double_rate(struct capacity_search *search)
{
    if (search->rate == search->most)
        confirm(search, search->most);
    else
        search->rate = search->rate > search->most / 2 ? search->most : search->rate * 2;
}

static void halve(struct capacity_search *search)
{
    if (search->rate == search->least)
        end(search, 0);
    else
        search->rate = search->rate / 2 > search->least ? search->rate / 2 : search->least;
}

/* A tenth less, or the end. */
static void give_up_rate(struct capacity_search *search)
{
    int64_t lower = search->rate * 9 / 10;
    search->holds = 0;
    search->fails = search->rate;
    if (search->rate == search->least)
        end(search, 0);
    else
        confirm(search, lower > search->least ? lower : search->least);
}

static void take_confirmation(struct capacity_search *search, bool held)
{
    search->held += held;
    search->failed += !held;
    if (search->held == CAPACITY_CONFIRMATIONS)
        end(search, search->rate);
    else if (search->failed == FAILURES_MAX)
        give_up_rate(search);
}

static void note(struct capacity_search *search, bool held)
{
    search->runs++;
    if (held && search->rate > search->holds)
        search->holds = search->rate;
    if (!held && (search->fails == 0 || search->rate < search->fails) &&
        search->stage != CAPACITY_CONFIRMS)
        search->fails = search->rate;
}

void capacity_tell(struct capacity_search *search, bool held)
{
    note(search, held);
    if (search->stage == CAPACITY_CONFIRMS)
        take_confirmation(search, held);
    else if (search->fails == 0)
        double_rate(search);
    else if (search->holds == 0)
        halve(search);
    else
        bisect(search);
    if (search->stage != CAPACITY_ENDED && search->runs >= CAPACITY_RUNS_MAX)
        end(search, 0);
}
