#include "redis/cluster/slot.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* CRC-16/XMODEM. A bit after the other: a key has some forty characters, and what follows is a
 * round trip. */
static uint16_t crc16(const char *text, size_t length)
{
    uint16_t crc = 0;

    for (size_t i = 0; i < length; i++) {
        crc ^= (uint16_t)((unsigned char)text[i] << 8);
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1);
    }
    return crc;
}

int redis_slot(const char *key)
{
    const char *tag = strchr(key, '{');
    const char *end = tag ? strchr(tag, '}') : NULL;

    if (end && end > tag + 1)
        return crc16(tag + 1, (size_t)(end - tag - 1)) % REDIS_SLOTS;
    return crc16(key, strlen(key)) % REDIS_SLOTS;
}
