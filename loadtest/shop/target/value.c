/* See reading.h. */
#include "loadtest/shop/target/reading.h"

#include "base/options/nearest.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
enum { NAME_SIZE = 64 };

const char *value_word(const struct place *place, const char *wanted)
{
    if (place->kind != PLACE_TEXT || place->length == 0)
        place_refuse(place, "%s, and %s is wanted", place_kind_text(place), wanted);
    else if (strlen(place->text) != place->length)
        place_refuse(place, "a NUL character in it");
    else
        return place->text;
    return NULL;
}

/* --- names --- */

bool names_have(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return true;
    return false;
}

bool names_add(const struct place *place, const char *name)
{
    struct names *names = &place->reading->names;

    if (!fill_is_name(name))
        return place_refuse(place, "%s is no name for a field: letters, digits and '_', %d at most",
                            place_quote(place, name), FILL_NAME_MAX);
    if (names_have(names, name))
        return place_refuse(place, "{%s} is known already: take another name", name);
    if (names->count == NAMES_MAX)
        return place_refuse(place, "too many fields: %d at most", NAMES_MAX);
    names->items[names->count++] = name;
    return true;
}

/* "there are user, key", or {user}, {key}. */
static const char *list_names(const struct place *place, const struct names *names,
                              const char *begins, bool braces)
{
    const char *list = begins;
    for (size_t i = 0; i < names->count; i++)
        list = place_text(place, "%s%s%s%s%s", list, i > 0 ? ", " : "", braces ? "{" : "",
                          names->items[i], braces ? "}" : "");
    return place_text(place, "%.299s", list);
}

const char *names_hint(const struct place *place, const struct names *names, const char *name,
                       bool braces)
{
    struct nearest nearest = nearest_to(name, strlen(name));
    for (size_t i = 0; i < names->count; i++)
        nearest_offer(&nearest, names->items[i]);
    return nearest.name ? place_text(place, ": did you mean %s%s%s?", braces ? "{" : "",
                                     nearest.name, braces ? "}" : "")
                        : list_names(place, names, "; there are ", braces);
}

static bool refuse_field(const struct place *place, const struct names *names, const char *name)
{
    if (strcmp(name, "order") == 0)
        return place_refuse(place, "{order} is known in \"poll\" alone, when each \"accepted\" of "
                                   "\"outcome\" has its \"order\"");
    return place_refuse(place, "there is no field {%s} here%s (for a brace alone: \"{{\")", name,
                        names_hint(place, names, name, true));
}

static bool check_fields(const struct place *place, const struct names *names, const char *text)
{
    char name[FILL_NAME_MAX + 1];
    while (fill_next_name(&text, name))
        if (!names_have(names, name))
            return refuse_field(place, names, name);
    return true;
}

/* --- where a variable stands --- */

/* What behind "://" is a name and a port has none of the characters that matter. NULL: no URL. */
static const char *authority_of(const char *text)
{
    const char *found = strstr(text, "://");
    return found && strcspn(text, "/?= ${") == (size_t)(found + 1 - text) ? found + 3 : NULL;
}

static enum fill_form in_url(const char *authority, const char *at, enum fill_form form)
{
    const char *end = authority + strcspn(authority, "/?");
    const char *user_end = memchr(authority, '@', (size_t)(end - authority));
    bool in_host = at < end && (!user_end || at > user_end);
    return at < authority || in_host ? FILL_PLAIN : form;
}

/* By libpq's rules: a value begins behind '=', and ends with a blank, or its closing quote. */
static enum fill_form in_conninfo(const char *text, const char *at)
{
    enum { KEY, BEFORE, VALUE, QUOTED } where = KEY;
    for (; text < at; text++) {
        bool is_blank = *text == ' ' || *text == '\t' || *text == '\n';
        if (*text == '\\' && where != KEY)
            text++;
        else if (where == KEY)
            where = *text == '=' ? BEFORE : KEY;
        else if (where == BEFORE)
            where = is_blank ? BEFORE : *text == '\'' ? QUOTED : VALUE;
        else if (where == QUOTED ? *text == '\'' : is_blank)
            where = KEY;
    }
    return where == KEY ? FILL_PLAIN : FILL_CONNINFO;
}

/* Whether a quote is open; `escape`: what takes the next character its meaning, or 0. */
static bool is_quoted(const char *text, const char *at, char quote, char escape)
{
    bool is_open = false;
    for (; text < at; text++) {
        if (is_open && *text == escape)
            text++;
        else if (*text == quote)
            is_open = !is_open;
    }
    return is_open;
}

