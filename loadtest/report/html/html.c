/* See html.h. The page's frame, with its style, is page.html. */
#include "loadtest/report/html/html.h"

#include "gen/page_html.h"
#include "loadtest/report/charts/svg.h"
#include "loadtest/report/files.h"
#include "loadtest/report/html/compare.h"
#include "loadtest/report/html/sections.h"

#include <ctype.h>
#include <string.h>

static const char marker[] = "<!--content-->";

/* As a URL wants it. */
static void link_to(FILE *to, const char *folder, const char *name)
{
    fputs("<a href=\"", to);
    for (const char *at = folder; *at; at++) {
        if (isalnum((unsigned char)*at) || strchr("/._-~", *at))
            fputc(*at, to);
        else
            fprintf(to, "%%%02X", (unsigned char)*at);
    }
    fprintf(to, "%s\">%s</a>", name, name);
}

static void links(FILE *to, const struct html_run *run)
{
    if (!run->link)
        return;
    fputs("<p class=\"note\">", to);
    const char *over = run->document.over;
    link_to(to, run->link,
            !over                       ? "results.csv"
            : strcmp(over, "rate") == 0 ? "capacity.csv"
                                        : "sweep.csv");
    fputs(" · ", to);
    link_to(to, run->link, "results.json");
    if (document_has_open_loop(&run->document)) {
        fputs(" · ", to);
        link_to(to, run->link, "arrivals.csv");
    }
    fputs("</p>\n", to);
}

struct runs {
    const struct html_run *items;
    size_t count;
};

static void content(FILE *to, const void *context)
{
    const struct html_run *runs = ((const struct runs *)context)->items;
    size_t count = ((const struct runs *)context)->count;

    if (count > 1)
        compare_write(to, runs, count);
    for (size_t i = 0; i < count; i++) {
        if (count > 1) {
            fputs("<h2 class=\"run\">", to);
            svg_text(to, runs[i].name);
            fputs("</h2>\n", to);
        }
        links(to, &runs[i]);
        sections_write(to, &runs[i].document);
    }
}

bool html_page(const char *folder, void (*write)(FILE *to, const void *context),
               const void *context, struct error *error)
{
    const char *page = (const char *)page_html;
    const char *at = memmem(page, page_html_length, marker, sizeof marker - 1);
    FILE *file = files_create(folder, "report.html", error);

    if (!file)
        return false;
    size_t before = (size_t)(at - page);
    size_t behind = before + sizeof marker - 1;
    fwrite(page, 1, before, file);
    write(file, context);
    fwrite(page + behind, 1, page_html_length - behind, file);
    return files_close(file, "report.html", error);
}

bool html_write(const char *folder, const struct html_run *runs, size_t count, struct error *error)
{
    const struct runs all = {runs, count};

    return html_page(folder, content, &all, error);
}

bool html_write_run(const char *folder, const struct document *document, struct error *error)
{
    const struct html_run run = {.name = folder, .link = "", .document = *document};

    return html_write(folder, &run, 1, error);
}
