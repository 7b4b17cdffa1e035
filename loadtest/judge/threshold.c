/* See threshold.h. */
#include "loadtest/judge/threshold.h"

#include "base/options/nearest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[THRESHOLD_MEASURES] = {
    "p50", "p90", "p99", "max", "orders", "committed", "accepted", "refused", "failed"};

/* Longest first, so that "<=" is not read as "<". */
static const struct {
    const char *text;
    enum threshold_order order;
} orders[] = {{"<=", THRESHOLD_AT_MOST},
              {">=", THRESHOLD_AT_LEAST},
              {"<", THRESHOLD_LESS},
              {">", THRESHOLD_MORE}};

static const struct {
    const char *text;
    enum threshold_unit unit;
    double factor; /* of what is typed to what is kept */
} units[] = {{"us", THRESHOLD_US, 1},  {"ms", THRESHOLD_US, 1e3},  {"s", THRESHOLD_US, 1e6},
             {"", THRESHOLD_COUNT, 1}, {"/s", THRESHOLD_PER_S, 1}, {"%", THRESHOLD_PERCENT, 1}};

static const char digits[] = "0123456789";
static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

/* Where it is in the list, and what the list is. */
struct reader {
    const char *flag, *text, *at;
    struct error *error;
};

#define refuse(reader, format, ...)                                                                \
    error_fail((reader)->error, "--%s: character %ld: " format, (reader)->flag,                    \
               (long)((reader)->at - (reader)->text) + 1, __VA_ARGS__)

static bool is_time(enum threshold_measure measure)
{
    return measure < THRESHOLD_ORDERS;
}

enum { KNOWN_SIZE = 120 };

/* "p50, p90 and max": all but those that are missing; NULL: none is. */
static void list_names(const char *const missing[THRESHOLD_MEASURES], char out[KNOWN_SIZE])
{
    size_t last = THRESHOLD_MEASURES;
    while (missing && last > 0 && missing[last - 1])
        last--;
    *out = '\0';
    for (size_t i = 0; i < last; i++) {
        if (!missing || !missing[i])
            snprintf(out + strlen(out), KNOWN_SIZE - strlen(out), "%s%s",
                     !*out           ? ""
                     : i + 1 == last ? " and "
                                     : ", ",
                     names[i]);
    }
}

static bool refuse_measure(const struct reader *reader, size_t length)
{
    char known[KNOWN_SIZE], meant[NEAREST_TEXT_SIZE];
    struct nearest nearest = nearest_to(reader->at, length);
    list_names(NULL, known);
    for (size_t i = 0; i < THRESHOLD_MEASURES; i++)
        nearest_offer(&nearest, names[i]);
    if (length == 0)
        return refuse(reader, "a measure is missing; there are %s", known);
    return refuse(reader, "'%.*s' is no measure; there are %s%s", length < 40 ? (int)length : 40,
                  reader->at, known, nearest_text(&nearest, "", meant));
}

static bool read_measure(struct reader *reader, struct threshold *out)
{
    size_t length = strspn(reader->at, letters);
    for (int i = 0; i < THRESHOLD_MEASURES; i++) {
        if (strlen(names[i]) != length || strncmp(names[i], reader->at, length) != 0)
            continue;
        out->measure = (enum threshold_measure)i;
        reader->at += length;
        return true;
    }
    return refuse_measure(reader, length);
}

static bool read_order(struct reader *reader, struct threshold *out)
{
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        size_t length = strlen(orders[i].text);
        if (strncmp(orders[i].text, reader->at, length) != 0)
            continue;
        out->order = orders[i].order;
        reader->at += length;
        return true;
    }
    return refuse(reader, "<, <=, > or >= must follow '%s'", names[out->measure]);
}

/* Digits, and perhaps a point and digits: no sign, no exponent, none of strtod's words. */
static bool read_number(struct reader *reader, struct threshold *out)
{
    enum { LENGTH_MAX = 15 };
    size_t length = strspn(reader->at, digits);
    if (length > 0 && reader->at[length] == '.') {
        size_t behind = strspn(reader->at + length + 1, digits);
        length = behind > 0 ? length + 1 + behind : 0;
    }
    if (length == 0 || length > LENGTH_MAX)
        return refuse(reader, "a number must follow, as 250 or 0.1, of at most %d characters",
                      LENGTH_MAX);
    out->limit = strtod(reader->at, NULL);
    reader->at += length;
    return true;
}

static bool refuse_unit(const struct reader *reader, const struct threshold *threshold,
                        size_t length)
{
    const char *takes = is_time(threshold->measure)
                            ? "is a time: its unit is us, ms or s"
                            : "counts orders: its unit is % (of all orders), /s (orders a "
                              "second) or none (orders)";
    return refuse(reader, "%s %s, not '%.*s'", names[threshold->measure], takes,
                  length < 20 ? (int)length : 20, reader->at);
}