/* `at`: where "${" stands in the text, which is looked at as it stands in the file. */
static enum fill_form form_at(enum standing where, const char *text, const char *at)
{
    const char *authority = authority_of(text);
    switch (where) {
    case AS_IT_IS:
        break;
    case IN_DATABASE:
        return authority ? in_url(authority, at, FILL_FORM) : in_conninfo(text, at);
    case IN_PATH:
        return authority ? in_url(authority, at, FILL_URL) : at == text ? FILL_PLAIN : FILL_URL;
    case IN_JSON:
        return is_quoted(text, at, '"', '\\') ? FILL_JSON : FILL_PLAIN;
    case IN_FORM:
        return at == text ? FILL_PLAIN : FILL_FORM;
    case IN_SQL:
        return is_quoted(text, at, '\'', '\0') ? FILL_SQL : FILL_PLAIN;
    }
    return FILL_PLAIN;
}

/* --- the environment --- */

static const char *write_as(const struct place *place, const char *value, enum fill_form form)
{
    char *written = fill("{v}", &(struct fill_field){"v", value}, 1, form);
    const char *kept = place_text(place, "%s", written);
    free(written);
    return kept;
}

/* The value of the variable whose "${" stands at `at`; NULL: it is refused. */
static const char *value_of(const struct place *place, const char *at, enum fill_form form)
{
    size_t length = strspn(at + 2, NAME_CHARACTERS);
    const char *name = place_text(place, "%.*s", (int)length, at + 2), *value = getenv(name);
    if (length == 0 || length >= NAME_SIZE || at[2 + length] != '}')
        place_refuse(place, "\"${\" begins no variable of the environment: ${NAME}; write "
                            "\"$${\" for these two characters");
    else if (!value)
        place_refuse(place, "${%s} is not set in the environment", name);
    /* libpq would take the next keyword for the value. */
    else if (form == FILL_CONNINFO && !*value && at[-1] == '=')
        place_refuse(place, "${%s} is empty", name);
    else
        return write_as(place, value, form);
    return NULL;
}

bool value_text(const struct place *place, const char *wanted, enum standing where,
                const struct names *names, const char **out)
{
    struct pool *pool = &place->reading->target->pool;
    const char *text = value_word(place, wanted), *at = text, *made = "";
    if (!text)
        return false;
    for (const char *next; (next = strstr(at, "${")) != NULL;) {
        bool escaped = next > at && next[-1] == '$';
        const char *value = escaped ? "${" : value_of(place, next, form_at(where, text, next));
        if (!value)
            return false;
        /* What stands there begins no field. */
        if (names)
            value = write_as(place, value, FILL_TEMPLATE);
        made = pool_text(pool, "%s%.*s%s", made, (int)(next - at) - escaped, at, value);
        at = escaped ? next + 2 : strchr(next, '}') + 1;
    }
    *out = pool_text(pool, "%s%s", made, at);
    return (**out || place_refuse(place, "what the environment has for it is empty")) &&
           (!names || check_fields(place, names, *out));
}

/* --- numbers, words, times --- */

static bool parse_number(const char *text, int64_t *out)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || text[digits] != '\0')
        return false;
    errno = 0;
    *out = strtoll(text, NULL, 10);
    return errno == 0;
}

static bool read_number(const struct place *place, int64_t from, int64_t to, int64_t *out)
{
    const char *text = "";
    int64_t number = 0;

    if (!value_text(place, "a number", AS_IT_IS, NULL, &text))
        return false;
    if (!parse_number(text, &number) || number < from || number > to)
        return place_refuse(place, "%s is no whole number from %" PRId64 " to %" PRId64,
                            place_quote(place, place->text), from, to);
    *out = number;
    return true;
}

static bool read_bool(const struct place *place, bool *out)
{
    const char *word = value_word(place, "true or false");
    if (!word)
        return false;
    *out = strcmp(word, "true") == 0;
    return *out || strcmp(word, "false") == 0 ||
           place_refuse(place, "%s is neither true nor false", place_quote(place, word));
}

static int64_t unit_us(const char *unit)
{
    return strcmp(unit, "ms") == 0  ? 1000
           : strcmp(unit, "s") == 0 ? 1000000
           : strcmp(unit, "m") == 0 ? 60000000
                                    : 0;
}

