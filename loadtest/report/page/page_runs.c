/* The page of runs (page.h). */
#include "loadtest/report/files.h"
#include "loadtest/report/page/page.h"
#include "loadtest/report/results.h"

#include <stdlib.h>
#include <string.h>

static json_t *answers_json(const struct answers *answers)
{
    json_t *all = json_object();
    for (int kind = 0; answers && kind < ANSWERS_KINDS; kind++)
        if (answers->kinds[kind].count > 0)
            json_object_set_new(all, answers_name(kind), open_results_steps(&answers->kinds[kind]));
    if (json_object_size(all) > 0)
        return all;
    json_decref(all);
    return NULL;
}

static json_t *line_json(const struct document *document, const struct line *line)
{
    const struct span *figures = line->figures;
    const struct span *rate = &figures[LINE_COMMITTED];
    bool best = document->over && document_mark(document, line) != LINE_LESS;
    return json_pack("{ss ss si sI sI ss s{sf sf sf} sf sf sf sf sI sI sI sb so*}", "strategy",
                     line->strategy, "body", line->body, "instances", line->instances, "value",
                     line->value, "rounds", (json_int_t)line->rounds, "class",
                     line_class_name(line->class), "committed_per_s", "median", rate->median,
                     "least", rate->least, "most", rate->most, "p50_ms", figures[LINE_P50].median,
                     "p90_ms", figures[LINE_P90].median, "p99_ms", figures[LINE_P99].median,
                     "max_ms", figures[LINE_LONGEST].median, "sold", line->sold, "stock",
                     line->stock, "oversold", line->oversold, "best", (int)best, "answers",
                     answers_json(line->answers));
}

/* Of the runs at a given rate, as the file has them. */
static json_t *schedules_json(const struct document *document)
{
    json_t *all = json_array();
    for (size_t i = 0; i < json_array_size(document->runs); i++) {
        const json_t *run = json_array_get(document->runs, i);
        const struct line *line = document_line_of(document, run);
        json_t *open = json_object_get(run, "open_loop");
        if (open && line)
            json_array_append_new(
                all, json_pack("{ss ss si sI sI sO}", "strategy", line->strategy, "body",
                               line->body, "instances", line->instances, "value", line->value,
                               "round", document_integer(run, "round"), "open_loop", open));
    }
    return all;
}

/* results.json as it was written, and the CSV files beside it. */
static json_t *files_json(const struct page_run *run)
{
    const char *over = run->document.over;
    json_t *all = json_object();
    char *text = json_dumps(run->document.json, FILES_JSON);
    page_add_file(all, run->folder,
                  !over                       ? "results.csv"
                  : strcmp(over, "rate") == 0 ? "capacity.csv"
                                              : "sweep.csv");
    if (document_has_open_loop(&run->document))
        page_add_file(all, run->folder, "arrivals.csv");
    json_object_set_new(all, "results.json", json_sprintf("%s\n", text ? text : ""));
    free(text);
    return all;
}

/* What the script draws of a run: its lines with their latencies, its schedules, what it was made
 * on, and its files to take out again. NULL: out of memory. */
static json_t *drawn_of(const struct page_run *run)
{
    const struct document *document = &run->document;
    static const char *const members[] = {"machine", "versions", "settings", "seed", "capacity"};
    json_t *lines = json_array(), *said = json_string(run->name);
    if (!said) /* a folder's name may be anything */
        said = json_string("?");
    for (size_t i = 0; i < document->count; i++)
        json_array_append_new(lines, line_json(document, &document->lines[i]));
    json_t *drawn = json_pack("{so so so so ss* sb}", "name", said, "lines", lines, "files",
                              files_json(run), "schedules", schedules_json(document), "over",
                              document->over, "unpaid", (int)tables_are_unpaid(document));
    for (size_t i = 0; drawn && i < sizeof members / sizeof *members; i++)
        if (json_object_get(document->json, members[i]))
            json_object_set(drawn, members[i], json_object_get(document->json, members[i]));
    return drawn;
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
    sentence_write(to, &run->document);
    sentence_made(to, run->document.json);
    draw(to, "files", number);
    if (tables_are_unpaid(&run->document))
        tables_unpaid(to, &run->document);
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
