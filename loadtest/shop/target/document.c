/*
 * See document.h. The file is read whole and looked at three times: whether it is text, whether it
 * is YAML without the features that are refused (libyaml's events, which alone show an anchor),
 * and last as a tree.
 */
#include "loadtest/shop/target/document.h"

#include "loadtest/base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    return true;
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

static bool check_utf8(const struct document *document, const struct text *text)
{
    size_t line = 1;
    for (size_t i = 0, length; i < text->length; i += length) {
        const char *at = text->bytes + i;
        length = utf8_sequence(at, text->length - i);
        if (length == 0 || *at == '\0')
            return refuse_line(document, line, "not text in UTF-8");
        line += *at == '\n';
    }
    return true;
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

/* What is refused of an event; NULL: nothing. */
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

static void start(yaml_parser_t *parser, const struct text *text)
{
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(parser, (const unsigned char *)text->bytes, text->length);
}

static bool check_events(const struct document *document, const struct text *text,
                         yaml_parser_t *parser)
{
    int documents = 0;
    for (bool ended = false; !ended;) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return refuse_yaml(document, text, parser);
        const char *feature = refused_feature(&event, documents);
        size_t line = event.start_mark.line + 1;
        documents += event.type == YAML_DOCUMENT_START_EVENT;
        ended = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        if (feature)
            return refuse_line(document, line, feature);
    }
    return true;
}

static bool load(struct document *document, const struct text *text, yaml_parser_t *parser)
{
    if (!yaml_parser_load(parser, &document->yaml))
        return refuse_yaml(document, text, parser);
    if (yaml_document_get_root_node(&document->yaml))
        return true;
    yaml_document_delete(&document->yaml);
    return refuse_line(document, 1, "an empty file: docs/JUDGING.md#the-target-file has one");
}

static bool parse(struct document *document, const struct text *text)
{
    yaml_parser_t parser;
    bool parsed = false;
    for (int pass = 0; pass < 2; pass++) {
        if (!yaml_parser_initialize(&parser))
            return error_fail(document->error, "out of memory");
        start(&parser, text);
        parsed = pass == 0 ? check_events(document, text, &parser) : load(document, text, &parser);
        yaml_parser_delete(&parser);
        if (!parsed)
            break;
    }
    return parsed;
}

bool document_open(struct document *document, const char *path, struct error *error)
{
    struct text text = {.bytes = NULL};
    *document = (struct document){.path = path, .error = error};
    bool opened =
        read_file(document, &text) && check_utf8(document, &text) && parse(document, &text);
    free(text.bytes);
    return opened;
}

void document_close(struct document *document)
{
    yaml_document_delete(&document->yaml);
}

struct place document_root(struct document *document)
{
    yaml_node_t *node = yaml_document_get_root_node(&document->yaml);
    return (struct place){.document = document, .node = node, .line = node->start_mark.line + 1};
}
