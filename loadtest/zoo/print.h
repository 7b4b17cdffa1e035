/* Records as people read them: in a terminal while they are played, and as the data of the live
 * page. */
#ifndef SECKILL_LOADTEST_ZOO_PRINT_H
#define SECKILL_LOADTEST_ZOO_PRINT_H

#include "loadtest/zoo/record.h"

#include <stdio.h>

/* Both acts of an exhibit. */
struct zoo_pair {
    const struct zoo_exhibit *exhibit; /* borrowed */
    struct zoo_record unsafe, safe;
};

enum { ZOO_VERDICT_SIZE = 120 };

/* "2 sold of 1, 0 left": what the rows say. */
void zoo_verdict(const struct zoo_books *books, char out[ZOO_VERDICT_SIZE]);

/* The table, time downward: what stands above it, a step's row, what stands below it. `columns`:
 * characters of a line. */
void zoo_print_head(FILE *to, const struct zoo_exhibit *exhibit, const struct zoo_act *act,
                    int columns);
void zoo_print_row(FILE *to, const struct zoo_act *act, const struct zoo_row *row, int columns);
void zoo_print_end(FILE *to, const struct zoo_record *record);

/* An object a name, of `count` exhibits (server/api/page/page.js reads it). False: out of memory.
 */
bool zoo_print_json(FILE *to, const struct zoo_pair *pairs, size_t count);

#endif
