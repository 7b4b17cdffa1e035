/* The parts of a draft (draft.h). Private to this room. */
#ifndef SECKILL_LOADTEST_SHOP_DRAFT_PARTS_H
#define SECKILL_LOADTEST_SHOP_DRAFT_PARTS_H

#include "loadtest/shop/target.h"

#include <jansson.h>
#include <stdio.h>

/* --- pasted.c: a curl command as a browser copies it ("copy as cURL", for bash), and an answer as
 * `curl -i` prints it; texts are the pool's --- */

struct pasted_answer {
    int status;
    const char *body;
    json_t *json; /* owned; NULL: it is none */
};

/* False: `error` says file, line where there is one, what is wrong and what would be right. The
 * request's URL is its path and query alone; its body is FILL_JSON, or else a form, unless a header
 * says what it is. */
bool pasted_read_curl(const char *file, struct pool *pool, struct shop_request *out,
                      struct error *error);
bool pasted_read_answer(const char *file, struct pool *pool, struct pasted_answer *out,
                        struct error *error);

/* --- draft_fields.c: the request's texts, with fields in the place of what they name --- */

/* What can be known by its name in a request. */
enum draft_field { DRAFT_PRODUCT, DRAFT_USER, DRAFT_KEY, DRAFT_FIELDS };

struct draft_found {
    bool fields[DRAFT_FIELDS];
    char product[24]; /* the product's number; "": none was found */
};

/* As values of YAML; `found` learns what was there. */
void draft_path(FILE *to, const char *path, struct draft_found *found);
void draft_body(FILE *to, const struct shop_request *curl, struct draft_found *found);
void draft_header(FILE *to, const struct shop_pair *header, struct draft_found *found);
bool draft_is_secret(const char *header);

/* Takes the JSON; NULL is written as nothing. */
void draft_json(FILE *to, json_t *json);

/* Whether a name is one of the list, which ends with NULL, but for case, '_' and '-'. */
bool draft_is_named(const char *name, size_t length, const char *const *names);

#endif
