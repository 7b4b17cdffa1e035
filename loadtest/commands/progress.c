/* See progress.h. */
#include "loadtest/commands/progress.h"

#include <inttypes.h>
#include <stdio.h>

void progress_next(struct progress *progress, size_t number, size_t all, int64_t now_ms)
{
    if (number == 1)
        progress->began_ms = now_ms;
    progress->number = number;
    progress->all = all;
    progress->over_ms = now_ms;
}

/* The phases that are still to come take as long as those that are over; of the one that goes on,
 * what it took so far is gone. */
static int64_t left_s(const struct progress *progress, int64_t now_ms)
{
    int64_t over = (int64_t)progress->number - 1;
    int64_t to_come = (int64_t)progress->all - over;
    int64_t left_ms =
        (progress->over_ms - progress->began_ms) * to_come / over - (now_ms - progress->over_ms);
    return left_ms > 0 ? left_ms / 1000 : 0;
}

void progress_text(const struct progress *progress, int64_t now_ms, const char *what, char *out,
                   size_t size)
{
    char left[40] = "", oversold[40] = "";
    if (progress->number == 0) {
        snprintf(out, size, "%s", what);
        return;
    }
    if (progress->number > 1 && progress->number <= progress->all) {
        int64_t seconds = left_s(progress, now_ms);
        if (seconds < 60)
            snprintf(left, sizeof left, ", %" PRId64 " s left", seconds);
        else
            snprintf(left, sizeof left, ", %" PRId64 " min left", (seconds + 59) / 60);
    }
    if (progress->oversold > 0)
        snprintf(oversold, sizeof oversold, ", %" PRId64 " oversold", progress->oversold);
    snprintf(out, size, "%zu of %zu%s%s: %s", progress->number, progress->all, left, oversold,
             what);
}
