/* Names that texts may use: see reading.h. */
#include "loadtest/shop/target/reading.h"

#include "base/options/nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *reading_grow(const struct place *place, void *array, size_t count, size_t size)
{
    char *grown = reallocarray(array, count + 1, size);
    if (!grown) {
        error_fail(place->document->error, "out of memory");
        return NULL;
    }
    memset(grown + count * size, 0, size);
    return grown;
}

static bool is_among(const char *name, char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

bool reading_add_name(struct reading *reading, const struct place *place, const char *name)
{
    char quoted[PLACE_QUOTE_SIZE];

    if (!fill_is_name(name))
        return place_refuse(place, "%s is no name for a field: letters, digits and '_', %d at most",
                            place_quote(name, quoted), FILL_NAME_MAX);
    if (is_among(name, reading->names, reading->name_count))
        return place_refuse(place, "{%s} is known already: take another name", name);
    if (reading->name_count == READING_NAMES_MAX)
        return place_refuse(place, "too many fields: %d at most", READING_NAMES_MAX);
    char *copy = strdup(name);
    if (!copy)
        return error_fail(place->document->error, "out of memory");
    reading->names[reading->name_count++] = copy;
    return true;
}

static bool refuse_field(const struct place *place, const char *name, char *const *names,
                         size_t count)
{
    struct nearest nearest = nearest_to(name, strlen(name));
    char known[300] = "";
    size_t used = 0;

    if (strcmp(name, "order") == 0)
        return place_refuse(place, "{order} is known in \"poll\" alone, when each \"accepted\" of "
                                   "\"outcome\" has its \"order\"");
    for (size_t i = 0; i < count; i++) {
        nearest_offer(&nearest, names[i]);
        if (used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s{%s}",
                                     i > 0 ? ", " : "; there are ", names[i]);
    }
    if (nearest.name)
        snprintf(known, sizeof known, ": did you mean {%s}?", nearest.name);
    return place_refuse(place, "there is no field {%s} here%s (for a brace alone: \"{{\")", name,
                        known);
}

bool reading_check_fields(const struct place *place, const char *text, char *const *names,
                          size_t count)
{
    char name[FILL_NAME_MAX + 1];
    while (fill_next_name(&text, name))
        if (!is_among(name, names, count))
            return refuse_field(place, name, names, count);
    return true;
}
