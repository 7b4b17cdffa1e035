/*
 * `report`: report.html of one run or sweep, or of several beside each other. What cannot be read
 * is named, and nothing is written then.
 */
#include "loadtest/commands/commands.h"

#include "base/error.h"
#include "loadtest/base/process.h"
#include "loadtest/report/files.h"
#include "loadtest/report/page/page_runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 1000 };

/* The folder that a run's files are in, which may be named by its results.json. */
static bool folder_of(const char *path, char *out, struct error *error)
{
    struct stat about;
    const char *slash = strrchr(path, '/');
    bool is_file = stat(path, &about) == 0 && !S_ISDIR(about.st_mode);
    int length = snprintf(out, PATH_BYTES, "%s", path);

    if (is_file)
        length = slash ? snprintf(out, PATH_BYTES, "%.*s", (int)(slash - path), path)
                       : snprintf(out, PATH_BYTES, ".");
    return length < PATH_BYTES || error_fail(error, "%.60s…: too long", path);
}

static bool read_all(const struct report_options *options, struct page_run *runs,
                     struct error *error)
{
    const struct option_list *chosen = &options->strategies;
    for (size_t i = 0; i < options->shared.words.count; i++) {
        runs[i].name = options->shared.words.items[i];
        if (!document_read(options->shared.words.items[i], &runs[i].document, error))
            return false;
        if (chosen->count > 0 && !document_choose(&runs[i].document, chosen, error))
            return error_prefix(error, "%s", runs[i].name);
    }
    return true;
}

/* One run's beside its files; several runs' where --out says, or here: only the first two know the
 * way to the files. */
static bool write_page(const struct report_options *options, struct page_run *runs,
                       struct error *error)
{
    size_t count = options->shared.words.count;
    char folder[PATH_BYTES], beside[PATH_BYTES] = ".", links[OPTION_LIST_MAX][PATH_BYTES + 1];
    bool made;

    for (size_t i = 0; i < count && !*options->shared.out; i++) {
        if (!folder_of(options->shared.words.items[i], links[i], error))
            return false;
        if (count == 1) {
            memcpy(beside, links[i], sizeof beside);
            links[i][0] = '\0';
        } else {
            size_t length = strlen(links[i]);
            links[i][length] = '/';
            links[i][length + 1] = '\0';
        }
        runs[i].link = links[i];
    }
    if (!files_make_folder(*options->shared.out ? options->shared.out : beside, folder,
                           sizeof folder, &made, error) ||
        !page_write_runs(folder, runs, count, error))
        return false;
    printf("%s/report.html\n", folder);
    return true;
}

int command_report(const struct report_options *options)
{
    struct error error;
    struct page_run *runs = calloc(OPTION_LIST_MAX, sizeof *runs);

    if (!runs)
        return process_fail("out of memory");
    bool made = read_all(options, runs, &error);
    if (made)
        made = write_page(options, runs, &error);
    for (size_t i = 0; i < options->shared.words.count; i++)
        document_free(&runs[i].document);
    free(runs);
    return made ? 0 : process_fail(error.text);
}