static bool read_unit(struct reader *reader, struct threshold *out)
{
    size_t length = strcspn(reader->at, ",");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strlen(units[i].text) != length || strncmp(units[i].text, reader->at, length) != 0 ||
            is_time(out->measure) != (units[i].unit == THRESHOLD_US))
            continue;
        out->unit = units[i].unit;
        out->limit *= units[i].factor;
        if (out->unit == THRESHOLD_PERCENT && out->limit > 100)
            return refuse(reader, "a share of all orders is %d %% at most", 100);
        reader->at += length;
        return true;
    }
    return refuse_unit(reader, out, length);
}

static bool read_one(struct reader *reader, struct threshold *out)
{
    const char *began = reader->at;
    if (!read_measure(reader, out) || !read_order(reader, out) || !read_number(reader, out) ||
        !read_unit(reader, out))
        return false;
    snprintf(out->text, sizeof out->text, "%.*s", (int)(reader->at - began), began);
    return true;
}

bool thresholds_parse(const char *flag, const char *text, struct thresholds *out,
                      struct error *error)
{
    struct reader reader = {flag, text, text, error};
    *out = (struct thresholds){.count = 0};
    for (;;) {
        if (out->count == THRESHOLDS_MAX)
            return refuse(&reader, "at most %d conditions", THRESHOLDS_MAX);
        if (!read_one(&reader, &out->items[out->count]))
            return false;
        out->count++;
        if (*reader.at == '\0')
            return true;
        reader.at++;
    }
}

void measured_set_times(struct measured *measured, const struct latency *latency)
{
    const struct latency_figures figures = latency_read(latency);
    measured->values[THRESHOLD_P50] = (double)figures.p50_us;
    measured->values[THRESHOLD_P90] = (double)figures.p90_us;
    measured->values[THRESHOLD_P99] = (double)figures.p99_us;
    measured->values[THRESHOLD_MAX] = (double)figures.max_us;
}

void measured_set_rates(struct measured *measured, int64_t took_us)
{
    for (int i = THRESHOLD_ORDERS; i < THRESHOLD_MEASURES; i++)
        measured->per_s[i] = took_us > 0 ? measured->values[i] * 1e6 / (double)took_us : 0;
}

bool thresholds_are_measured(const char *flag, const struct thresholds *thresholds,
                             const char *const missing[THRESHOLD_MEASURES], struct error *error)
{
    char known[KNOWN_SIZE];
    list_names(missing, known);
    for (size_t i = 0; i < thresholds->count; i++) {
        enum threshold_measure measure = thresholds->items[i].measure;
        if (missing[measure])
            return error_fail(error, "--%s: %s is not measured here: %s; there are %s", flag,
                              names[measure], missing[measure], known);
    }
    return true;
}

double threshold_value(const struct threshold *threshold, const struct measured *measured)
{
    double all = measured->values[THRESHOLD_ORDERS];
    double value = measured->values[threshold->measure];
    if (threshold->unit == THRESHOLD_PER_S)
        return measured->per_s[threshold->measure];
    if (threshold->unit == THRESHOLD_PERCENT)
        return all > 0 ? value / all * 100 : 0;
    return value;
}

bool threshold_is_met(const struct threshold *threshold, const struct measured *measured)
{
    double value = threshold_value(threshold, measured), limit = threshold->limit;
    return threshold->order == THRESHOLD_LESS      ? value < limit
           : threshold->order == THRESHOLD_AT_MOST ? value <= limit
           : threshold->order == THRESHOLD_MORE    ? value > limit
                                                   : value >= limit;
}

const struct threshold *thresholds_find_broken(const struct thresholds *thresholds,
                                               const struct measured *measured)
{
    for (size_t i = 0; i < thresholds->count; i++) {
        if (!threshold_is_met(&thresholds->items[i], measured))
            return &thresholds->items[i];
    }
    return NULL;
}

/* With as many figures as tell it from its neighbours. */
static void say_value(enum threshold_unit unit, double value, char out[40])
{
    static const char *const behind[] = {" ms", " orders", " orders/s", " %"};
    if (unit == THRESHOLD_US)
        value /= 1000;
    snprintf(out, 40, "%.*f%s",
             unit == THRESHOLD_COUNT ? 0
             : value < 10            ? 3
                                     : 1,
             value, behind[unit]);
}

const char *threshold_say_value(const struct threshold *threshold, double value, char *out,
                                size_t size)
{
    char is[40], by[40];
    say_value(threshold->unit, value, is);
    say_value(threshold->unit, fabs(value - threshold->limit), by);
    if (value < threshold->limit || value > threshold->limit)
        snprintf(out, size, "%s: %s, %s %s", threshold->text, is, by,
                 value > threshold->limit ? "more" : "less");
    else
        snprintf(out, size, "%s: %s", threshold->text, is);
    return out;
}
