/* See document.h. */
#include "loadtest/report/document/document.h"

#include <string.h>

const char *answers_name(int kind)
{
    return kind == ANSWERS_MIXED ? "mixed" : load_class_name((enum load_class)kind);
}

static bool take_steps(const json_t *figures, struct latency *out)
{
    const json_t *steps = json_object_get(figures, "steps");
    return !steps || (json_is_string(steps) && latency_parse(json_string_value(steps), out));
}

static bool has(const json_t *run, const char *name)
{
    return json_number_value(json_object_get(run, name)) > 0;
}

/* What all answers of wrk's were. */
static int kind_of(const json_t *run)
{
    bool failed = has(run, "failed") || has(run, "unknown");
    bool bought = has(run, "committed") || has(run, "accepted");
    if (has(run, "refused"))
        return failed || bought ? ANSWERS_MIXED : LOAD_REFUSED;
    if (failed)
        return bought ? ANSWERS_MIXED : LOAD_FAILED;
    return has(run, "accepted") ? LOAD_ACCEPTED : LOAD_COMMITTED;
}

bool answers_take(const json_t *run, struct answers *out)
{
    const json_t *open = json_object_get(run, "open_loop");
    if (!open)
        return take_steps(json_object_get(run, "latency_us"), &out->kinds[kind_of(run)]);
    const json_t *parts = json_object_get(open, "parts");
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *latencies = json_object_get(json_array_get(parts, i), "latency_us");
        for (int kind = 0; kind < LOAD_CLASSES; kind++)
            if (!take_steps(json_object_get(latencies, answers_name(kind)), &out->kinds[kind]))
                return false;
    }
    return true;
}

/* "3 17 0", or nothing: no more figures than a schedule has slices, and none that a page could not
 * show. */
static bool is_slices(const json_t *text)
{
    const char *at = json_string_value(text);
    for (size_t count = 0; at && *at && count < TIMELINE_ROOM; count++) {
        size_t digits = strspn(at, "0123456789");
        if (digits == 0 || digits > 15 || (at[digits] != ' ' && at[digits] != '\0'))
            return false;
        at += digits + (at[digits] == ' ');
    }
    return !text || (at && !*at);
}

bool answers_can_draw(const json_t *run)
{
    static const char *const figures[] = {"answered", "p50_us", "p99_us"};
    const json_t *from = json_object_get(json_object_get(run, "open_loop"), "timeline");
    if (!from)
        return true;
    bool can = json_integer_value(json_object_get(from, "slice_us")) > 0 &&
               is_slices(json_object_get(from, "offered"));
    for (int kind = 0; kind < LOAD_CLASSES && can; kind++)
        for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
            can = can &&
                  is_slices(json_object_get(json_object_get(from, answers_name(kind)), figures[i]));
    return can;
}
