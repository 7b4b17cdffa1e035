/* See users.h. */
#include "loadtest/shop/load/users.h"

#include "loadtest/base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *users_cut(char **at, bool *last)
{
    char *cell = *at, *to = *at, *from = *at;
    bool quoted = *from == '"';
    for (from += quoted; *from; from++) {
        if (quoted && from[0] == '"' && from[1] != '"') {
            quoted = false;
            continue;
        }
        if (!quoted && (*from == ',' || *from == '\n'))
            break;
        from += quoted && *from == '"';
        if (quoted || *from != '\r')
            *to++ = *from;
    }
    *last = *from != ',';
    *at = from + (*from != '\0');
    *to = '\0';
    return cell;
}

/* The first line. */
static bool read_names(struct shop_users *out, char **at, const char *where, struct error *error)
{
    bool last = false, found = false;
    while (!last && **at) {
        if (out->columns == USERS_COLUMNS_MAX)
            return error_fail(error, "%s: more than %d columns", where, USERS_COLUMNS_MAX);
        const char *name = users_cut(at, &last);
        found = found || strcmp(name, "user") == 0;
        out->names[out->columns++] = name;
    }
    return found || error_fail(error, "%s: its first line names no column \"user\"", where);
}

/* A line; an empty one is passed over. */
static bool read_line(struct shop_users *out, char **at, const char *where, struct error *error)
{
    size_t before = out->cell_count;
    for (bool last = false; !last;) {
        char **cell = array_add(&out->cells, &out->cell_count, sizeof *cell);
        *cell = users_cut(at, &last);
    }
    size_t cells = out->cell_count - before;
    if (cells == 1 && out->cells[before][0] == '\0') {
        out->cell_count = before;
        return true;
    }
    out->count++;
    return cells == out->columns ||
           error_fail(error, "%s: user %" PRId64 " has %zu columns, the first line %zu", where,
                      out->count, cells, out->columns);
}

/* The ledger is JSON: it could not say who bought. */
static bool is_text(const char *text, const char *where, struct error *error)
{
    size_t bad = utf8_bad_line(text, strlen(text));
    return bad == 0 || error_fail(error, "%s: line %zu is not text in UTF-8", where, bad);
}

static bool read_table(struct shop_users *out, const char *where, struct error *error)
{
    char *at = out->text + (strncmp(out->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
    bool good = is_text(at, where, error) && read_names(out, &at, where, error);
    while (good && *at)
        good = read_line(out, &at, where, error);
    return good && (out->count > 0 || error_fail(error, "%s: it has no users", where));
}

/* All of it; NULL with the error. */
static char *read_file(const char *path, struct error *error)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        error_fail(error, "%s: %s", path, strerror(errno));
        return NULL;
    }
    char *text = memory_take(USERS_BYTES_MAX + 2);
    size_t length = fread(text, 1, USERS_BYTES_MAX + 1, file);
    bool bad = ferror(file) != 0;
    fclose(file);
    if (!bad && length <= USERS_BYTES_MAX)
        return text;
    error_fail(error, bad ? "%s cannot be read" : "%s is larger than 64 MiB", path);
    free(text);
    return NULL;
}

bool users_open(struct shop_users *out, const struct shop_asker *asker, struct error *error)
{
    const struct target *target = asker->target;
    const char *where = target->users_csv ? target->users_csv : "users, by a command";
    *out = (struct shop_users){.from = target->user_from};
    if (!target->users_csv && !target->users_command) {
        out->count = target->user_to - target->user_from + 1;
        out->names[out->columns++] = "user";
        return true;
    }
    out->text = target->users_csv ? read_file(where, error)
                                  : audit_run(asker, target->users_command, USERS_BYTES_MAX, error);
    if (!out->text && target->users_command)
        error_prefix(error, "%s", where);
    if (out->text && read_table(out, where, error))
        return true;
    users_close(out);
    return false;
}

void users_close(struct shop_users *users)
{
    free(users->text);
    free(users->cells);
    *users = (struct shop_users){0};
}

const char *users_value(const struct shop_users *users, int64_t index, const char *name,
                        char number[24])
{
    int64_t line = index % users->count;
    if (!users->text) {
        snprintf(number, 24, "%" PRId64, users->from + line);
        return strcmp(name, "user") == 0 ? number : NULL;
    }
    for (size_t i = 0; i < users->columns; i++) {
        if (strcmp(users->names[i], name) == 0)
            return users->cells[(size_t)line * users->columns + i];
    }
    return NULL;
}
