/* The parts of a draft (draft.h). Private to this room. */
#ifndef SECKILL_LOADTEST_SHOP_DRAFT_PARTS_H
#define SECKILL_LOADTEST_SHOP_DRAFT_PARTS_H

#include "loadtest/shop/draft/pasted.h"

#include <stdio.h>

/* What can be known by its name in a request. */
enum draft_field { DRAFT_PRODUCT, DRAFT_USER, DRAFT_KEY, DRAFT_FIELDS };

struct draft_found {
    bool fields[DRAFT_FIELDS];
    char product[24]; /* the product's number; "": none was found */
};

/* --- draft_fields.c: the request's texts, with fields in the place of what they name --- */

/* As values of YAML; `found` learns what was there. */
void draft_path(FILE *to, const char *path, struct draft_found *found);
void draft_body(FILE *to, const struct pasted_curl *curl, struct draft_found *found);
void draft_header(FILE *to, const struct shop_pair *header, struct draft_found *found);
bool draft_is_secret(const char *header);

/* --- draft_apart.c: what an answer means --- */

/* The lines of "outcome". False: the answers are alike. */
bool draft_outcome(FILE *to, const struct pasted_answer *bought,
                   const struct pasted_answer *sold_out, bool has_key);

/* Whether a name is one of the list, which ends with NULL, but for case, '_' and '-'. */
bool draft_is_named(const char *name, size_t length, const char *const *names);

#endif
