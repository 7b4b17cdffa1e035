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
void uuid_format(const struct uuid *id, char out[UUID_TEXT_LENGTH + 1]);
/* The 8-4-4-4-12 form alone, either case, any version. */
bool uuid_parse(const char *text, struct uuid *id);
bool uuid_equal(const struct uuid *a, const struct uuid *b);

#endif
