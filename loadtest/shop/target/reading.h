/*
 * A reading of a target's file: its places, the table of fields, the target that they fill, and the
 * names that texts may use, which grow from part to part. Private to this room. One thread.
 *
 * document.c makes the YAML a tree of places: each knows its line and the way to it, so that
 * whatever is wrong is answered with "FILE:12: outcome[2].order: what is wrong". Plain maps, lists
 * and texts are read; anchors, aliases, tags and a second document are refused, for nothing here
 * needs them, and so is a name that stands twice, which YAML forbids and most readers let pass.
 *
 * read.c has the table, a row for each field, and value.c reads single values and, by the table,
 * maps. A row that cannot say all of its field names a reader, which gets the field's place and the
 * struct that its map fills (`into`: the target, a request, a query, a line).
 *
 * Places and texts are the target's: they stay in its pool.
 */
#ifndef SECKILL_LOADTEST_SHOP_READING_H
#define SECKILL_LOADTEST_SHOP_READING_H

#include "loadtest/shop/target.h"

/* --- document.c: places --- */

enum { DOCUMENT_BYTES_MAX = 64 * 1024 }; /* a file's, in UTF-8 */

enum place_kind { PLACE_TEXT, PLACE_LIST, PLACE_MAP };

/* Not touched once the file is read. */
struct place {
    struct reading *reading;
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

enum { NAMES_MAX = 48 };

struct names {
    const char *items[NAMES_MAX];
    size_t count;
};

struct reading {
    struct target *target;      /* borrowed; its path is the file's */
    struct error *error;        /* borrowed: where place_refuse writes */
    const struct field *fields; /* borrowed: the table, of which the last row has no name */
    struct place *root;
    struct names names; /* that texts may use from here on */
};

/* The file's places, up to the root; false: it is refused. */
bool places_read(struct reading *reading);

/* "FILE:line: way: " and what is wrong. Always returns false. */
__attribute__((format(printf, 2, 3))) bool place_refuse(const struct place *place,
                                                        const char *format, ...);

/* "a map", "nothing" …: what stands there, for an error. */
const char *place_kind_text(const struct place *place);

/* Whether it is a map or a list and has something in it; if not, it is refused. `example` says how
 * it is written. */
bool place_is(const struct place *place, enum place_kind kind, const char *example);

/* The field of a map; NULL: it is not there. */
const struct place *place_field(const struct place *place, const char *name);

/* A text as printf makes it, the target's. */
#define place_text(place, ...) pool_text(&(place)->reading->target->pool, __VA_ARGS__)

/* "…" around what somebody wrote, short and on one line. */
const char *place_quote(const struct place *place, const char *text);

/* --- value.c: texts, numbers, times. ${NAME} is the environment's, and "$${" stands for "${".
 * Mistakes are refused by place_refuse: no error repeats what the environment holds, and one quotes
 * the file only where no secret can stand (numbers, words).
 *
 * ${NAME} is written by where it stands, to stay one value: a password may have blanks, quotes, '@'
 * and '/'. What a text begins with is a piece of it, not a value in it, and stands as it is: a
 * whole URL, connection string or body from the environment. --- */

/* What a text is, by which the values in it are written. */
enum standing {
    AS_IT_IS,    /* everywhere */
    IN_DATABASE, /* a conninfo, or a URL */
    IN_PATH,     /* a path, or a URL */
    IN_JSON,     /* in a string, or as it is */
    IN_FORM,
    IN_SQL /* in a literal, or as it is */
};

/* Not empty. `wanted` is said when it is no single value: "a path"; `where` says how what the
 * environment holds is written by where it stands. With `names` it is a text with fields (fill.h),
 * each of them among the names; what the environment holds is none. */
bool value_text(const struct place *place, const char *wanted, enum standing where,
                const struct names *names, const char **out);

/* As it stands, ${…} and all, and not empty: for a shell, and for words. NULL: it is refused. */
const char *value_word(const struct place *place, const char *wanted);

/* A JSON pointer (RFC 6901) that is not empty: "/data/id". */
bool value_pointer(const struct place *place, const char **out);
bool value_check_pointer(const struct place *place, const char *pointer);

/* As JSON: 5001, true and null without quotes are these, anything else is a text. */
bool value_json(const struct place *place, const char **out);

/* A name that texts may use from here on; refused when it is no name, or is known already. */
bool names_add(const struct place *place, const char *name);
bool names_have(const struct names *names, const char *name);

/* The hint for a name that is not among them: ": did you mean {user}?", or which there are. */
const char *names_hint(const struct place *place, const struct names *names, const char *name,
                       bool braces);

/* --- maps, by rows --- */

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
struct field {
    unsigned in; /* parts that have it */
    const char *name;
    enum {
        TEXT,     /* const char *: `wanted`, `where` */
        TEMPLATE, /* the same, with fields */
        RAW,      /* const char *: `wanted` */
        POINTER,  /* const char * */
        NUMBER,   /* int64_t: `from`, `to` */
        TIME,     /* int64_t */
        BOOL,
        MAP,   /* of `part` */
        LIST,  /* `wanted`, `each`; where it is an array, with room for `most` of `size` */
        PAIRS, /* the same of a map with any names */
        OWN,   /* by `then` alone */
    } kind;
    size_t at; /* offset in what the map fills */
    bool required;
    reader *then; /* afterwards, into the same; of MAP: into what that has filled */
    const char *wanted;
    enum standing where;
    int64_t from, to;
    enum part part;
    size_t of;    /* what a LIST fills: offset in what the map fills */
    reader *each; /* for each item, into that; counts what it makes */
    size_t size, most;
    const char *many; /* when there are more; NULL: `each` says it */
};

/* A map with the fields of a part and no others. They are read in the order of the table, not of
 * the file. */
bool fields_read(const struct place *place, enum part part, void *into);

/* request.c */
reader reading_server, reading_step, reading_path, reading_method, reading_header, reading_body;
reader reading_chunked, reading_keep_alive, reading_take, reading_purchase, reading_repeats;
reader reading_poll, reading_poll_within;

/* rules.c: a line while it is read. One with several statuses becomes a rule for each. */
enum { RULES_MAX = 64, STATUSES_MAX = 16 };
struct status_range {
    int from, to;
};
struct line {
    bool of_step;
    struct shop_rule rule; /* its meaning is SHOP_UNKNOWN as long as there is none */
    struct status_range statuses[STATUSES_MAX];
    size_t status_count; /* 0: any */
};
reader reading_line, reading_outcome, reading_meaning, reading_order, reading_status, reading_json;

/* users.c */
reader reading_users, reading_csv, reading_column, reading_columns;

/* books.c */
reader reading_database, reading_sql, reading_query, reading_claim;

#endif
