/*
 * See reading.h. The file is read whole; libyaml's events, which alone show an anchor, are made a
 * tree as they come.
 */
#include "loadtest/shop/target/reading.h"

#include "loadtest/base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <yaml.h>

/* --- places --- */

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
    return error_set(place->reading->error, ERROR_INVALID, "%s:%zu: %s%s%s",
                     place->reading->target->path, place->line, way, *way ? ": " : "", what);
}

const char *place_quote(const struct place *place, const char *text)
{
    enum { MOST = 56 };
    char out[MOST + 8];
    int most = MOST;
    bool whole = strlen(text) <= MOST;
    while (!whole && most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    snprintf(out, sizeof out, "\"%.*s%s\"", most, text, whole ? "" : "…");
    flatten(out);
    return place_text(place, "%s", out);
}

const char *place_kind_text(const struct place *place)
{
    static const char *const texts[] = {
        [PLACE_TEXT] = "a single value", [PLACE_LIST] = "a list", [PLACE_MAP] = "a map"};
    return place->kind == PLACE_TEXT && place->length == 0 ? "nothing" : texts[place->kind];
}

bool place_is(const struct place *place, enum place_kind kind, const char *example)
{
    const char *name = kind == PLACE_MAP ? "map" : "list";
    if (place->kind != kind)
        return place_refuse(place, "%s, and a %s is wanted: %s", place_kind_text(place), name,
                            example);
    return place->count > 0 || place_refuse(place, "an empty %s: %s", name, example);
}

const struct place *place_field(const struct place *place, const char *name)
{
    const struct place *field = place->kind == PLACE_MAP ? place->first : NULL;
    while (field && strcmp(field->key, name) != 0)
        field = field->next;
    return field;
}

/* --- the file's bytes --- */

static bool refuse_line(const struct reading *reading, size_t line, const char *what)
{
    return error_set(reading->error, ERROR_INVALID, "%s:%zu: %s", reading->target->path, line,
                     what);
}

/* All of them, and a NUL character, of which there is no other. */
static bool read_bytes(const struct reading *reading, FILE *from, char out[DOCUMENT_BYTES_MAX + 2])
{
    const char *path = reading->target->path;
    struct stat is;
    if (fstat(fileno(from), &is) == 0 && S_ISDIR(is.st_mode))
        return error_set(reading->error, ERROR_INVALID, "%s: a folder, no file", path);
    size_t length = fread(out, 1, DOCUMENT_BYTES_MAX + 1, from);
    if (ferror(from))
        return error_fail(reading->error, "%s: it cannot be read", path);
    if (length > DOCUMENT_BYTES_MAX)
        return error_set(reading->error, ERROR_INVALID,
                         "%s: too large: a target file has %d bytes at most", path,
                         DOCUMENT_BYTES_MAX);
    /* An editor's byte order mark is no part of the text. */
    if (length >= 3 && memcmp(out, "\xef\xbb\xbf", 3) == 0)
        memmove(out, out + 3, length -= 3);
    out[length] = '\0';
    size_t bad = utf8_bad_line(out, length);
    return bad == 0 || refuse_line(reading, bad, "not text in UTF-8");
}

static bool read_file(const struct reading *reading, char out[DOCUMENT_BYTES_MAX + 2])
{
    const char *path = reading->target->path;
    FILE *from = fopen(path, "re");
    if (!from)
        return error_set(reading->error, ERROR_INVALID, "%s: %s", path, strerror(errno));
    bool read = read_bytes(reading, from, out);
    fclose(from);
    return read;
}

/* --- the tree --- */

/* A tree while it grows. */
struct growing {
    struct reading *reading;
    struct place *in; /* the map or list that is open; NULL: none */
    const char *key;  /* of the map, whose value comes next; NULL: a key does */
    size_t key_line;
    bool refused; /* something in it is, unless it is no YAML further down, which is said first */
};

static bool add_key(struct growing *is, const yaml_event_t *event, size_t line)
{
    const char *key = (const char *)event->data.scalar.value;
    struct place where = *is->in;

    where.line = line;
    if (event->type != YAML_SCALAR_EVENT || event->data.scalar.length == 0 ||
        strlen(key) != event->data.scalar.length)
        return place_refuse(&where, "a name before the ':' is missing");
    const struct place *other = place_field(is->in, key);
    if (other)
        return place_refuse(&where, "%s stands twice, in line %zu too", place_quote(&where, key),
                            other->line);
    is->key = place_text(is->in, "%s", key);
    is->key_line = line;
    return true;
}

static void add_place(struct growing *is, const yaml_event_t *event, size_t line)
{
    struct place *place = pool_take(&is->reading->target->pool, sizeof *place), *up = is->in;
    *place = (struct place){.reading = is->reading,
                            .up = up,
                            .key = is->key,
                            .index = up ? up->count++ : 0,
                            .line = is->key ? is->key_line : line,
                            .kind = event->type == YAML_MAPPING_START_EVENT    ? PLACE_MAP
                                    : event->type == YAML_SEQUENCE_START_EVENT ? PLACE_LIST
                                                                               : PLACE_TEXT};
    *(!up ? &is->reading->root : up->last ? &up->last->next : &up->first) = place;
    if (up)
        up->last = place;
    is->key = NULL;
    if (place->kind != PLACE_TEXT) {
        is->in = place;
        return;
    }
    place->length = event->data.scalar.length;
    place->is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    place->text = place_text(place, "%s", (const char *)event->data.scalar.value);
}

/* These begin with the same members, an anchor and a tag. */
static bool is_node(const yaml_event_t *event)
{
    return event->type == YAML_SCALAR_EVENT || event->type == YAML_SEQUENCE_START_EVENT ||
           event->type == YAML_MAPPING_START_EVENT;
}

static bool add_event(struct growing *is, const yaml_event_t *event, size_t line)
{
    if (event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT)
        is->in = is->in ? is->in->up : NULL;
    else if (is_node(event) && is->in && is->in->kind == PLACE_MAP && !is->key)
        return add_key(is, event, line);
    else if (is_node(event))
        add_place(is, event, line);
    return true;
}

/* The feature of YAML that is refused; NULL: none. */
static const char *refused_feature(const yaml_event_t *event, int documents)
{
    if (event->type == YAML_ALIAS_EVENT)
        return "an alias (*name): write the value again";
    if (event->type == YAML_DOCUMENT_START_EVENT && documents > 0)
        return "a second document (---): a file is one target";
    if (is_node(event) && event->data.scalar.anchor)
        return "an anchor (&name): write the value where it is needed";
    return is_node(event) && event->data.scalar.tag ? "a tag (!name): nothing here needs one"
                                                    : NULL;
}

/* --- the YAML --- */

/* Whether the line is indented with a tab, which is what people get wrong most. */
static bool has_tab(const char *text, size_t line)
{
    for (; line > 1 && text; line--) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return text && text[strspn(text, " ")] == '\t';
}

static bool refuse_yaml(const struct reading *reading, const char *text,
                        const yaml_parser_t *parser)
{
    size_t line = parser->problem_mark.line + 1;
    if (parser->error == YAML_MEMORY_ERROR)
        memory_need(NULL);
    if (has_tab(text, line))
        return refuse_line(reading, line, "a tab before the first word: indent with spaces");
    return error_set(reading->error, ERROR_INVALID, "%s:%zu: no YAML: %s%s%s",
                     reading->target->path, line,
                     parser->problem ? parser->problem : "it cannot be read",
                     parser->context ? ", " : "", parser->context ? parser->context : "");
}

static bool read_events(struct reading *reading, const char *text, yaml_parser_t *parser)
{
    struct growing growing = {.reading = reading};
    int documents = 0;
    for (bool ended = false; !ended;) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return refuse_yaml(reading, text, parser);
        const char *feature = refused_feature(&event, documents);
        size_t line = event.start_mark.line + 1;
        growing.refused = growing.refused || !add_event(&growing, &event, line);
        documents += event.type == YAML_DOCUMENT_START_EVENT;
        ended = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        if (feature)
            return refuse_line(reading, line, feature);
    }
    if (growing.refused)
        return false;
    return reading->root ||
           refuse_line(reading, 1, "an empty file: docs/JUDGING.md#the-target-file has one");
}

bool places_read(struct reading *reading)
{
    char text[DOCUMENT_BYTES_MAX + 2];
    yaml_parser_t parser;
    if (!read_file(reading, text))
        return false;
    if (!yaml_parser_initialize(&parser))
        memory_need(NULL);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
    bool read = read_events(reading, text, &parser);
    yaml_parser_delete(&parser);
    return read;
}
