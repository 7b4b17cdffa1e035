/*
 * What the readers of a target's parts share while a file is read: the target, and the names that
 * texts may use as fields, which grow from part to part. Private to this room. One thread.
 *
 * A reader of a part gets the place of its field and this struct (place_read's `into`); what it has
 * made is the target's at once, so target_fini frees it however the reading ends.
 */
#ifndef SECKILL_LOADTEST_SHOP_READING_H
#define SECKILL_LOADTEST_SHOP_READING_H

#include "loadtest/shop/target.h"
#include "loadtest/shop/target/value.h"

enum { READING_NAMES_MAX = 48 };

struct reading {
    struct target *target;          /* borrowed */
    char *server;                   /* owned; without a slash at its end */
    char *names[READING_NAMES_MAX]; /* owned */
    size_t name_count;
};

/* A name that texts may use from here on; refused when it is no name, or is known already. */
bool reading_add_name(struct reading *reading, const struct place *place, const char *name);

/* Whether each field of a text is among the names. */
bool reading_check_fields(const struct place *place, const char *text, char *const *names,
                          size_t count);

/* One more element, zeroed, at the end of an array: NULL, refused, when memory is out. */
void *reading_grow(const struct place *place, void *array, size_t count, size_t size);

/* request.c */
bool reading_server(const struct place *place, void *reading);
bool reading_steps(const struct place *place, void *reading);
bool reading_purchase(const struct place *place, void *reading);
bool reading_poll(const struct place *place, void *reading);

/* rules.c */
bool reading_outcome(const struct place *place, void *reading);
bool reading_poll_rules(const struct place *place, struct target *target);
bool reading_step_rules(const struct place *place, struct shop_request *step);

/* users.c */
bool reading_users(const struct place *place, void *reading);

/* books.c */
bool reading_reset(const struct place *place, void *reading);
bool reading_quiet(const struct place *place, void *reading);
bool reading_audit(const struct place *place, void *reading);
bool reading_claims(const struct place *place, void *reading);

#endif
