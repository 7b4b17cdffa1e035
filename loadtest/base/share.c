/* See share.h. */
#include "loadtest/base/share.h"

#include <stdlib.h>
#include <string.h>

bool share_read(const char *text, double *out)
{
    char *end = NULL;
    double percent = strtod(text, &end);
    *out = percent / 100;
    return end != text && strspn(text, "0123456789.") == (size_t)(end - text) &&
           strcmp(end, "%") == 0 && percent <= 100;
}
