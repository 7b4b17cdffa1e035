/* See nearest.h. */
#include "base/options/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LENGTH_MAX = 63, BEGINNING_LENGTH = 3 };

struct nearest nearest_to(const char *typed, size_t length)
{
    return (struct nearest){.typed = typed, .length = length, .slips = 1 + length / 3};
}

static int plain(const char *text, size_t at)
{
    return text[at] == '_' ? '-' : tolower((unsigned char)text[at]);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters left out, added, mistaken for another or in the wrong order, at least so many. */
static size_t count_slips(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][LENGTH_MAX + 1]; /* of the last three letters of a */
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *before = rows[(i + 2) % 3], *two_before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            bool same = plain(a, i - 1) == plain(b, j - 1);
            row[j] = least(least(before[j], row[j - 1]) + 1, before[j - 1] + !same);
            if (i > 1 && j > 1 && plain(a, i - 1) == plain(b, j - 2) &&
                plain(a, i - 2) == plain(b, j - 1))
                row[j] = least(row[j], two_before[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

void nearest_offer(struct nearest *nearest, const char *name)
{
    size_t length = strlen(name), shorter = least(length, nearest->length);
    if (nearest->length < 2 || nearest->length > LENGTH_MAX || length > LENGTH_MAX)
        return;
    size_t slips = count_slips(nearest->typed, nearest->length, name, length);
    if (shorter >= BEGINNING_LENGTH && count_slips(nearest->typed, shorter, name, shorter) == 0)
        slips = least(slips, 1);
    /* The first one of those that are as close. */
    if (nearest->name ? slips >= nearest->slips : slips > nearest->slips)
        return;
    nearest->name = name;
    nearest->slips = slips;
}

const char *nearest_text(const struct nearest *nearest, const char *before,
                         char out[NEAREST_TEXT_SIZE])
{
    out[0] = '\0';
    if (nearest->name)
        snprintf(out, NEAREST_TEXT_SIZE, ": did you mean %s%.*s?", before, LENGTH_MAX,
                 nearest->name);
    return out;
}