/* "50ms", "30s", "5m", up to an hour. */
static bool read_duration(const struct place *place, int64_t *us)
{
    const int64_t hour_us = INT64_C(3600000000);
    const char *word = value_word(place, "a time (50ms, 30s, 5m)");
    if (!word)
        return false;
    size_t digits = strspn(word, "0123456789");
    int64_t unit = unit_us(word + digits);
    long long number = digits > 0 ? strtoll(word, NULL, 10) : 0;
    if (unit == 0 || number < 1 || number > hour_us / unit)
        return place_refuse(place, "%s is no time from 1ms to 60m: 50ms, 30s, 5m",
                            place_quote(place, word));
    *us = number * unit;
    return true;
}

/* --- JSON --- */

bool value_check_pointer(const struct place *place, const char *pointer)
{
    bool good = pointer[0] == '/';
    for (const char *at = pointer; *at; at++)
        good = good && (*at != '~' || at[1] == '0' || at[1] == '1');
    return good ||
           place_refuse(place, "%s is no JSON pointer: /id, or /data/0/id for what is further in",
                        place_quote(place, pointer));
}

bool value_pointer(const struct place *place, const char **out)
{
    *out = value_word(place, "a JSON pointer (/id)");
    return *out && value_check_pointer(place, *out);
}

/* Without quotes, and JSON that is neither a map nor a list; else the text itself. */
static json_t *json_of(const struct place *place, const char *text)
{
    json_t *value =
        place->is_plain ? json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL) : NULL;
    if (value && !json_is_object(value) && !json_is_array(value) && !json_is_string(value))
        return value;
    json_decref(value);
    return json_string(text);
}

bool value_json(const struct place *place, const char **out)
{
    const char *text = "";
    /* In quotes, for without them it would be nothing. */
    bool is_empty = place->kind == PLACE_TEXT && place->length == 0 && !place->is_plain;
    if (!is_empty &&
        !value_text(place, "a single value (5001, true, null, \"text\")", AS_IT_IS, NULL, &text))
        return false;
    json_t *value = json_of(place, text);
    char *json = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    *out = place_text(place, "%s", json ? json : "");
    json_decref(value);
    free(json);
    return json || place_refuse(place, "what the environment has for it is not text in UTF-8");
}

/* --- maps --- */

/* The part's next row; `field` NULL: its first. NULL: there is none. */
static const struct field *next_of(const struct place *place, enum part part,
                                   const struct field *field)
{
    field = field ? field + 1 : place->reading->fields;
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
    for (const struct place *child = place->first; child; child = child->next) {
        struct place where = *place;
        where.line = child->line;
        if (!names_have(names, child->key))
            return place_refuse(&where, "there is no field %s%s", place_quote(&where, child->key),
                                names_hint(place, names, child->key, false));
    }
    return true;
}

static bool read_all(const struct place *place, const struct field *field, char *into)
{
    if (!place_is(place, field->kind == LIST ? PLACE_LIST : PLACE_MAP, field->wanted))
        return false;
    if (field->many && place->count > field->most)
        return place_refuse(place, "%s: %zu at most", field->many, field->most);
    if (field->size > 0) {
        void *items = pool_take(&place->reading->target->pool, field->most * field->size);
        memcpy(into + field->at, &items, sizeof items);
    }
    for (const struct place *child = place->first; child; child = child->next)
        if (!field->each(child, into))
            return false;
    return true;
}

static bool read_kind(const struct place *place, const struct field *field, char *into)
{
    void *out = into + field->at;
    const char **text = out;
    switch (field->kind) {
    case TEXT:
        return value_text(place, field->wanted, field->where, NULL, text);
    case TEMPLATE:
        return value_text(place, field->wanted, field->where, &place->reading->names, text);
    case RAW:
        *text = value_word(place, field->wanted);
        return *text;
    case POINTER:
        return value_pointer(place, text);
    case NUMBER:
        return read_number(place, field->from, field->to, out);
    case TIME:
        return read_duration(place, out);
    case BOOL:
        return read_bool(place, out);
    case MAP:
        return fields_read(place, field->part, out);
    case LIST:
    case PAIRS:
        return read_all(place, field, into);
    case OWN:
        break;
    }
    return true;
}

static bool read_field(const struct place *place, const struct field *field, char *into)
{
    into += field->of;
    return read_kind(place, field, into) &&
           (!field->then || field->then(place, field->kind == MAP ? into + field->at : into));
}

bool fields_read(const struct place *place, enum part part, void *into)
{
    const struct names names = names_of(place, part);
    if (!place_is(place, PLACE_MAP, list_names(place, &names, "with ", false)) ||
        !check_known(place, &names))
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
