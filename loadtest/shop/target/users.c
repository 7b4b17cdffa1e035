/*
 * A target's users: a range, a CSV file, or a command that prints one. Its columns are fields that
 * texts may name, so the file's first line is read here, and a command's columns are declared.
 */
#include "loadtest/shop/target/reading.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t MOST_USERS = 1000000000;

static bool is_number(const char *text, const char *end, int64_t *out)
{
    if (text == end || end - text > 10 || strspn(text, "0123456789") < (size_t)(end - text))
        return false;
    *out = strtoll(text, NULL, 10);
    return *out >= 1 && *out <= MOST_USERS;
}

static bool read_range(const struct place *place, struct reading *reading)
{
    struct target *target = reading->target;
    char quoted[PLACE_QUOTE_SIZE];
    const char *word = value_word(place, "a range (1..100000)");
    const char *dots = word ? strstr(word, "..") : NULL;

    if (!word)
        return false;
    if (!dots || !is_number(word, dots, &target->user_from) ||
        !is_number(dots + 2, dots + strlen(dots), &target->user_to) ||
        target->user_from > target->user_to)
        return place_refuse(place, "%s is no range of users: 1..100000, up to %" PRId64,
                            place_quote(word, quoted), MOST_USERS);
    return reading_add_name(reading, place, "user");
}

static bool has_user(const struct place *place, const struct reading *reading)
{
    for (size_t i = 0; i < reading->name_count; i++)
        if (strcmp(reading->names[i], "user") == 0)
            return true;
    return place_refuse(place, "no column is called \"user\"");
}

/* --- CSV --- */

/* Relative to the target's file, so that it can be called from anywhere. */
static bool resolve(const struct place *place, char **path)
{
    const char *target = place->document->path, *slash = strrchr(target, '/');
    char *resolved = NULL;
    if ((*path)[0] == '/' || !slash)
        return true;
    if (asprintf(&resolved, "%.*s/%s", (int)(slash - target), target, *path) < 0)
        return error_fail(place->document->error, "out of memory");
    free(*path);
    *path = resolved;
    return true;
}

static void trim_quotes(char *name)
{
    size_t length = strlen(name);
    if (length < 2 || name[0] != '"' || name[length - 1] != '"')
        return;
    memmove(name, name + 1, length - 2);
    name[length - 2] = '\0';
}

static bool add_columns(const struct place *place, struct reading *reading, char *line)
{
    line[strcspn(line, "\r\n")] = '\0';
    for (char *name; (name = strsep(&line, ",")) != NULL;) {
        trim_quotes(name);
        if (!reading_add_name(reading, place, name))
            return false;
    }
    return has_user(place, reading);
}

static bool read_first_line(const struct place *place, struct reading *reading, FILE *from)
{
    char line[2048], *at = line;
    if (!fgets(line, sizeof line, from))
        return place_refuse(place, "the file is empty: its first line names the columns");
    if (strncmp(line, "\xef\xbb\xbf", 3) == 0)
        at += 3;
    return add_columns(place, reading, at);
}

static bool read_csv(const struct place *place, void *into)
{
    struct reading *reading = into;
    char **path = &reading->target->users_csv, quoted[PLACE_QUOTE_SIZE];
    if (!value_text(place, "a file", path) || !resolve(place, path))
        return false;
    FILE *from = fopen(*path, "re");
    if (!from)
        return place_refuse(place, "%s: %s; it is looked for beside this file",
                            place_quote((const char *)place->node->data.scalar.value, quoted),
                            strerror(errno));
    bool read = read_first_line(place, reading, from);
    fclose(from);
    return read;
}

/* --- a command --- */

static bool read_command(const struct place *place, void *into)
{
    return value_raw(place, "a command for sh -c",
                     &((struct reading *)into)->target->users_command);
}

static bool read_columns(const struct place *place, void *into)
{
    struct reading *reading = into;
    if (!reading->target->users_command)
        return place_refuse(place, "only a command's columns are told: a file names its own");
    if (!place_is_list(place, "[user, token]"))
        return false;
    for (size_t i = 0; i < place_count(place); i++) {
        struct place child = place_child(place, i);
        const char *name = value_word(&child, "a name");
        if (!name || !reading_add_name(reading, &child, name))
            return false;
    }
    return has_user(place, reading);
}

static bool check_source(const struct place *place, struct reading *reading)
{
    const struct target *target = reading->target;
    if (target->users_csv && target->users_command)
        return place_refuse(place, "\"csv\" and \"command\" both: one of them");
    if (!target->users_csv && !target->users_command)
        return place_refuse(place, "\"csv\" or \"command\" is missing");
    for (size_t i = 0; i < reading->name_count; i++)
        if (strcmp(reading->names[i], "user") == 0)
            return true;
    return reading_add_name(reading, place, "user");
}

bool reading_users(const struct place *place, void *into)
{
    static const struct place_field fields[] = {{"csv", read_csv, false},
                                                {"command", read_command, false},
                                                {"columns", read_columns, false}};
    if (place_kind(place) == PLACE_TEXT)
        return read_range(place, into);
    if (place_kind(place) == PLACE_LIST)
        return place_refuse(place, "a list, and a range (1..100000), or a map with \"csv\" or "
                                   "\"command\" is wanted");
    return place_read(place, fields, sizeof fields / sizeof *fields, into) &&
           check_source(place, into);
}
