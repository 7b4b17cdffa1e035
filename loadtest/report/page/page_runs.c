/* See page_runs.h. */
#include "loadtest/report/page/page_runs.h"

#include "loadtest/report/page/compare.h"
#include "loadtest/report/page/drawn.h"
#include "loadtest/report/page/page.h"
#include "loadtest/report/page/tables.h"
#include "loadtest/report/page/unpaid.h"
#include "loadtest/report/page/words.h"

#include <ctype.h>
#include <string.h>

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

static void links(FILE *to, const struct page_run *run)
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
    const struct page_run *items;
    size_t count;
};

static void draw(FILE *to, const char *what, size_t run)
{
    fprintf(to, "<div data-draw=\"%s\" data-run=\"%zu\"></div>\n", what, run);
}

static void write_run(FILE *to, const struct page_run *run, size_t number)
{
    links(to, run);
    tables_verdicts(to, &run->document);
    draw(to, "charts", number);
    if (unpaid_is(&run->document))
        unpaid_section(to, &run->document);
    else
        tables_lines(to, &run->document);
    draw(to, "conditions", number);
}

static void content(FILE *to, const void *context)
{
    const struct runs *runs = context;

    if (runs->count > 1)
        compare_write(to, runs->items, runs->count);
    for (size_t i = 0; i < runs->count; i++) {
        if (runs->count > 1) {
            fputs("<h2 class=\"run\">", to);
            words_text(to, runs->items[i].name);
            fputs("</h2>\n", to);
        }
        write_run(to, &runs->items[i], i);
    }
}

bool page_write_runs(const char *folder, const struct page_run *runs, size_t count,
                     struct error *error)
{
    const struct runs all = {runs, count};
    json_t *drawn = json_array();

    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(drawn, drawn_of(&runs[i])) != 0) {
            json_decref(drawn);
            drawn = NULL;
        }
    return page_write(folder, content, &all, drawn, error);
}

bool page_write_run(const char *folder, const struct document *document, struct error *error)
{
    const struct page_run run = {.name = folder, .link = "", .document = *document};

    return page_write_runs(folder, &run, 1, error);
}
