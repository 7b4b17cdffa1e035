/*
 * How far a run is: the line that is rewritten on a terminal, "3 of 100, 12 min left, 274 oversold:
 * conditional, 8123 sold, 4260 answers/s, 1 instance, round 1, speed: 3 s". The time left is
 * reckoned from the phases that are over; what they oversold, all strategies together, is their
 * rows' word.
 */
#ifndef SECKILL_LOADTEST_COMMANDS_PROGRESS_H
#define SECKILL_LOADTEST_COMMANDS_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

/* Begins as {0}. Times are CLOCK_MONOTONIC. */
struct progress {
    size_t number, all; /* of the phase that goes on, from 1; 0: none has begun */
    int64_t began_ms;   /* the first phase */
    int64_t over_ms;    /* the last one that is over */
    int64_t oversold;   /* units, by those that are over */
};

/* A phase begins. */
void progress_next(struct progress *progress, size_t number, size_t all, int64_t now_ms);

/* The line, cut to `size` - 1 bytes, for what goes on in the phase. */
void progress_text(const struct progress *progress, int64_t now_ms, const char *what, char *out,
                   size_t size);

#endif
