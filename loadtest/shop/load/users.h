/*
 * The buyers: a range of numbers, or the lines of a CSV file (RFC 4180), from a file or a command.
 * The file's first line names the fields; one is "user".
 */
#ifndef SECKILL_LOADTEST_SHOP_LOAD_USERS_H
#define SECKILL_LOADTEST_SHOP_LOAD_USERS_H

#include "loadtest/shop/audit/audit.h"

enum { USERS_COLUMNS_MAX = 32, USERS_BYTES_MAX = 64 << 20 };

struct shop_users {
    int64_t from;  /* of a range */
    int64_t count; /* at least 1 */
    char *text;    /* owned; the file, cut into its cells; NULL: a range */
    char **cells;  /* owned; a line's columns behind the other's */
    size_t cell_count, columns;
    const char *names[USERS_COLUMNS_MAX]; /* borrowed from text; of a range "user" */
};

/* A cell, cut out where it stands. *at moves behind what ended it; `last`: that was its line. */
char *users_cut(char **at, bool *last);

bool users_open(struct shop_users *out, const struct shop_asker *asker, struct error *error);
void users_close(struct shop_users *users); /* a zeroed one is allowed */

/* The cell of a field, or with a range the number, written into `number`. NULL: no such field. */
const char *users_value(const struct shop_users *users, int64_t index, const char *name,
                        char number[24]);

#endif
