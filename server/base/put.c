/* See put.h. */
#include "base/put.h"

#include <string.h>

char *put_text(char *out, const char *text)
{
    size_t length = strlen(text);

    memcpy(out, text, length + 1);
    return out + length;
}

char *put_number(char *out, int64_t number)
{
    char digits[PUT_NUMBER_MAX];
    char *at = digits + sizeof digits;
    uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;

    do
        *--at = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (number < 0)
        *--at = '-';
    size_t length = (size_t)(digits + sizeof digits - at);
    memcpy(out, at, length);
    out[length] = '\0';
    return out + length;
}
