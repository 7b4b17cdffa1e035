/* The registry in print, in its own order, for the command line.
 */
#ifndef SECKILL_API_LISTING_H
#define SECKILL_API_LISTING_H

#include <stdio.h>

void listing_print_help(FILE *to); /* the end of --help: names and summaries */

/* Columns for a script: name, when it is right, needs (with commas), summary. */
void listing_print(FILE *to);

/* The rows of the table in docs/STRATEGIES.md (scripts/strategy_tables.py). */
void listing_print_markdown(FILE *to);

#endif
