/* Random numbers. Tokens come from getrandom(2); jitter from a per-thread generator seeded by it.
 */
#ifndef SECKILL_BASE_RANDOM_H
#define SECKILL_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Fills `out` from the kernel. Aborts when the kernel has none to give: a guessable lock token is
 * worse than no server. */
void random_bytes(void *out, size_t length);

/* A fast uniform number in [0, bound) for back-off, sampling and uuid tails; 0 when bound is 0. Not
 * for secrets. */
uint64_t random_below(uint64_t bound);

/* The pause before the attempt after number `attempts` (1, 2 …): full jitter under a bound that
 * doubles from 0.5 to 20 ms (Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog,
 * 2015). */
int64_t random_backoff_us(unsigned attempts);

/* 128 random bits from the kernel as 32 hexadecimal digits and a NUL: a lock token. */
#define RANDOM_TOKEN_LENGTH 32
void random_token(char out[RANDOM_TOKEN_LENGTH + 1]);

#endif
