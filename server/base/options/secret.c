/* See secret.h. */
#include "base/options/secret.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 4096 };

struct kept {
    struct kept *next;
    char text[];
};

/* A text that outlives where it came from, until the process ends. */
static const char *keep(const char *text, size_t length)
{
    static struct kept *all;
    struct kept *kept = malloc(sizeof *kept + length + 1);

    if (!kept)
        abort();
    kept->next = all;
    all = kept;
    memcpy(kept->text, text, length);
    kept->text[length] = '\0';
    return kept->text;
}

const char *secret_take_argument(char *argument)
{
    size_t length = strlen(argument);
    const char *kept = keep(argument, length);

    memset(argument, '*', length);
    return kept;
}

/* One line, with or without its end. An empty one is a file that was not filled: taken for a
 * setting that is left empty, it would open what the secret is to close. */
static const char *read_file(const char *name, const char *path, struct error *error)
{
    char text[FILE_MAX + 3];
    FILE *from = fopen(path, "r");
    size_t length = from ? fread(text, 1, sizeof text, from) : 0;
    bool read = from && !ferror(from);

    if (!read)
        error_set(error, ERROR_INVALID, "%s: \"%.200s\" cannot be read: %s", name, path,
                  strerror(errno));
    if (from)
        fclose(from);
    if (!read)
        return NULL;
    if (length > 0 && text[length - 1] == '\n')
        length--;
    if (length > 0 && text[length - 1] == '\r')
        length--;
    if (length == 0)
        error_set(error, ERROR_INVALID, "%s: \"%.200s\" is empty", name, path);
    else if (length > FILE_MAX || memchr(text, '\n', length) || memchr(text, '\0', length))
        error_set(error, ERROR_INVALID, "%s: \"%.200s\" is not one line of at most %d bytes", name,
                  path, FILE_MAX);
    else
        return keep(text, length);
    return NULL;
}

bool secret_find(const char *variable, char *(*environment)(const char *), const char **text,
                 char *name, size_t size, struct error *error)
{
    snprintf(name, size, "%s_FILE", variable);
    const char *path = environment(name);
    *text = environment(variable);
    if (path && *text)
        return error_set(error, ERROR_INVALID, "%s and %s exclude each other", variable, name);
    if (path) {
        *text = read_file(name, path, error);
        return *text != NULL;
    }
    snprintf(name, size, "%s", variable);
    return true;
}
