#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_broken(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: it does not hold: %s\n", file, line, what);
    abort();
}

char *fuzz_copy(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    if (!text)
        abort();
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

unsigned fuzz_kind(const uint8_t **data, size_t *size, unsigned count)
{
    if (*size == 0)
        return 0;
    unsigned kind = **data % count;
    ++*data;
    --*size;
    return kind;
}
