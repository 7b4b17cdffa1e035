/* See crowd.h. */
#include "loadtest/crowd/crowd.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { BAR_CELLS = 20, HOPELESS = 2 };

/* The seventeen that were on sale on 31 August 2024. */
static const char *const names[] = {
    "Cardiff, 4 July",     "Cardiff, 5 July",     "Manchester, 11 July",  "Manchester, 12 July",
    "Manchester, 16 July", "Manchester, 19 July", "Manchester, 20 July",  "London, 25 July",
    "London, 26 July",     "London, 30 July",     "London, 2 August",     "London, 3 August",
    "Edinburgh, 8 August", "Edinburgh, 9 August", "Edinburgh, 12 August", "Dublin, 16 August",
    "Dublin, 17 August",
};

void hall_init(struct hall *hall, int64_t first_product, size_t nights, int64_t tickets)
{
    *hall = (struct hall){.count = nights, .open_count = nights, .tickets = tickets};
    for (size_t i = 0; i < nights; i++) {
        int64_t each = tickets / (int64_t)nights;
        bool more = (int64_t)i < tickets % (int64_t)nights;
        hall->nights[i] =
            (struct night){.product = first_product + (int64_t)i, .tickets = each + more};
        hall->open[i] = i;
    }
}

void hall_close(struct hall *hall, struct night *night)
{
    if (night->gone)
        return;
    night->gone = true;
    size_t number = (size_t)(night - hall->nights);
    for (size_t i = 0; i < hall->open_count; i++) {
        if (hall->open[i] == number)
            hall->open[i] = hall->open[--hall->open_count];
    }
}

void hall_sell(struct hall *hall, struct night *night, int64_t tickets)
{
    night->sold += tickets;
    hall->sold += tickets;
    if (night->sold >= HOPELESS * night->tickets)
        hall_close(hall, night);
}

void hall_name(const struct hall *hall, const struct night *night, char *out, size_t size)
{
    size_t number = (size_t)(night - hall->nights);
    if (number < sizeof names / sizeof names[0])
        snprintf(out, size, "%s", names[number]);
    else
        snprintf(out, size, "Night %zu", number + 1);
}

const char *hall_figure(int64_t figure, char out[HALL_FIGURE_SIZE])
{
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRId64, figure), used = 0;
    for (size_t i = 0; i < length; i++) {
        size_t left = length - i;
        if (i > 0 && left % 3 == 0 && digits[i - 1] != '-')
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

void hall_line(const struct hall *hall, double orders_per_s, int64_t seconds, char *out,
               size_t size)
{
    char bar[BAR_CELLS + 1], left[HALL_FIGURE_SIZE], sold[HALL_FIGURE_SIZE];
    char rate[HALL_FIGURE_SIZE];
    int64_t rest = hall->tickets > hall->sold ? hall->tickets - hall->sold : 0;
    size_t full = (size_t)((rest * BAR_CELLS + hall->tickets - 1) / hall->tickets);
    memset(bar, '#', full);
    memset(bar + full, ' ', BAR_CELLS - full);
    bar[BAR_CELLS] = '\0';
    snprintf(out, size, "[%s] %s left, %s sold, %s orders/s, %" PRId64 " s", bar,
             hall_figure(rest, left), hall_figure(hall->sold, sold),
             hall_figure((int64_t)orders_per_s, rate), seconds);
}
