/*
 * The books of a great sale: what the rows say, beside what the crowd was told, and what does not
 * agree. The rows are the witness's; nothing here asks the servers.
 */
#ifndef SECKILL_LOADTEST_COMMANDS_OASIS_SALE_BOOKS_H
#define SECKILL_LOADTEST_COMMANDS_OASIS_SALE_BOOKS_H

#include "loadtest/crowd/crowd.h"
#include "loadtest/judge/witness.h"

#include <jansson.h>
#include <stdio.h>

struct sale_books {
    const struct hall *hall;         /* borrowed, as the next */
    const struct crowd_tally *tally; /* what the crowd was told */
    const char *strategy;            /* borrowed */
    size_t instances;
    bool ended_early;  /* tickets may be left, and orders be under way whose answer nobody has */
    struct books rows; /* of all nights together */
    struct witness_holdings holdings;
};

/* Fills the rows. */
bool sale_books_audit(struct sale_books *books, struct witness *witness, struct error *error);

/* Prints a line for each thing that is wrong; returns how many. */
size_t sale_books_faults(const struct sale_books *books, FILE *to);

void sale_books_print(const struct sale_books *books, FILE *to);

/* The same figures; owned by the caller. */
json_t *sale_books_json(const struct sale_books *books);

#endif
