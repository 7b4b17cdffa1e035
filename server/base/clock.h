/*
 * Time. Deadlines are absolute CLOCK_MONOTONIC microseconds; CLOCK_REALTIME is for what people
 * read.
 *
 * RFC 3339 in and out, always UTC with microseconds on the way out ("2026-11-20T08:00:00.000000Z").
 */
#ifndef SECKILL_BASE_CLOCK_H
#define SECKILL_BASE_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define CLOCK_US_PER_S       INT64_C(1000000)
#define CLOCK_US_PER_MS      INT64_C(1000)
#define CLOCK_RFC3339_LENGTH 27

int64_t clock_mono_us(void);
int64_t clock_wall_us(void); /* since 1970-01-01T00:00:00Z */

static inline int64_t clock_mono_ms(void)
{
    return clock_mono_us() / CLOCK_US_PER_MS;
}

static inline int64_t clock_earlier(int64_t a_us, int64_t b_us)
{
    return a_us < b_us ? a_us : b_us;
}

/* Milliseconds from now to `deadline_us`, rounded up, for poll(2): 0 when it has passed. */
int clock_poll_ms(int64_t deadline_us);

/* Conditions whose waits end by CLOCK_MONOTONIC, and a deadline for pthread_cond_timedwait. */
void clock_cond_init(pthread_cond_t *condition);
struct timespec clock_timespec(int64_t mono_us);

/* Sleeps until `deadline_us` (monotonic), through interrupts. */
void clock_sleep_until(int64_t deadline_us);

/* `out` holds CLOCK_RFC3339_LENGTH characters and a NUL. Years 0001 to 9999. */
void clock_format_rfc3339(int64_t wall_us, char out[CLOCK_RFC3339_LENGTH + 1]);

/* Strict RFC 3339 date-time: 'T' and 'Z' in either case, up to 9 fraction digits, cut to
 * microseconds, an offset of ±hh:mm; real dates alone, no leap second. Else it is false.
 */
bool clock_parse_rfc3339(const char *text, int64_t *wall_us);

#endif
