/* Places of a document: see document.h. */
#include "loadtest/shop/target/document.h"

#include <stdarg.h>
#include <stdio.h>
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

const char *place_kind_text(const struct place *place)
{
    static const char *const texts[] = {
        [PLACE_TEXT] = "a single value", [PLACE_LIST] = "a list", [PLACE_MAP] = "a map"};
    return place->kind == PLACE_TEXT && place->length == 0 ? "nothing" : texts[place->kind];
}

static bool is_of(const struct place *place, enum place_kind kind, const char *name,
                  const char *example)
{
    if (place->kind != kind)
        return place_refuse(place, "%s, and a %s is wanted: %s", place_kind_text(place), name,
                            example);
    return place->count > 0 || place_refuse(place, "an empty %s: %s", name, example);
}

bool place_is_map(const struct place *place, const char *example)
{
    return is_of(place, PLACE_MAP, "map", example);
}

bool place_is_list(const struct place *place, const char *example)
{
    return is_of(place, PLACE_LIST, "list", example);
}

const struct place *place_field(const struct place *place, const char *name)
{
    const struct place *field = place->kind == PLACE_MAP ? place->first : NULL;
    while (field && strcmp(field->key, name) != 0)
        field = field->next;
    return field;
}

void *place_take(const struct place *place, size_t size)
{
    void *taken = pool_take(place->document->keeps, size);
    if (!taken)
        error_fail(place->document->error, "out of memory");
    return taken;
}

bool place_keep(const struct place *place, const char *text, const char **out)
{
    size_t size = strlen(text) + 1;
    char *copy = place_take(place, size);
    if (copy)
        *out = memcpy(copy, text, size);
    return copy != NULL;
}
