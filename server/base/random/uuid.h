/* UUIDs: version 7 (RFC 9562: 48 bits of Unix milliseconds, then random), text in lower case. */
#ifndef SECKILL_BASE_UUID_H
#define SECKILL_BASE_UUID_H

#include <stdbool.h>
#include <stdint.h>

#define UUID_TEXT_LENGTH 36

struct uuid {
    uint8_t bytes[16];
};

/* `wall_us` gives the 48-bit time, and its microseconds within the millisecond the 12 bits of
 * rand_a (RFC 9562 §6.2, method 3), so that ids made by one process sort by time. Any thread. */
struct uuid uuid_v7(int64_t wall_us);
/* One of a group that is made at once: its last 48 bits are the group's number, those before are
 * `index`, less than UUID_GROUP_MAX (RFC 9562 §6.4 lets what tells makers apart stand in place of
 * random bits). So the group can be read from an id; and one id tells most of the others. */
enum { UUID_GROUP_MAX = 1 << 14, UUID_GROUP_BITS = 48 };
struct uuid uuid_v7_of_group(int64_t wall_us, uint64_t group, unsigned index);
/* In the id's text, the group's part; it goes to the end. */
const char *uuid_group_text(const char *text);
/* Of several cells, the one whose order it is stands in place of random bits, so that a balancer
 * can route by it: 1 to UUID_CELLS_MAX, two hex digits at UUID_CELL_AT of the text, the first of a
 * group's number. 0: none, and the id stays as it is. */
enum { UUID_CELLS_MAX = 64, UUID_CELL_AT = 24 };
void uuid_set_cell(struct uuid *id, unsigned cell);
/* What stands there; of an id that was made without a cell, anything. */
unsigned uuid_cell(const struct uuid *id);
void uuid_format(const struct uuid *id, char out[UUID_TEXT_LENGTH + 1]);
/* The 8-4-4-4-12 form alone, either case, any version. */
bool uuid_parse(const char *text, struct uuid *id);
bool uuid_equal(const struct uuid *a, const struct uuid *b);

#endif
