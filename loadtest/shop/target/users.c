/*
 * A target's users: a range, a CSV file, or a command that prints one. Its columns are fields that
 * texts may name, so the file's first line is read here, and a command's columns are declared.
 */
#include "loadtest/shop/load/users.h"
#include "loadtest/shop/target/reading.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t MOST_USERS = 1000000000;

/* Returns what stands behind the number; NULL: none begins there. */
static const char *take_number(const char *text, int64_t *out)
{
    size_t digits = strspn(text, "0123456789");
    *out = digits <= 10 ? strtoll(text, NULL, 10) : 0;
    return digits > 0 && *out >= 1 && *out <= MOST_USERS ? text + digits : NULL;
}

static bool read_range(const struct place *place, struct target *target)
{
    const char *word = value_word(place, "a range (1..100000)");
    if (!word)
        return false;
    const char *rest = take_number(word, &target->user_from);
    rest = rest && strncmp(rest, "..", 2) == 0 ? take_number(rest + 2, &target->user_to) : NULL;
    if (!rest || *rest || target->user_from > target->user_to)
        return place_refuse(place, "%s is no range of users: 1..100000, up to %" PRId64,
                            place_quote(place, word), MOST_USERS);
    return names_add(place, "user");
}

/* Also of a file's columns. */
bool reading_columns(const struct place *place, void *into)
{
    (void)into;
    return names_have(&place->reading->names, "user") ||
           place_refuse(place, "no column is called \"user\"");
}

/* --- CSV --- */

/* Relative to the target's file, so that it can be called from anywhere. */
static const char *resolve(const struct place *place, const struct target *target)
{
    const char *path = target->users_csv, *slash = strrchr(target->path, '/');
    return path[0] == '/' || !slash
               ? path
               : place_text(place, "%.*s/%s", (int)(slash - target->path), target->path, path);
}

static bool add_columns(const struct place *place, char *line)
{
    for (bool last = false; !last;)
        if (!names_add(place, place_text(place, "%s", users_cut(&line, &last))))
            return false;
    return reading_columns(place, NULL);
}

bool reading_csv(const struct place *place, void *into)
{
    struct target *target = into;
    char line[2048];
    target->users_csv = resolve(place, target);
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

bool reading_column(const struct place *place, void *into)
{
    const struct target *target = into;
    if (!target->users_command)
        return place_refuse(place->up, "only a command's columns are told: a file names its own");
    const char *name = value_word(place, "a name");
    return name && names_add(place, name);
}

static bool check_source(const struct place *place, const struct target *target)
{
    if (target->users_csv && target->users_command)
        return place_refuse(place, "\"csv\" and \"command\" both: one of them");
    if (!target->users_csv && !target->users_command)
        return place_refuse(place, "\"csv\" or \"command\" is missing");
    return names_have(&place->reading->names, "user") || names_add(place, "user");
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
