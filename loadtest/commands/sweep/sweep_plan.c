/* See sweep_plan.h. */
#include "loadtest/commands/sweep/sweep_plan.h"

#include "base/options/nearest.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    enum option_kind kind;
    int64_t min, max; /* the server's own ranges, where it is a setting of the server */
    size_t offset;    /* in the options */
} dimensions[SWEEP_DIMENSIONS] = {
#define AT(member) offsetof(struct sweep_options, member)
    [SWEEP_IN_FLIGHT] = {"in-flight-per-product", OPTION_COUNT, 1, 1000,
                         AT(shared.in_flight_per_product)},
    [SWEEP_PG_SESSIONS] = {"pg-sessions", OPTION_COUNT, 4, 1000, AT(shared.pg_sessions)},
    [SWEEP_MAX_BATCH] = {"max-batch", OPTION_COUNT, 1, 500, AT(shared.max_batch)},
    [SWEEP_CONNECTIONS] = {"connections", OPTION_COUNT, 1, 20000, AT(shared.connections)},
    [SWEEP_WORK_MS] = {"work-ms", OPTION_MS, 0, 60000, AT(shared.work_ms)},
    [SWEEP_INSTANCES] = {"instances", OPTION_COUNT, 1, OPTIONS_MAX_INSTANCES, 0},
    [SWEEP_REDIS_DELAY_US] = {"redis-delay-us", OPTION_US, 0, 1000000, AT(redis_delay_us)},
#undef AT
};

const char *sweep_dimension_name(enum sweep_dimension dimension)
{
    return dimensions[dimension].name;
}

void sweep_apply(struct sweep_options *options, enum sweep_dimension dimension, int64_t value)
{
    if (dimension == SWEEP_INSTANCES)
        options->shared.instances.items[0] = (int)value;
    else
        memcpy((char *)options + dimensions[dimension].offset, &value, sizeof value);
}

/* "NAME=…": the dimension, and what follows the sign. */
static bool split(const char *flag, const char *text, enum sweep_dimension *dimension,
                  const char **values, struct error *error)
{
    size_t length = strcspn(text, "=");
    for (int i = 0; i < SWEEP_DIMENSIONS && text[length] == '='; i++) {
        if (strlen(dimensions[i].name) == length &&
            strncmp(dimensions[i].name, text, length) == 0) {
            *dimension = (enum sweep_dimension)i;
            *values = text + length + 1;
            return true;
        }
    }
    char names[300] = "", meant[NEAREST_TEXT_SIZE];
    struct nearest nearest = nearest_to(text, length);
    for (int i = 0; i < SWEEP_DIMENSIONS; i++) {
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "",
                 dimensions[i].name);
        nearest_offer(&nearest, dimensions[i].name);
    }
    if (nearest.slips == 0) /* the name was right, and nothing behind it */
        nearest.name = NULL;
    return error_fail(error, "--%s takes NAME=NUMBERS with a name of %s, not '%s'%s", flag, names,
                      text, nearest_text(&nearest, "", meant));
}

static bool read_value(const char *flag, enum sweep_dimension dimension, const char *text,
                       int64_t *out, struct error *error)
{
    char name[64];
    snprintf(name, sizeof name, "--%s %s", flag, dimensions[dimension].name);
    struct option_range range = {name, dimensions[dimension].min, dimensions[dimension].max,
                                 dimensions[dimension].kind};
    return option_read_number(&range, text, out, error);
}

static bool read_over(struct sweep_plan *plan, const char *text, struct error *error)
{
    struct option_list list;
    const char *values = "";
    if (!split("over", text, &plan->over, &values, error) ||
        !option_read_list("--over", values, &list, error))
        return false;
    for (; plan->count < list.count; plan->count++) {
        if (!read_value("over", plan->over, list.items[plan->count], &plan->values[plan->count],
                        error))
            return false;
    }
    return true;
}

static bool read_set(struct sweep_plan *plan, struct sweep_options *options, struct error *error)
{
    for (size_t i = 0; i < options->set.count; i++) {
        enum sweep_dimension dimension = SWEEP_DIMENSIONS;
        const char *text = "";
        int64_t value = 0;
        if (!split("set", options->set.items[i], &dimension, &text, error) ||
            !read_value("set", dimension, text, &value, error))
            return false;
        if (dimension == plan->over)
            return error_fail(error, "--set %s is what --over varies", dimensions[dimension].name);
        plan->delayed = plan->delayed || dimension == SWEEP_REDIS_DELAY_US;
        sweep_apply(options, dimension, value);
    }
    return true;
}

bool sweep_plan_read(struct sweep_plan *plan, struct sweep_options *options, struct error *error)
{
    *plan = (struct sweep_plan){.count = 0};
    if (!read_over(plan, options->over, error))
        return false;
    plan->delayed = plan->over == SWEEP_REDIS_DELAY_US;
    return read_set(plan, options, error);
}
