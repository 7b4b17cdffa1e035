/* Records as people read them: in a terminal, and as the data of the live page. */
#ifndef SECKILL_LOADTEST_ZOO_PRINT_H
#define SECKILL_LOADTEST_ZOO_PRINT_H

#include "loadtest/zoo/stage.h"

#include <stdio.h>

/* Both acts of an exhibit. */
struct zoo_pair {
    const struct zoo_exhibit *exhibit; /* borrowed */
    struct zoo_record unsafe, safe;
};

/* An act as a table, time downward, as far as it came; at the end what the rows say, if it is
 * `whole`. `columns`: characters of a line. */
void zoo_print_act(FILE *to, const struct zoo_exhibit *exhibit, const struct zoo_record *record,
                   bool whole, int columns);

/* An object a name, of `count` exhibits (server/api/page/page.js reads it). False: out of memory.
 */
bool zoo_print_json(FILE *to, const struct zoo_pair *pairs, size_t count);

#endif
