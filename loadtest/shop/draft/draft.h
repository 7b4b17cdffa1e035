/*
 * The first target file of a shop (`shop --init`): made of a purchase that was pasted as a curl
 * command and of two answers to it, and commented, so that its owner sees what to add. What it can
 * know it writes: the request with {user}, {product} and {key} where their names show, and what
 * tells the two answers apart. It repeats no secret: tokens and cookies become ${SHOP_…}.
 */
#ifndef SECKILL_LOADTEST_SHOP_DRAFT_H
#define SECKILL_LOADTEST_SHOP_DRAFT_H

#include "base/error.h"

#include <stdbool.h>

struct draft_sources {
    const char *server;                   /* the URL of the shop that will be judged */
    const char *curl, *bought, *sold_out; /* files */
};

/* Makes the file `path`, which must not be there yet. */
bool draft_make(const struct draft_sources *from, const char *path, struct error *error);

#endif
