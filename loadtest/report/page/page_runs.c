/* See page_runs.h. */
#include "loadtest/report/page/page_runs.h"

#include "loadtest/report/page/compare.h"
#include "loadtest/report/page/drawn.h"
#include "loadtest/report/page/page.h"
#include "loadtest/report/page/sentence.h"
#include "loadtest/report/page/tables.h"
#include "loadtest/report/page/unpaid.h"
#include "loadtest/report/page/words.h"

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
    sentence_write(to, &run->document);
    sentence_made(to, run->document.json);
    draw(to, "files", number);
    if (unpaid_is(&run->document))
        unpaid_section(to, &run->document);
    else
        tables_lines(to, &run->document);
    draw(to, "charts", number);
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
    const struct page_run run = {.name = "", .folder = folder, .document = *document};

    return page_write_runs(folder, &run, 1, error);
}
