/* UTF-8 (RFC 3629, section 4): no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef SECKILL_LOADTEST_BASE_UTF8_H
#define SECKILL_LOADTEST_BASE_UTF8_H

#include <stddef.h>

/* The first line, from 1, in which something is no text, a NUL character neither; 0: all is. */
size_t utf8_bad_line(const char *text, size_t length);

#endif
