/*
 * A reading of a target's file: the table of fields, the target that they fill, and the names that
 * texts may use, which grow from part to part. Private to this room. One thread.
 *
 * read.c has the table, a row for each field, and fields.c the walker. A row that cannot say all of
 * its field names a reader, which gets the field's place and the struct that its map fills (`into`:
 * the target, a request, a query, a line).
 */
#ifndef SECKILL_LOADTEST_SHOP_READING_H
#define SECKILL_LOADTEST_SHOP_READING_H

#include "loadtest/shop/target.h"
#include "loadtest/shop/target/value.h"

enum { NAMES_MAX = 48, NAMES_TEXT_SIZE = 300 };

struct names {
    const char *items[NAMES_MAX];
    size_t count;
};

struct reading {
    struct document document;   /* first, so that a place leads to it */
    const struct field *fields; /* borrowed; the last has no name */
    struct target *target;      /* borrowed */
    const char *server;         /* without a slash at its end */
    struct names names;
};

static inline struct reading *reading_of(const struct place *place)
{
    return (struct reading *)place->document;
}

/* A name that texts may use from here on; refused when it is no name, or is known already. */
bool reading_add_name(const struct place *place, const char *name);
bool reading_has_name(const struct place *place, const char *name);

/* Whether each field of a text is among the names. */
bool names_check(const struct place *place, const struct names *names, const char *text);

/* The hint for a name that is not among them: ": did you mean {user}?", or which there are. */
const char *names_hint(const struct names *names, const char *name, bool braces,
                       char out[NAMES_TEXT_SIZE]);

/* A text with fields (value_fields) that are known by now. */
bool reading_template(const struct place *place, const char *wanted, standing *where,
                      const char **out);

/* The maps of a file. A row of the table may be of several. */
enum part {
    PART_TARGET = 1 << 0,
    PART_STEP = 1 << 1,
    PART_PURCHASE = 1 << 2,
    PART_POLL = 1 << 3,
    PART_REQUEST = PART_STEP | PART_PURCHASE | PART_POLL,
    PART_QUERY = 1 << 4,
    PART_QUIET = 1 << 5,
    PART_AUDIT = 1 << 6,
    PART_USERS = 1 << 7,
    PART_LINE = 1 << 8,
    PART_CONDITIONS = 1 << 9,
};

/* False: it has refused. */
typedef bool reader(const struct place *place, void *into);

/* A row of the table: a field of a part. */
enum kind {
    TEXT,     /* const char *: `wanted`, `where` */
    TEMPLATE, /* the same, with fields */
    RAW,      /* const char *: `wanted` */
    POINTER,  /* const char * */
    NUMBER,   /* int64_t: `from`, `to` */
    TIME,     /* int64_t */
    BOOL,
    MAP,   /* of `part` */
    LIST,  /* an array: `wanted`, `most` of `size`, the count at `count`; `then` for each */
    PAIRS, /* the same of a map with any names */
    OWN,   /* by `then` alone */
};

struct field {
    unsigned in; /* parts that have it */
    const char *name;
    enum kind kind;
    size_t at; /* offset in what the map fills */
    bool required;
    reader *then; /* afterwards, into the same; of MAP: into what that has filled */
    const char *wanted;
    standing *where;
    int64_t from, to;
    enum part part;
    size_t count, size, most;
    const char *many; /* when there are more */
};

/* A map with the fields of a part and no others. They are read in the order of the table, not of
 * the file. */
bool fields_read(const struct place *place, enum part part, void *into);

/* request.c */
reader reading_server, reading_step, reading_path, reading_method, reading_header, reading_body;
reader reading_chunked, reading_keep_alive, reading_take, reading_purchase, reading_repeats;
reader reading_poll, reading_poll_within;

/* rules.c: a line while it is read. One with several statuses becomes a rule for each. */
enum { STATUSES_MAX = 16 };
struct status_range {
    int from, to;
};
struct line {
    bool of_step;
    struct shop_rule rule; /* its meaning is SHOP_UNKNOWN as long as there is none */
    struct status_range statuses[STATUSES_MAX];
    size_t status_count; /* 0: any */
};
reader reading_outcome, reading_step_outcome, reading_poll_outcome;
reader reading_meaning, reading_order, reading_status, reading_json;

/* users.c */
reader reading_users, reading_csv, reading_columns;

/* books.c */
reader reading_database, reading_sql, reading_query, reading_claims;

#endif
