/* A ledger that is being read. Private to this room; the lines of a shop's are shop_lines.c's. */
#ifndef SECKILL_LOADTEST_LEDGER_READING_H
#define SECKILL_LOADTEST_LEDGER_READING_H

#include "loadtest/ledger/ledger.h"

#include <jansson.h>

enum { READING_STATUS_MAX = 999 };

struct reading {
    struct ledger *out;
    enum ledger_whose whose;
    int64_t open;   /* a shop's purchases that have not ended */
    int64_t orders; /* that a shop's books have, as they say */
    bool sent;      /* a shop's load has ended */
};

/* What the first line says of a shop; of our own servers nothing. */
bool shop_read_head(struct reading *reading, const json_t *line, struct error *error);
/* Any other, but that of a product. */
bool shop_read_line(struct reading *reading, const json_t *line, struct error *error);

/* line_fields.c: the fields of a line, whoever wrote it: a number that is not an integer, or not in
 * its range, or a text that is none, is an error that names the field. */

/* One that is not there is `otherwise`. */
bool line_take_number(const json_t *line, const char *name, int64_t otherwise, int64_t *out,
                      struct error *error);

/* One that may be left out, and then is 0; from 0 to `most`. */
bool line_take_count(const json_t *line, const char *name, int64_t most, int64_t *out,
                     struct error *error);

/* One that must be there, `least` or more. */
bool line_need_number(const json_t *line, const char *name, int64_t least, int64_t *out,
                      struct error *error);

/* A text, "" when it is not there. */
bool line_take_text(const json_t *line, const char *name, char *out, size_t size,
                    struct error *error);
/* A copy of at most `most` bytes, for the caller to free; NULL when it is not there, or empty. */
bool line_copy_text(const json_t *line, const char *name, size_t most, char **out,
                    struct error *error);

#endif
