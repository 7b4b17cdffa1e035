/*
 * A YAML file as somebody wrote it: each value knows its line and the way to it, so that whatever
 * is wrong is answered with "FILE:12: outcome[2].order: what is wrong".
 *
 * Plain maps, lists and texts are read; anchors, aliases, tags and a second document are refused,
 * for nothing here needs them, and so is a name that stands twice, which YAML forbids and most
 * readers let pass. A file has DOCUMENT_BYTES_MAX at most, in UTF-8.
 *
 * A place (struct place) borrows from the document and from the place above it: it lives on the
 * stack of who walks down. Values are in value.h. One thread.
 */
#ifndef SECKILL_LOADTEST_SHOP_DOCUMENT_H
#define SECKILL_LOADTEST_SHOP_DOCUMENT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

enum { DOCUMENT_BYTES_MAX = 64 * 1024 };

struct document {
    const char *path; /* borrowed */
    yaml_document_t yaml;
    struct error *error; /* borrowed: where place_refuse writes */
};

struct place {
    struct document *document;
    const struct place *up; /* NULL: the root */
    const char *key;        /* borrowed; its name in the map above; NULL: in a list */
    size_t index;           /* in the list above, from 0 */
    yaml_node_t *node;
    size_t line; /* from 1 */
};

enum place_kind { PLACE_TEXT, PLACE_LIST, PLACE_MAP };

/* False: nothing is left open. `path` must outlive the document. */
bool document_open(struct document *document, const char *path, struct error *error);
struct place document_root(struct document *document);
void document_close(struct document *document);

/* "FILE:line: way: " and what is wrong. Always returns false. */
__attribute__((format(printf, 2, 3))) bool place_refuse(const struct place *place,
                                                        const char *format, ...);

enum place_kind place_kind(const struct place *place);

/* "a map", "nothing" …: what stands there, for an error. */
const char *place_kind_text(const struct place *place);

/* Whether it is a map or a list and has something in it; if not, it is refused. `example` says how
 * it is written. A map's names are texts, and each stands once. */
bool place_is_map(const struct place *place, const char *example);
bool place_is_list(const struct place *place, const char *example);

/* Of a map or a list: how much is in it, and the one at `i`. */
size_t place_count(const struct place *place);
struct place place_child(const struct place *place, size_t i);

/* Whether a map has the field. Of anything else: false. */
bool place_has(const struct place *place, const char *name);

/* A field of a map: read by `read`, which gets place_read's `into`. */
struct place_field {
    const char *name;
    bool (*read)(const struct place *place, void *into);
    bool required;
};

/* A map with these fields and no others. They are read in the order of `fields`, not of the file,
 * so that one may count on those before it. */
bool place_read(const struct place *place, const struct place_field *fields, size_t count,
                void *into);

enum { PLACE_QUOTE_SIZE = 64 };
/* "…" around what somebody wrote, short and on one line. */
const char *place_quote(const char *text, char out[PLACE_QUOTE_SIZE]);

#endif
