/* UTF-8 (RFC 3629, section 4): no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef SECKILL_LOADTEST_BASE_UTF8_H
#define SECKILL_LOADTEST_BASE_UTF8_H

#include <stddef.h>

/* The length of the sequence that begins here, of `left` bytes, at least 1; 0: none does. */
size_t utf8_sequence(const char *text, size_t left);
/* How many columns a text has on a screen: what continues a character takes no place. */
int utf8_width(const char *text, size_t length);

/* The first line, from 1, in which something is no text, a NUL character neither; 0: all is. */
size_t utf8_bad_line(const char *text, size_t length);

#endif
