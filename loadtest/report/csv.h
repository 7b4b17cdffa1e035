/*
 * CSV from JSON: a file's columns are members of the rows' objects, so that both forms of a result
 * have their figures from one place.
 *
 * `columns` has their names with commas between; the member of a member has both names, joined by
 * '_'. Behind a name may stand ':' and the number of decimals, or ":q" for a text in quotes. What a
 * row does not have is empty; a list has spaces between its items.
 */
#ifndef SECKILL_LOADTEST_REPORT_CSV_H
#define SECKILL_LOADTEST_REPORT_CSV_H

#include "base/error.h"

#include <jansson.h>

/* `rows` is an array of objects. */
bool csv_write(const char *folder, const char *name, const char *columns, const json_t *rows,
               struct error *error);

#endif
