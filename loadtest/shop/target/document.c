/*
 * See document.h. The file is read whole; libyaml's events, which alone show an anchor, are made a
 * tree as they come.
 */
#include "loadtest/shop/target/document.h"

#include "loadtest/base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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
    return error_set(place->document->error, ERROR_INVALID, "%s:%zu: %s%s%s", place->document->path,
                     place->line, way, *way ? ": " : "", what);
}

const char *place_quote(const struct place *place, const char *text)
{
    enum { MOST = 56, SIZE = MOST + 8 };
    char *out = pool_take(&place->document->tree, SIZE);
    int most = MOST;
    bool whole = strlen(text) <= MOST;
    while (!whole && most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    if (!out)
        return "it";
    snprintf(out, SIZE, "\"%.*s%s\"", most, text, whole ? "" : "…");
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

/* --- the file's bytes --- */

struct text {
    char *bytes; /* owned */
    size_t length;
};

static bool refuse_line(const struct document *document, size_t line, const char *what)
{
    return error_set(document->error, ERROR_INVALID, "%s:%zu: %s", document->path, line, what);
}

static bool read_bytes(const struct document *document, FILE *from, struct text *out)
{
    struct stat is;
    if (fstat(fileno(from), &is) == 0 && S_ISDIR(is.st_mode))
        return error_set(document->error, ERROR_INVALID, "%s: a folder, no file", document->path);
    out->bytes = malloc(DOCUMENT_BYTES_MAX + 1);
    if (!out->bytes)
        return error_fail(document->error, "out of memory");
    out->length = fread(out->bytes, 1, DOCUMENT_BYTES_MAX + 1, from);
    if (ferror(from))
        return error_fail(document->error, "%s: it cannot be read", document->path);
    if (out->length > DOCUMENT_BYTES_MAX)
        return error_set(document->error, ERROR_INVALID,
                         "%s: too large: a target file has %d bytes at most", document->path,
                         DOCUMENT_BYTES_MAX);
    /* An editor's byte order mark is no part of the text. */
    if (out->length >= 3 && memcmp(out->bytes, "\xef\xbb\xbf", 3) == 0)
        memmove(out->bytes, out->bytes + 3, out->length -= 3);
    size_t bad = utf8_bad_line(out->bytes, out->length);
    return bad == 0 || refuse_line(document, bad, "not text in UTF-8");
}

static bool read_file(const struct document *document, struct text *out)
{
    FILE *from = fopen(document->path, "re");
    if (!from)
        return error_set(document->error, ERROR_INVALID, "%s: %s", document->path, strerror(errno));
    bool read = read_bytes(document, from, out);
    fclose(from);
    return read;
}

/* --- the tree --- */

/* A tree while it grows. */
struct growing {
    struct document *document;
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
    is->key = pool_copy(&is->document->tree, key, strlen(key));
    is->key_line = line;
    return is->key || error_fail(is->document->error, "out of memory");
}

static void link_place(struct growing *is, struct place *place)
{
    struct place *up = is->in;
    if (!up) {
        is->document->root = place;
        return;
    }
    *(up->last ? &up->last->next : &up->first) = place;
    up->last = place;
    place->index = up->count++;
}

static bool add_place(struct growing *is, const yaml_event_t *event, size_t line)
{
    struct place *place = pool_take(&is->document->tree, sizeof *place);
    if (!place)
        return error_fail(is->document->error, "out of memory");
    *place = (struct place){.document = is->document,
                            .up = is->in,
                            .key = is->key,
                            .line = is->key ? is->key_line : line,
                            .kind = event->type == YAML_MAPPING_START_EVENT    ? PLACE_MAP
                                    : event->type == YAML_SEQUENCE_START_EVENT ? PLACE_LIST
                                                                               : PLACE_TEXT};
    link_place(is, place);
    is->key = NULL;
    if (place->kind != PLACE_TEXT) {
        is->in = place;
        return true;
    }
    place->length = event->data.scalar.length;
    place->is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    place->text =
        pool_copy(&is->document->tree, (const char *)event->data.scalar.value, place->length);
    return place->text || error_fail(is->document->error, "out of memory");
}

static bool add_event(struct growing *is, const yaml_event_t *event, size_t line)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return is->in && is->in->kind == PLACE_MAP && !is->key ? add_key(is, event, line)
                                                               : add_place(is, event, line);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        is->in = is->in ? is->in->up : NULL;
        return true;
    default:
        return true;
    }
}

/* The feature of YAML that is refused; NULL: none. */
static const char *refused_feature(const yaml_event_t *event, int documents)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (event->type == YAML_ALIAS_EVENT)
        return "an alias (*name): write the value again";
    if (event->type == YAML_DOCUMENT_START_EVENT && documents > 0)
        return "a second document (---): a file is one target";
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    if (anchor)
        return "an anchor (&name): write the value where it is needed";
    return tag ? "a tag (!name): nothing here needs one" : NULL;
}

/* --- the YAML --- */

/* Whether the line is indented with a tab, which is what people get wrong most. */
static bool has_tab(const struct text *text, size_t line)
{
    const char *at = text->bytes, *end = text->bytes + text->length;
    for (; line > 1 && at; line--) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    while (at && at < end && *at == ' ')
        at++;
    return at && at < end && *at == '\t';
}

static bool refuse_yaml(const struct document *document, const struct text *text,
                        const yaml_parser_t *parser)
{
    size_t line = parser->problem_mark.line + 1;
    if (parser->error == YAML_MEMORY_ERROR)
        return error_fail(document->error, "out of memory");
    if (has_tab(text, line))
        return refuse_line(document, line, "a tab before the first word: indent with spaces");
    return error_set(document->error, ERROR_INVALID, "%s:%zu: no YAML: %s%s%s", document->path,
                     line, parser->problem ? parser->problem : "it cannot be read",
                     parser->context ? ", " : "", parser->context ? parser->context : "");
}

static bool read_events(struct document *document, const struct text *text, yaml_parser_t *parser)
{
    struct growing growing = {.document = document};
    int documents = 0;
    for (bool ended = false; !ended;) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return refuse_yaml(document, text, parser);
        const char *feature = refused_feature(&event, documents);
        size_t line = event.start_mark.line + 1;
        growing.refused = growing.refused || !add_event(&growing, &event, line);
        documents += event.type == YAML_DOCUMENT_START_EVENT;
        ended = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        if (feature)
            return refuse_line(document, line, feature);
    }
    if (growing.refused)
        return false;
    return document->root ||
           refuse_line(document, 1, "an empty file: docs/JUDGING.md#the-target-file has one");
}

static bool parse(struct document *document, const struct text *text)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return error_fail(document->error, "out of memory");
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text->bytes, text->length);
    bool parsed = read_events(document, text, &parser);
    yaml_parser_delete(&parser);
    return parsed;
}

bool document_open(struct document *document, const char *path, struct pool *keeps,
                   struct error *error)
{
    struct text text = {.bytes = NULL};
    *document = (struct document){.path = path, .error = error, .keeps = keeps};
    bool opened = read_file(document, &text) && parse(document, &text);
    free(text.bytes);
    if (!opened)
        document_close(document);
    return opened;
}

void document_close(struct document *document)
{
    pool_fini(&document->tree);
}
