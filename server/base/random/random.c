/*
 * The fast generator is xoshiro256** (Blackman and Vigna), one state a thread, seeded by
 * getrandom(2) on first use, so that no two threads and no two instances share a sequence.
 */
#include "base/random/random.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/random.h>

void random_bytes(void *out, size_t length)
{
    unsigned char *at = out;
    while (length > 0) {
        ssize_t got = getrandom(at, length, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            abort();
        at += got;
        length -= (size_t)got;
    }
}

static uint64_t rotate_left(uint64_t value, unsigned by)
{
    return (value << by) | (value >> (64 - by));
}

static uint64_t next_number(void)
{
    static _Thread_local bool seeded;
    static _Thread_local uint64_t state[4];

    while (!seeded) {
        random_bytes(state, sizeof state);
        seeded =
            (state[0] | state[1] | state[2] | state[3]) != 0; /* all zeros stays zero for ever */
    }

    uint64_t result = rotate_left(state[1] * 5, 7) * 9;
    uint64_t shifted = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = rotate_left(state[3], 45);
    return result;
}

uint64_t random_below(uint64_t bound)
{
    if (bound == 0)
        return 0;

    /* The lowest 2^64 mod bound numbers are thrown away, so that what is left divides evenly. */
    uint64_t uneven = (0 - bound) % bound;
    uint64_t number = next_number();
    while (number < uneven)
        number = next_number();
    return number % bound;
}

void random_token(char out[RANDOM_TOKEN_LENGTH + 1])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[RANDOM_TOKEN_LENGTH / 2];

    random_bytes(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[RANDOM_TOKEN_LENGTH] = '\0';
}

int64_t random_backoff_us(unsigned attempts)
{
    enum { FIRST_US = 500, MOST_US = 20000 };
    uint64_t most = FIRST_US;

    for (unsigned i = 1; i < attempts && most < MOST_US; i++)
        most *= 2;
    return (int64_t)random_below(most < MOST_US ? most : MOST_US);
}
