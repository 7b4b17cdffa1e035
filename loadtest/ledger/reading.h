/* A ledger that is being read. Private to this room; the lines of a shop's are shop_lines.c's. */
#ifndef SECKILL_LOADTEST_LEDGER_READING_H
#define SECKILL_LOADTEST_LEDGER_READING_H

#include "loadtest/ledger/ledger.h"
#include "loadtest/ledger/line_fields.h"

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

#endif
