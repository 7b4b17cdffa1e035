/* Places of a document: see document.h. */
#include "base/options/nearest.h"
#include "loadtest/shop/target/document.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "outcome[2].sold.status"; nothing for the root. */
static void put_way(FILE *to, const struct place *place)
{
    if (!place->up)
        return;
    put_way(to, place->up);
    if (place->key)
        fprintf(to, "%s%s", place->up->up ? "." : "", place->key);
    else
        fprintf(to, "[%zu]", place->index);
}

static void flatten(char *text)
{
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '?';
}

bool place_refuse(const struct place *place, const char *format, ...)
{
    char way[200] = "", what[500];
    FILE *to = fmemopen(way, sizeof way, "w");
    va_list arguments;

    if (to) {
        put_way(to, place);
        fclose(to);
    }
    way[sizeof way - 1] = '\0';
    flatten(way);
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return error_set(place->document->error, ERROR_INVALID, "%s:%zu: %s%s%s", place->document->path,
                     place->line, way, *way ? ": " : "", what);
}

const char *place_quote(const char *text, char out[PLACE_QUOTE_SIZE])
{
    int most = PLACE_QUOTE_SIZE - 8;
    bool whole = strlen(text) <= (size_t)most;
    while (!whole && most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    snprintf(out, PLACE_QUOTE_SIZE, "\"%.*s%s\"", most, text, whole ? "" : "…");
    flatten(out);
    return out;
}

enum place_kind place_kind(const struct place *place)
{
    return place->node->type == YAML_MAPPING_NODE    ? PLACE_MAP
           : place->node->type == YAML_SEQUENCE_NODE ? PLACE_LIST
                                                     : PLACE_TEXT;
}

size_t place_count(const struct place *place)
{
    const yaml_node_t *node = place->node;
    if (node->type == YAML_MAPPING_NODE)
        return (size_t)(node->data.mapping.pairs.top - node->data.mapping.pairs.start);
    if (node->type == YAML_SEQUENCE_NODE)
        return (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
    return 0;
}

static yaml_node_t *node_of(const struct place *place, int number)
{
    return yaml_document_get_node(&place->document->yaml, number);
}

static yaml_node_t *key_node(const struct place *place, size_t i)
{
    return node_of(place, place->node->data.mapping.pairs.start[i].key);
}

/* Of a map that place_is_map has looked at: a key is a text. */
static const char *key_text(const struct place *place, size_t i)
{
    return (const char *)key_node(place, i)->data.scalar.value;
}

/* A field has the line of its name: what is missing behind it stands nowhere. */
struct place place_child(const struct place *place, size_t i)
{
    struct place child = {.document = place->document, .up = place, .index = i};
    if (place->node->type == YAML_MAPPING_NODE) {
        child.key = key_text(place, i);
        child.node = node_of(place, place->node->data.mapping.pairs.start[i].value);
        child.line = key_node(place, i)->start_mark.line + 1;
    } else {
        child.node = node_of(place, place->node->data.sequence.items.start[i]);
        child.line = child.node->start_mark.line + 1;
    }
    return child;
}

const char *place_kind_text(const struct place *place)
{
    static const char *const texts[] = {
        [PLACE_TEXT] = "a single value", [PLACE_LIST] = "a list", [PLACE_MAP] = "a map"};
    if (place->node->type == YAML_SCALAR_NODE && place->node->data.scalar.length == 0)
        return "nothing";
    return texts[place_kind(place)];
}

static bool check_key(const struct place *place, size_t i)
{
    const yaml_node_t *key = key_node(place, i);
    struct place where = *place;
    char quoted[PLACE_QUOTE_SIZE];

    where.line = key->start_mark.line + 1;
    if (key->type != YAML_SCALAR_NODE || key->data.scalar.length == 0 ||
        strlen((const char *)key->data.scalar.value) != key->data.scalar.length)
        return place_refuse(&where, "a name before the ':' is missing");
    for (size_t k = 0; k < i; k++) {
        const yaml_node_t *other = key_node(place, k);
        if (strcmp((const char *)other->data.scalar.value, (const char *)key->data.scalar.value) ==
            0)
            return place_refuse(&where, "%s stands twice, in line %zu too",
                                place_quote((const char *)key->data.scalar.value, quoted),
                                other->start_mark.line + 1);
    }
    return true;
}

bool place_is_map(const struct place *place, const char *example)
{
    if (place_kind(place) != PLACE_MAP)
        return place_refuse(place, "%s, and a map is wanted: %s", place_kind_text(place), example);
    for (size_t i = 0; i < place_count(place); i++)
        if (!check_key(place, i))
            return false;
    return place_count(place) > 0 || place_refuse(place, "an empty map: %s", example);
}

bool place_is_list(const struct place *place, const char *example)
{
    if (place_kind(place) != PLACE_LIST)
        return place_refuse(place, "%s, and a list is wanted: %s", place_kind_text(place), example);
    return place_count(place) > 0 || place_refuse(place, "an empty list: %s", example);
}

/* --- maps with known fields --- */

static void list_names(const struct place_field *fields, size_t count, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < count && used < size; i++)
        used +=
            (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "", fields[i].name);
}

static bool refuse_unknown(const struct place *place, const char *key,
                           const struct place_field *fields, size_t count)
{
    struct nearest nearest = nearest_to(key, strlen(key));
    char quoted[PLACE_QUOTE_SIZE], meant[NEAREST_TEXT_SIZE], names[300] = "; there are ";
    size_t used = strlen(names);

    for (size_t i = 0; i < count; i++)
        nearest_offer(&nearest, fields[i].name);
    list_names(fields, count, names + used, sizeof names - used);
    return place_refuse(place, "there is no field %s%s%s", place_quote(key, quoted),
                        nearest_text(&nearest, "", meant), nearest.name ? "" : names);
}

static bool is_known(const char *key, const struct place_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(fields[i].name, key) == 0)
            return true;
    return false;
}

static bool check_known(const struct place *place, const struct place_field *fields, size_t count)
{
    for (size_t i = 0; i < place_count(place); i++) {
        struct place where = *place;
        where.line = key_node(place, i)->start_mark.line + 1;
        if (!is_known(key_text(place, i), fields, count))
            return refuse_unknown(&where, key_text(place, i), fields, count);
    }
    return true;
}

bool place_has(const struct place *place, const char *name)
{
    if (place_kind(place) != PLACE_MAP)
        return false;
    for (size_t i = 0; i < place_count(place); i++)
        if (key_node(place, i)->type == YAML_SCALAR_NODE && strcmp(key_text(place, i), name) == 0)
            return true;
    return false;
}

static bool read_field(const struct place *place, const struct place_field *field, void *into)
{
    for (size_t i = 0; i < place_count(place); i++) {
        if (strcmp(key_text(place, i), field->name) != 0)
            continue;
        struct place child = place_child(place, i);
        return field->read(&child, into);
    }
    return !field->required || place_refuse(place, "\"%s\" is missing", field->name);
}

bool place_read(const struct place *place, const struct place_field *fields, size_t count,
                void *into)
{
    char names[300], example[340];

    list_names(fields, count, names, sizeof names);
    snprintf(example, sizeof example, "with %s", names);
    if (!place_is_map(place, example) || !check_known(place, fields, count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!read_field(place, &fields[i], into))
            return false;
    return true;
}
