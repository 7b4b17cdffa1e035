/*
 * The reader for JSON bodies: one object, its members checked against a table of what it may hold.
 *
 * jansson refuses what is not JSON, duplicate members, NUL, invalid UTF-8, lone surrogates,
 * integers beyond 64 bits and anything behind the object. Types and ranges are refused here, naming
 * the member.
 */
#include "base/clock.h"
#include "http/reader/reader.h"

#include <jansson.h>
#include <string.h>

#define EXACT 9007199254740992.0 /* 2^53 */

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

bool reader_object(const char *body, size_t length, struct member *members, size_t count,
                   struct problem *problem)
{
    json_error_t error;
    json_t *object = json_loadb(body, length, JSON_REJECT_DUPLICATES, &error);
    bool good;

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
