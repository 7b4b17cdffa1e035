/* `report`: report.html of one run, or of several beside each other; or the picture alone. */
#include "loadtest/commands/commands.h"

#include "base/error.h"
#include "loadtest/base/process.h"
#include "loadtest/report/files.h"
#include "loadtest/report/html/chart.h"
#include "loadtest/report/html/html.h"

#include <stdio.h>
#include <stdlib.h>

static bool read_all(const struct option_list *folders, struct html_run *runs, struct error *error)
{
    for (size_t i = 0; i < folders->count; i++) {
        runs[i].name = folders->items[i];
        if (!found_read(folders->items[i], &runs[i].found, error))
            return false;
    }
    return true;
}

/* One run's beside its files; several runs' where --out says, or here. */
static const char *choose_folder(const struct options *options)
{
    if (*options->out)
        return options->out;
    return options->folders.count == 1 ? options->folders.items[0] : ".";
}

static bool write_page(const struct options *options, const struct html_run *runs,
                       struct error *error)
{
    char folder[1000];
    bool made;

    if (!files_make_folder(choose_folder(options), folder, sizeof folder, &made, error) ||
        !html_write(folder, runs, options->folders.count, error))
        return false;
    printf("%s/report.html\n", folder);
    return true;
}

int command_report(const struct options *options)
{
    struct error error;
    struct html_run *runs = calloc(OPTION_LIST_MAX, sizeof *runs);

    if (!runs)
        return process_fail("out of memory");
    bool made = read_all(&options->folders, runs, &error);
    if (made && options->picture)
        chart_alone(stdout, &runs[0].found);
    else if (made)
        made = write_page(options, runs, &error);
    for (size_t i = 0; i < options->folders.count; i++)
        found_free(&runs[i].found);
    free(runs);
    return made ? 0 : process_fail(error.text);
}
