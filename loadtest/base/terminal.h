/* What the terminal behind a stream can do, if there is one. */
#ifndef SECKILL_LOADTEST_BASE_TERMINAL_H
#define SECKILL_LOADTEST_BASE_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* A terminal that can rewrite a line: TERM is set, and not to dumb. */
bool terminal_rewrites(FILE *stream);
/* The same, and NO_COLOR is not set or empty (no-color.org). */
bool terminal_has_colours(FILE *stream);
/* How many characters a line has; 80 where it is not known. */
int terminal_columns(FILE *stream);

#endif
