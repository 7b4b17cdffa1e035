/* See utf8.h. */
#include "loadtest/base/utf8.h"

size_t utf8_sequence(const char *text, size_t left)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t length = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    if (length == 0 || at[0] > 0xf4 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if (length == 3 && ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f)))
        return 0;
    if (length == 4 && ((at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f)))
        return 0;
    return length;
}

size_t utf8_bad_line(const char *text, size_t length)
{
    size_t line = 1;
    for (size_t i = 0, sequence; i < length; i += sequence) {
        sequence = utf8_sequence(text + i, length - i);
        if (sequence == 0 || text[i] == '\0')
            return line;
        line += text[i] == '\n';
    }
    return 0;
}

int utf8_width(const char *text, size_t length)
{
    int width = 0;
    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)text[i] & 0xC0) != 0x80;
    return width;
}
