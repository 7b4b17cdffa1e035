/* The rows behind settings.h; only settings_load.c and settings_print.c read them. */
#ifndef SECKILL_SETTINGS_SETTINGS_TABLE_H
#define SECKILL_SETTINGS_SETTINGS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum settings_kind { SETTINGS_TEXT, SETTINGS_NUMBER };

struct settings_row {
    const char *flag; /* without the dashes */
    enum settings_kind kind;
    bool secret;          /* its value is never printed: it is, or may hold, a password */
    size_t offset;        /* in struct settings: const char * or int64_t, by kind */
    const char *standard; /* the default, as one would type it */

    int64_t min; /* numbers alone */
    int64_t max;
    const char *unit;

    const char *value;             /* what stands for the value in --help */
    const char *takes;             /* texts alone: what it takes, in words */
    bool (*accepts)(const char *); /* texts alone; NULL: anything */

    const char *help; /* one line, for --help */
};

size_t settings_row_count(void);
const struct settings_row *settings_row_at(size_t index);

enum { SETTINGS_VARIABLE_LENGTH = 64 };

/* "lock-ttl-ms" → "SECKILL_LOCK_TTL_MS". */
void settings_variable(const struct settings_row *row, char out[SETTINGS_VARIABLE_LENGTH]);

/* What the row takes: "a whole number from 1 to 500". */
void settings_takes(const struct settings_row *row, char *out, size_t size);

#endif
