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

static bool read_range(const struct place *place, struct target *target)
{
    const char *word = value_word(place, "a range (1..100000)");
    const char *dots = word ? strstr(word, "..") : NULL;

    if (!word)
        return false;
    if (!dots || !is_number(word, dots, &target->user_from) ||
        !is_number(dots + 2, dots + strlen(dots), &target->user_to) ||
        target->user_from > target->user_to)
        return place_refuse(place, "%s is no range of users: 1..100000, up to %" PRId64,
                            place_quote(place, word), MOST_USERS);
    return reading_add_name(place, "user");
}

static bool check_user(const struct place *place)
{
    return reading_has_name(place, "user") || place_refuse(place, "no column is called \"user\"");
}

/* --- CSV --- */

/* Relative to the target's file, so that it can be called from anywhere. */
static bool resolve(const struct place *place, const char **path)
{
    const char *target = place->document->path, *slash = strrchr(target, '/');
    if ((*path)[0] == '/' || !slash)
        return true;
    int folder = (int)(slash - target);
    size_t size = (size_t)folder + strlen(*path) + 2;
    char *resolved = place_take(place, size);
    if (!resolved)
        return false;
    snprintf(resolved, size, "%.*s/%s", folder, target, *path);
    *path = resolved;
    return true;
}

static bool add_columns(const struct place *place, char *line)
{
    line[strcspn(line, "\r\n")] = '\0';
    for (char *name; (name = strsep(&line, ",")) != NULL;) {
        size_t length = strlen(name);
        if (length >= 2 && name[0] == '"' && name[length - 1] == '"') {
            name[length - 1] = '\0';
            name++;
        }
        if (!reading_add_name(place, name))
            return false;
    }
    return check_user(place);
}

bool reading_csv(const struct place *place, void *into)
{
    struct target *target = into;
    char line[2048];
    if (!resolve(place, &target->users_csv))
        return false;
    FILE *from = fopen(target->users_csv, "re");
    if (!from)
        return place_refuse(place, "%s: %s; it is looked for beside this file",
                            place_quote(place, place->text), strerror(errno));
    bool read = fgets(line, sizeof line, from) != NULL;
    fclose(from);
    return read ? add_columns(place, line + (strncmp(line, "\xef\xbb\xbf", 3) == 0 ? 3 : 0))
                : place_refuse(place, "the file is empty: its first line names the columns");
}

/* --- a command --- */

bool reading_columns(const struct place *place, void *into)
{
    const struct target *target = into;
    if (!target->users_command)
        return place_refuse(place, "only a command's columns are told: a file names its own");
    bool read = place_is_list(place, "[user, token]");
    for (const struct place *child = place->first; read && child; child = child->next) {
        const char *name = value_word(child, "a name");
        read = name && reading_add_name(child, name);
    }
    return read && check_user(place);
}

static bool check_source(const struct place *place, const struct target *target)
{
    if (target->users_csv && target->users_command)
        return place_refuse(place, "\"csv\" and \"command\" both: one of them");
    if (!target->users_csv && !target->users_command)
        return place_refuse(place, "\"csv\" or \"command\" is missing");
    return reading_has_name(place, "user") || reading_add_name(place, "user");
}

bool reading_users(const struct place *place, void *into)
{
    if (place->kind == PLACE_TEXT)
        return read_range(place, into);
    if (place->kind == PLACE_LIST)
        return place_refuse(place, "a list, and a range (1..100000), or a map with \"csv\" or "
                                   "\"command\" is wanted");
    return fields_read(place, PART_USERS, into) && check_source(place, into);
}
