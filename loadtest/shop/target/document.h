/*
 * A YAML file as somebody wrote it, as a tree of places: each knows its line and the way to it, so
 * that whatever is wrong is answered with "FILE:12: outcome[2].order: what is wrong".
 *
 * Plain maps, lists and texts are read; anchors, aliases, tags and a second document are refused,
 * for nothing here needs them, and so is a name that stands twice, which YAML forbids and most
 * readers let pass. A file has DOCUMENT_BYTES_MAX at most, in UTF-8.
 *
 * Places are the document's, and not touched once it is open. One thread.
 */
#ifndef SECKILL_LOADTEST_SHOP_DOCUMENT_H
#define SECKILL_LOADTEST_SHOP_DOCUMENT_H

#include "base/error.h"
#include "loadtest/base/pool.h"

#include <stdbool.h>
#include <stddef.h>

enum { DOCUMENT_BYTES_MAX = 64 * 1024 };

enum place_kind { PLACE_TEXT, PLACE_LIST, PLACE_MAP };

struct place {
    struct document *document;
    struct place *up; /* NULL: the root */
    const char *key;  /* its name in the map above; NULL: in a list */
    size_t index;     /* in what is above, from 0 */
    size_t line;      /* from 1; of a field its name's: what is missing stands nowhere */
    enum place_kind kind;
    const char *text;                  /* of PLACE_TEXT */
    size_t length;                     /* of the text, which may have a NUL character in it */
    bool is_plain;                     /* the text has no quotes */
    struct place *first, *last, *next; /* within it; beside it */
    size_t count;                      /* within it */
};

struct document {
    const char *path; /* borrowed */
    struct place *root;
    struct error *error; /* borrowed: where place_refuse writes */
    struct pool *keeps;  /* borrowed: the pool of the values that are made of places */
    struct pool tree;
};

/* False: nothing is left open. What it borrows must outlive it. */
bool document_open(struct document *document, const char *path, struct pool *keeps,
                   struct error *error);
void document_close(struct document *document);

/* --- places --- */

/* "FILE:line: way: " and what is wrong. Always returns false. */
__attribute__((format(printf, 2, 3))) bool place_refuse(const struct place *place,
                                                        const char *format, ...);

/* "a map", "nothing" …: what stands there, for an error. */
const char *place_kind_text(const struct place *place);

/* Whether it is a map or a list and has something in it; if not, it is refused. `example` says how
 * it is written. */
bool place_is_map(const struct place *place, const char *example);
bool place_is_list(const struct place *place, const char *example);

/* The field of a map; NULL: it is not there. */
const struct place *place_field(const struct place *place, const char *name);

/* Zeroed memory of `keeps`; NULL, refused: memory is out. */
void *place_take(const struct place *place, size_t size);
bool place_keep(const struct place *place, const char *text, const char **out);

/* "…" around what somebody wrote, short and on one line; the document's. */
const char *place_quote(const struct place *place, const char *text);

#endif
