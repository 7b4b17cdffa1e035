/*
 * The name that somebody may have meant: flags, commands and strategies are offered one after the
 * other, and the closest one is kept, if one is close enough to be a slip of the hand. Upper case
 * counts as lower case and '_' as '-'; two letters that changed places are one slip; a beginning of
 * three letters or more stands for the whole.
 */
#ifndef SECKILL_BASE_OPTIONS_NEAREST_H
#define SECKILL_BASE_OPTIONS_NEAREST_H

#include <stddef.h>

/* The texts are borrowed. */
struct nearest {
    const char *typed;
    size_t length;
    const char *name; /* NULL: nothing is close */
    size_t slips;     /* between the two */
};

/* `length` bytes of `typed`; ends with nearest_offer's names. */
struct nearest nearest_to(const char *typed, size_t length);
void nearest_offer(struct nearest *nearest, const char *name);

enum { NEAREST_TEXT_SIZE = 128 };
/* ": did you mean --rounds?" with "--" as what stands before the name; "" when nothing is close. */
const char *nearest_text(const struct nearest *nearest, const char *before,
                         char out[NEAREST_TEXT_SIZE]);

#endif
