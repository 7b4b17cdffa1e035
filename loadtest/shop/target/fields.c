/*
 * The walker that reads a map of a target's file by its rows, and the names that texts may use: see
 * reading.h.
 */
#include "loadtest/shop/target/reading.h"

#include "base/options/nearest.h"

#include <stdio.h>
#include <string.h>

/* --- names --- */

static bool is_among(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return true;
    return false;
}

bool reading_has_name(const struct place *place, const char *name)
{
    return is_among(&reading_of(place)->names, name);
}

bool reading_add_name(const struct place *place, const char *name)
{
    struct names *names = &reading_of(place)->names;

    if (!fill_is_name(name))
        return place_refuse(place, "%s is no name for a field: letters, digits and '_', %d at most",
                            place_quote(place, name), FILL_NAME_MAX);
    if (is_among(names, name))
        return place_refuse(place, "{%s} is known already: take another name", name);
    if (names->count == NAMES_MAX)
        return place_refuse(place, "too many fields: %d at most", NAMES_MAX);
    return place_keep(place, name, &names->items[names->count++]);
}

/* "there are user, key", or {user}, {key}. */
static void list_names(const struct names *names, const char *begins, bool braces,
                       char out[NAMES_TEXT_SIZE])
{
    size_t used = (size_t)snprintf(out, NAMES_TEXT_SIZE, "%s", begins);
    for (size_t i = 0; i < names->count && used < NAMES_TEXT_SIZE; i++)
        used += (size_t)snprintf(out + used, NAMES_TEXT_SIZE - used, "%s%s%s%s", i > 0 ? ", " : "",
                                 braces ? "{" : "", names->items[i], braces ? "}" : "");
}

const char *names_hint(const struct names *names, const char *name, bool braces,
                       char out[NAMES_TEXT_SIZE])
{
    struct nearest nearest = nearest_to(name, strlen(name));
    for (size_t i = 0; i < names->count; i++)
        nearest_offer(&nearest, names->items[i]);
    if (nearest.name)
        snprintf(out, NAMES_TEXT_SIZE, ": did you mean %s%s%s?", braces ? "{" : "", nearest.name,
                 braces ? "}" : "");
    else
        list_names(names, "; there are ", braces, out);
    return out;
}

static bool refuse_field(const struct place *place, const struct names *names, const char *name)
{
    char hint[NAMES_TEXT_SIZE];
    if (strcmp(name, "order") == 0)
        return place_refuse(place, "{order} is known in \"poll\" alone, when each \"accepted\" of "
                                   "\"outcome\" has its \"order\"");
    return place_refuse(place, "there is no field {%s} here%s (for a brace alone: \"{{\")", name,
                        names_hint(names, name, true, hint));
}

bool names_check(const struct place *place, const struct names *names, const char *text)
{
    char name[FILL_NAME_MAX + 1];
    while (fill_next_name(&text, name))
        if (!is_among(names, name))
            return refuse_field(place, names, name);
    return true;
}

bool reading_template(const struct place *place, const char *wanted, standing *where,
                      const char **out)
{
    return value_fields(place, wanted, where, out) &&
           names_check(place, &reading_of(place)->names, *out);
}

/* --- maps --- */

/* The part's next row; `field` NULL: its first. NULL: there is none. */
static const struct field *next_of(const struct place *place, enum part part,
                                   const struct field *field)
{
    field = field ? field + 1 : reading_of(place)->fields;
    while (field->name && !(field->in & part))
        field++;
    return field->name ? field : NULL;
}

static struct names names_of(const struct place *place, enum part part)
{
    struct names names = {.count = 0};
    for (const struct field *field = NULL; (field = next_of(place, part, field)) != NULL;)
        names.items[names.count++] = field->name;
    return names;
}

static bool check_known(const struct place *place, const struct names *names)
{
    char hint[NAMES_TEXT_SIZE];
    for (const struct place *child = place->first; child; child = child->next) {
        struct place where = *place;
        where.line = child->line;
        if (!is_among(names, child->key))
            return place_refuse(&where, "there is no field %s%s", place_quote(&where, child->key),
                                names_hint(names, child->key, false, hint));
    }
    return true;
}

static bool read_kind(const struct place *place, const struct field *field, void *out)
{
    const char **text = out;
    switch (field->kind) {
    case TEXT:
        return value_text(place, field->wanted, field->where, text);
    case TEMPLATE:
        return reading_template(place, field->wanted, field->where, text);
    case RAW:
        return value_raw(place, field->wanted, text);
    case POINTER:
        return value_pointer(place, text);
    case NUMBER:
        return value_number(place, field->from, field->to, out);
    case TIME:
        return value_duration(place, out);
    case BOOL:
        return value_bool(place, out);
    case MAP:
        return fields_read(place, field->part, out);
    case LIST:
    case PAIRS:
    case OWN:
        break;
    }
    return true;
}

static bool read_all(const struct place *place, const struct field *field, void *into)
{
    size_t *count = (void *)((char *)into + field->count);
    if (!(field->kind == LIST ? place_is_list : place_is_map)(place, field->wanted))
        return false;
    if (place->count > field->most)
        return place_refuse(place, "%s: %zu at most", field->many, field->most);
    void *items = place_take(place, place->count * field->size);
    memcpy((char *)into + field->at, &items, sizeof items);
    for (const struct place *child = place->first; items && child; child = child->next) {
        if (!field->then(child, into))
            return false;
        ++*count;
    }
    return items != NULL;
}

static bool read_field(const struct place *place, const struct field *field, void *into)
{
    void *out = (char *)into + field->at;
    if (field->kind == LIST || field->kind == PAIRS)
        return read_all(place, field, into);
    return read_kind(place, field, out) &&
           (!field->then || field->then(place, field->kind == MAP ? out : into));
}

bool fields_read(const struct place *place, enum part part, void *into)
{
    const struct names names = names_of(place, part);
    char example[NAMES_TEXT_SIZE];

    list_names(&names, "with ", false, example);
    if (!place_is_map(place, example) || !check_known(place, &names))
        return false;
    for (const struct field *field = NULL; (field = next_of(place, part, field)) != NULL;) {
        const struct place *child = place_field(place, field->name);
        if (!child && field->required)
            return place_refuse(place, "\"%s\" is missing", field->name);
        if (child && !read_field(child, field, into))
            return false;
    }
    return true;
}
