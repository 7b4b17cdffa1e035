/*
 * `report`: report.html of one run or sweep, or of several beside each other. What cannot be read
 * is named, and nothing is written then.
 */
#include "loadtest/commands/commands.h"

#include "base/error.h"
#include "loadtest/base/pool.h"
#include "loadtest/base/process.h"
#include "loadtest/report/files.h"
#include "loadtest/report/page/page.h"

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
    for (; length > 1 && length < PATH_BYTES && out[length - 1] == '/'; length--)
        out[length - 1] = '\0';
    return length < PATH_BYTES || error_fail(error, "%.60s…: too long", path);
}

/* Names are what the folders do not have in common: no page tells where its sender keeps files. */
static void name_runs(struct page_run *runs, char folders[][PATH_BYTES], size_t count)
{
    size_t shared = strlen(folders[0]);
    for (size_t i = 1; i < count; i++)
        while (strncmp(folders[i], folders[0], shared) != 0)
            shared--;
    while (shared > 0 && folders[0][shared - 1] != '/')
        shared--;
    for (size_t i = 0; i < count; i++)
        runs[i].name = folders[i] + shared;
}

static bool read_all(const struct report_options *options, struct page_run *runs,
                     char folders[][PATH_BYTES], struct error *error)
{
    const struct option_list *chosen = &options->strategies;
    const struct option_list *words = &options->shared.words;
    for (size_t i = 0; i < words->count; i++) {
        if (!document_read(words->items[i], &runs[i].document, error) ||
            !folder_of(words->items[i], folders[i], error))
            return false;
        runs[i].folder = folders[i];
        if (chosen->count > 0 && !document_choose(&runs[i].document, chosen, error))
            return error_prefix(error, "%s", words->items[i]);
    }
    name_runs(runs, folders, words->count);
    return true;
}

/* One run's beside its files; several runs' where --out says, or here. */
static bool write_page(const struct report_options *options, const struct page_run *runs,
                       struct error *error)
{
    size_t count = options->shared.words.count;
    const char *wanted = *options->shared.out ? options->shared.out
                         : count == 1         ? runs[0].folder
                                              : ".";
    char folder[PATH_BYTES];
    bool made;

    if (!files_make_folder(wanted, folder, sizeof folder, &made, error) ||
        !page_write_runs(folder, runs, count, error))
        return false;
    printf("%s/report.html\n", folder);
    return true;
}

int command_report(const struct report_options *options)
{
    struct error error;
    char folders[OPTION_LIST_MAX][PATH_BYTES];
    struct page_run *runs = memory_take(OPTION_LIST_MAX * sizeof *runs);

    bool made = read_all(options, runs, folders, &error);
    if (made)
        made = write_page(options, runs, &error);
    for (size_t i = 0; i < options->shared.words.count; i++)
        document_free(&runs[i].document);
    free(runs);
    return made ? 0 : process_fail(error.text);
}
