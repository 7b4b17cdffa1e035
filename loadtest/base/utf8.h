/* UTF-8 (RFC 3629, section 4): no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef SECKILL_LOADTEST_BASE_UTF8_H
#define SECKILL_LOADTEST_BASE_UTF8_H

#include <stddef.h>

/* The length of the sequence that begins at `at`, of `left` bytes, at least 1; 0: none does. */
size_t utf8_sequence(const char *at, size_t left);

#endif
