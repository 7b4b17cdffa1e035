/* See answers.h. */
#include "loadtest/report/document/answers.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *chinese;
} kinds[ANSWERS_KINDS] = {
    [LOAD_COMMITTED] = {"committed", "落库"}, [LOAD_ACCEPTED] = {"accepted", "已受理"},
    [LOAD_REFUSED] = {"refused", "拒绝"},     [LOAD_FAILED] = {"failed", "失败"},
    [ANSWERS_MIXED] = {"mixed", "混合"},
};

const char *answers_name(int kind)
{
    return kinds[kind].name;
}

const char *answers_chinese(int kind)
{
    return kinds[kind].chinese;
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
            if (!take_steps(json_object_get(latencies, kinds[kind].name), &out->kinds[kind]))
                return false;
    }
    return true;
}

enum member { OFFERED, ANSWERED, P50_US, P99_US };

static int64_t *member_of(struct timeline_slice *slice, enum member member, int class)
{
    switch (member) {
    case OFFERED:
        return &slice->offered;
    case ANSWERED:
        return &slice->answered[class];
    case P50_US:
        return &slice->p50_us[class];
    case P99_US:
        break;
    }
    return &slice->p99_us[class];
}

/* "3 17 0" into the member of each slice. What is missing is 0. */
static bool take_slices(const json_t *text, struct timeline *out, enum member member, int class)
{
    const char *at = json_string_value(text);
    size_t count = 0;
    if (!text)
        return true;
    for (; at && *at && count < TIMELINE_ROOM; count++) {
        size_t digits = strspn(at, "0123456789");
        if (digits == 0 || digits > 15 || (at[digits] != ' ' && at[digits] != '\0'))
            return false;
        *member_of(&out->slices[count], member, class) = strtoll(at, NULL, 10);
        at += digits + (at[digits] == ' ');
    }
    if (count > out->count)
        out->count = count;
    return at && !*at;
}

bool answers_timeline(const json_t *run, struct timeline *out)
{
    const json_t *from = json_object_get(json_object_get(run, "open_loop"), "timeline");
    *out = (struct timeline){.count = 0};
    if (!from)
        return true;
    out->slice_us = json_integer_value(json_object_get(from, "slice_us"));
    bool taken =
        out->slice_us > 0 && take_slices(json_object_get(from, "offered"), out, OFFERED, 0);
    for (int kind = 0; kind < LOAD_CLASSES && taken; kind++) {
        const json_t *of = json_object_get(from, kinds[kind].name);
        taken = take_slices(json_object_get(of, "answered"), out, ANSWERED, kind) &&
                take_slices(json_object_get(of, "p50_us"), out, P50_US, kind) &&
                take_slices(json_object_get(of, "p99_us"), out, P99_US, kind);
    }
    return taken;
}
