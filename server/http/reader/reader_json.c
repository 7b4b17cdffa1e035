/*
 * The reader for JSON bodies: one object, its members checked against a table of what it may hold.
 *
 * jansson refuses what is not JSON, duplicate members, NUL, invalid UTF-8, lone surrogates,
 * integers beyond 64 bits and anything behind the object. Types and ranges are refused here, naming
 * the member.
 *
 * An order's body is nearly always whole numbers by their plain names. Such an object is read
 * without jansson, in a tenth of the time. All else, be it wrong or merely unusual, is jansson's:
 * nothing is refused on the short way.
 */
#include "base/clock.h"
#include "http/reader/reader.h"

#include <jansson.h>
#include <string.h>

#define EXACT 9007199254740992.0 /* 2^53 */

enum { SHORT_DIGITS = 18 }; /* always fit an int64_t */

/* jansson has checked that it is UTF-8: every byte that does not continue a character begins one.
 */
static size_t utf8_length(const char *text)
{
    size_t characters = 0;

    for (; *text != '\0'; text++)
        if (((unsigned char)*text & 0xc0) != 0x80)
            characters++;
    return characters;
}

static bool read_text(struct member *member, const json_t *value, struct problem *problem)
{
    const char *text = json_string_value(value);

    if (!text)
        return problem_field(problem, member->name, "It takes a string.");
    if (utf8_length(text) > member->text_chars)
        return problem_field(problem, member->name, "It takes at most %zu characters.",
                             member->text_chars);
    memcpy(member->text, text, json_string_length(value) + 1);
    return true;
}

/* 1.0 and 1e2 are whole numbers, too (JSON Schema); jansson reads them as doubles, of which those
 * below 2^53 are the number that was written. */
static bool read_integer(const json_t *value, int64_t *number)
{
    double real = json_real_value(value);

    if (json_is_integer(value)) {
        *number = json_integer_value(value);
        return true;
    }
    if (!json_is_real(value) || real <= -EXACT || real >= EXACT || real != (double)(int64_t)real)
        return false;
    *number = (int64_t)real;
    return true;
}

static bool read_value(struct member *member, const json_t *value, struct problem *problem)
{
    switch (member->type) {
    case MEMBER_TEXT:
        return read_text(member, value, problem);
    case MEMBER_TIME:
        if (!json_is_string(value) ||
            !clock_parse_rfc3339(json_string_value(value), &member->number))
            return problem_field(problem, member->name,
                                 "It takes an RFC 3339 time such as 2026-11-20T08:00:00Z.");
        return true;
    case MEMBER_INTEGER:
        break;
    }
    if (member->is_id && json_is_string(value) &&
        reader_integer(json_string_value(value), member->min, member->max, &member->number))
        return true;
    if (!read_integer(value, &member->number) || member->number < member->min ||
        member->number > member->max)
        return problem_field(problem, member->name, "It takes a whole number from %lld to %lld.",
                             (long long)member->min, (long long)member->max);
    return true;
}

static bool read_members(json_t *object, struct member *members, size_t count,
                         struct problem *problem)
{
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        struct member *member = NULL;

        for (size_t i = 0; i < count && !member; i++)
            if (strcmp(members[i].name, name) == 0)
                member = &members[i];
        if (!member)
            return problem_field(problem, name, "There is no such member here.");
        if (member->nullable && json_is_null(value)) {
            member->is_null = true;
            continue;
        }
        if (!read_value(member, value, problem))
            return false;
        member->given = true;
    }
    for (size_t i = 0; i < count; i++)
        if (members[i].required && !members[i].given)
            return problem_field(problem, members[i].name, "The member is missing.");
    return true;
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

/* Behind white space and the sign; NULL where another one stands. */
static const char *take(const char *at, const char *end, char sign)
{
    at = skip_space(at, end);
    return at < end && *at == sign ? at + 1 : NULL;
}

/* Behind a number within the member's range that fits whatever its digits are; else NULL. */
static const char *take_number(const char *at, const char *end, struct member *member)
{
    const char *first = at = skip_space(at, end);
    int64_t number = 0;

    for (; at < end && at - first < SHORT_DIGITS && *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (*at - '0');
    if (at == first || (*first == '0' && at - first > 1) || number < member->min ||
        number > member->max)
        return NULL;
    member->number = number;
    member->given = true;
    return at;
}

/* Behind "NAME": NUMBER, of a member that was not there before; else NULL. */
static const char *take_member(const char *at, const char *end, struct member *members,
                               size_t count)
{
    const char *name = take(at, end, '"');
    const char *behind = name ? memchr(name, '"', (size_t)(end - name)) : NULL;

    at = behind ? take(behind + 1, end, ':') : NULL;
    for (size_t i = 0; at && i < count; i++) {
        size_t length = strlen(members[i].name);

        if (length == (size_t)(behind - name) && memcmp(members[i].name, name, length) == 0)
            return members[i].type == MEMBER_INTEGER && !members[i].given
                       ? take_number(at, end, &members[i])
                       : NULL;
    }
    return NULL;
}

/* Whether it was such an object, and all that is required was in it. */
static bool read_plainly(const char *body, const char *end, struct member *members, size_t count)
{
    const char *at = take(body, end, '{');
    const char *next = at;

    while (next && (at = take_member(next, end, members, count)))
        next = take(at, end, ',');
    at = at ? take(at, end, '}') : NULL;
    if (!at || skip_space(at, end) != end)
        return false;
    for (size_t i = 0; i < count; i++)
        if (members[i].required && !members[i].given)
            return false;
    return true;
}

bool reader_object(const char *body, size_t length, struct member *members, size_t count,
                   struct problem *problem)
{
    json_error_t error;
    json_t *object;
    bool good;

    if (read_plainly(body, body + length, members, count))
        return true;
    for (size_t i = 0; i < count; i++)
        members[i].given = false;
    object = json_loadb(body, length, JSON_REJECT_DUPLICATES, &error);
    if (!object)
        return problem_set(problem, 400, "invalid_json", NULL,
                           "The body is not one JSON object: line %d, column %d.", error.line,
                           error.column);
    if (json_is_object(object))
        good = read_members(object, members, count, problem);
    else
        good = problem_set(problem, 400, "invalid_json", NULL, "The body is not a JSON object.");
    json_decref(object);
    return good;
}
