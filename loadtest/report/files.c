/* See files.h. */
#include "loadtest/report/files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static bool make_path(char *path, bool *made, struct error *error)
{
    for (char *slash = path; slash;) {
        slash = strchr(slash + 1, '/');
        if (slash)
            *slash = '\0';
        *made = mkdir(path, 0755) == 0;
        if (!*made && errno != EEXIST)
            return error_fail(error, "--out: cannot make %s: %s", path, strerror(errno));
        if (slash)
            *slash = '/';
    }
    return true;
}

bool files_make_folder(const char *wanted, char *out, size_t size, bool *made, struct error *error)
{
    if (*wanted) {
        snprintf(out, size, "%s", wanted);
    } else {
        time_t now = time(NULL);
        struct tm parts;
        char stamp[32];
        strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", localtime_r(&now, &parts));
        snprintf(out, size, "results/%s", stamp);
    }
    return make_path(out, made, error);
}

FILE *files_create(const char *folder, const char *name, struct error *error)
{
    char path[FILES_PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file)
        error_fail(error, "cannot write %s: %s", path, strerror(errno));
    return file;
}

json_t *files_read_json(const char *path, const char *name, char file[FILES_PATH_MAX],
                        struct error *error)
{
    struct stat about;
    json_error_t wrong;

    bool folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
    snprintf(file, FILES_PATH_MAX, "%s%s%s", path, folder ? "/" : "", folder ? name : "");
    if (stat(file, &about) != 0) {
        error_fail(error, "%s: %s", file, strerror(errno));
        return NULL;
    }
    json_t *json = json_load_file(file, 0, &wrong);
    if (!json)
        error_fail(error, "%s: line %d: %s", file, wrong.line, wrong.text);
    return json;
}

bool files_copy(const char *folder, const char *name, FILE *to, struct error *error)
{
    char path[FILES_PATH_MAX], piece[4096];
    size_t got = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *from = fopen(path, "r");
    if (!from)
        return error_fail(error, "cannot read %s: %s", path, strerror(errno));
    do {
        got = fread(piece, 1, sizeof piece, from);
        fwrite(piece, 1, got, to);
    } while (got == sizeof piece);
    bool copied = !ferror(from) && fflush(to) == 0 && !ferror(to);
    fclose(from);
    return copied || error_fail(error, "cannot copy %s", path);
}

bool files_close(FILE *file, const char *name, struct error *error)
{
    bool written = !ferror(file);
    written = fclose(file) == 0 && written;
    return written || error_fail(error, "cannot write %s", name);
}

bool files_write_json(const char *folder, const char *name, json_t *json, struct error *error)
{
    if (!json)
        return error_fail(error, "%s: out of memory", name);
    FILE *file = files_create(folder, name, error);
    bool written = file && json_dumpf(json, file, FILES_JSON) == 0;
    json_decref(json);
    if (!file)
        return false;
    fputc('\n', file);
    return files_close(file, name, error) &&
           (written || error_fail(error, "cannot write %s", name));
}
