#include "base/random/uuid.h"

#include "base/clock.h"
#include "base/random/random.h"

#include <stddef.h>
#include <string.h>

static void put_big_endian(uint8_t *out, size_t length, uint64_t value)
{
    for (size_t i = length; i-- > 0; value >>= 8)
        out[i] = (uint8_t)value;
}

static struct uuid make_v7(int64_t wall_us, uint64_t tail)
{
    uint64_t us = wall_us < 0 ? 0 : (uint64_t)wall_us;
    uint64_t ms = us / CLOCK_US_PER_MS;
    uint64_t fraction = us % CLOCK_US_PER_MS * 4096 / CLOCK_US_PER_MS;
    struct uuid id = {.bytes = {0}};

    put_big_endian(id.bytes, 6, ms);
    put_big_endian(id.bytes + 6, 2, UINT64_C(0x7000) | fraction);
    put_big_endian(id.bytes + 8, 8, UINT64_C(1) << 63 | tail);
    return id;
}

struct uuid uuid_v7(int64_t wall_us)
{
    return make_v7(wall_us, random_below(UINT64_C(1) << 62));
}

struct uuid uuid_v7_of_group(int64_t wall_us, uint64_t group, unsigned index)
{
    return make_v7(wall_us, (uint64_t)index << UUID_GROUP_BITS | group);
}

const char *uuid_group_text(const char *text)
{
    return text + UUID_TEXT_LENGTH - UUID_GROUP_BITS / 4;
}

enum { CELL_BYTE = 10 };

void uuid_set_cell(struct uuid *id, unsigned cell)
{
    if (cell > 0)
        id->bytes[CELL_BYTE] = (uint8_t)cell;
}

unsigned uuid_cell(const struct uuid *id)
{
    return id->bytes[CELL_BYTE];
}

static bool dash_before(size_t byte)
{
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

void uuid_format(const struct uuid *id, char out[UUID_TEXT_LENGTH + 1])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < sizeof id->bytes; i++) {
        if (dash_before(i))
            *out++ = '-';
        *out++ = digits[id->bytes[i] >> 4];
        *out++ = digits[id->bytes[i] & 15];
    }
    *out = '\0';
}

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    return -1;
}

bool uuid_parse(const char *text, struct uuid *id)
{
    struct uuid parsed;

    for (size_t i = 0; i < sizeof parsed.bytes; i++) {
        if (dash_before(i) && *text++ != '-')
            return false;
        int high = hex_value(text[0]);
        int low = high < 0 ? -1 : hex_value(text[1]); /* never reads behind the NUL */
        if (low < 0)
            return false;
        parsed.bytes[i] = (uint8_t)(high << 4 | low);
        text += 2;
    }
    if (*text != '\0')
        return false;
    *id = parsed;
    return true;
}

bool uuid_equal(const struct uuid *a, const struct uuid *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}
