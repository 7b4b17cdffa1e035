/* See axis.h. */
#include "loadtest/report/charts/axis.h"

#include <math.h>

void axis_take(struct axis *axis, double value)
{
    if (value <= 0)
        return;
    if (axis->least <= 0 || value < axis->least)
        axis->least = value;
    if (value > axis->most)
        axis->most = value;
}

/* 1, 2 or 5 times a power of ten, of which five to ten make the whole. */
static double round_step(double whole)
{
    double power = pow(10, floor(log10(whole)));
    double most = whole / power;
    if (most <= 2)
        return power / 5;
    return most <= 5 ? power / 2 : power;
}

void axis_settle(struct axis *axis, double begin, double end)
{
    axis->begin = begin;
    axis->end = end;
    if (axis->most <= 0)
        axis->least = axis->most = 1;
    if (!axis->log) {
        double step = round_step(axis->most);
        axis->from = 0;
        axis->to = ceil(axis->most / step) * step;
        return;
    }
    double low = floor(log10(axis->least));
    double high = ceil(log10(axis->most));
    axis->from = pow(10, low);
    axis->to = pow(10, high > low ? high : low + 1);
}

double axis_place(const struct axis *axis, double value)
{
    double share = value <= axis->from ? 0 : 1;
    if (value > axis->from && value < axis->to)
        share = axis->log ? log10(value / axis->from) / log10(axis->to / axis->from)
                          : (value - axis->from) / (axis->to - axis->from);
    return axis->begin + (axis->end - axis->begin) * share;
}

static size_t log_ticks(const struct axis *axis, double ticks[AXIS_TICKS])
{
    int decades = (int)lround(log10(axis->to / axis->from));
    size_t count = 0;
    for (int i = 0; i <= decades && count + 3 <= AXIS_TICKS; i++) {
        double power = axis->from * pow(10, i);
        ticks[count++] = power;
        if (decades > 1 || i == decades)
            continue;
        ticks[count++] = power * 2;
        ticks[count++] = power * 5;
    }
    return count;
}

size_t axis_ticks(const struct axis *axis, double ticks[AXIS_TICKS])
{
    if (axis->log)
        return log_ticks(axis, ticks);
    double step = round_step(axis->to);
    size_t count = 0;
    for (int i = 0; i * step < axis->to + step / 2 && count < AXIS_TICKS; i++)
        ticks[count++] = i * step;
    return count;
}

int axis_decimals(double tick)
{
    if (tick <= 0 || tick >= 1)
        return tick > 1 && tick < 10 && fabs(tick - round(tick)) > 0.01 ? 1 : 0;
    return (int)ceil(-log10(tick) - 1e-9);
}
