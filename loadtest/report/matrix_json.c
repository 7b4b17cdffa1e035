/* See matrix_report.h: faults.json, and the files. */
#include "loadtest/report/matrix_report.h"

#include "loadtest/faults/confidence.h"
#include "loadtest/report/files.h"
#include "loadtest/report/page/page.h"
#include "loadtest/report/results.h"

#include <inttypes.h>

static json_t *violations_json(const struct cell *cell)
{
    json_t *all = json_object();
    for (int i = 0; i < FINDING_KIND_COUNT; i++) {
        if (cell->violations[i])
            json_object_set_new(all, finding_name((enum finding_kind)i),
                                json_integer((json_int_t)cell->violations[i]));
    }
    return all;
}

static json_t *sales_json(const struct sales *sales)
{
    json_t *steps = json_array();
    json_t *shades = json_array();
    for (size_t i = 0; i < sales->count; i++)
        json_array_append_new(steps, json_integer(sales->steps[i]));
    for (size_t i = 0; i < sales->shades_count; i++)
        json_array_append_new(shades, json_pack("{sI sI}", "begin_us", sales->shades[i].begin_us,
                                                "heal_us", sales->shades[i].heal_us));
    return json_pack("{sI so so}", "step_us", (json_int_t)SALES_STEP_US, "sales", steps, "faults",
                     shades);
}

static json_t *seeds_json(const struct cell *cell)
{
    json_t *all = json_array();
    for (size_t i = 0; i < cell->seeds_count; i++)
        json_array_append_new(all, json_pack("[II]", cell->seeds[i].first, cell->seeds[i].last));
    return all;
}

static json_t *cell_json(const struct cell *cell)
{
    char says[120];
    struct confidence bounds = confidence_of(cell->red, cell->runs);
    confidence_say(cell->red, cell->runs, says, sizeof says);
    return json_pack(
        "{ss ss ss ss sI sI sI so so sf sf ss sI sI sI ss ss so}", "strategy", cell->strategy.name,
        "fault", cell->fault->name, "expected", cell_expectation_name(cell->expected), "verdict",
        cell_verdict_name(cell_verdict(cell)), "runs", (json_int_t)cell->runs, "red",
        (json_int_t)cell->red, "not_counted", (json_int_t)cell->invalid, "seeds", seeds_json(cell),
        "violations", violations_json(cell), "red_share_least", bounds.least, "red_share_most",
        bounds.most, "says", says, "longest_gap_us", (json_int_t)cell->longest_gap_us,
        "first_after_heal_us", (json_int_t)cell->first_after_us, "seed",
        (json_int_t)cell->shown.seed, "evidence", cell->shown.evidence, "example",
        cell->shown.example, "timeline", sales_json(&cell->shown.sales));
}

json_t *matrix_made_on(const struct machine *machine)
{
    return json_pack("{so so}", "machine", results_json_machine(machine), "versions",
                     results_json_versions(machine));
}

static json_t *matrix_json(const struct matrix *matrix, json_t *made_on)
{
    json_t *cells = json_array();
    for (size_t i = 0; i < matrix->count; i++)
        json_array_append_new(cells, cell_json(&matrix->cells[i]));
    return json_pack("{sI sI sI sb so so}", "seed", (json_int_t)matrix->seed, "runs",
                     (json_int_t)matrix->runs, "joined", (json_int_t)matrix->joined, "as_expected",
                     matrix_status(matrix) == 0, "made_on", made_on, "cells", cells);
}

static bool write_markdown(const char *folder, const struct matrix *matrix, struct error *error)
{
    FILE *file = files_create(folder, "faults.md", error);
    if (!file)
        return false;
    matrix_print_table(file, matrix, MATRIX_MARKDOWN);
    return files_close(file, "faults.md", error);
}

static void write_content(FILE *to, const void *context)
{
    const struct matrix *matrix = context;
    fputs("<div data-draw=\"files\"></div><p class=\"note\">", to);
    if (matrix->joined > 0) {
        fprintf(to, "%zu ", matrix->joined);
        words_spans(to, "matrices in one", "份矩阵合并");
    } else {
        fprintf(to, "seed %" PRId64, matrix->seed);
    }
    fputs("</p>\n<div class=\"scroll\">", to);
    matrix_print_table(to, matrix, MATRIX_HTML);
    fputs("</div>\n<p class=\"note\">", to);
    words_spans(
        to,
        "Red runs / runs. held: promised, and never red. *: the column's control, known to fail. "
        "Below: sales over time, of one run each; where it is shaded the fault was in force.",
        "出错的运行 / 全部运行。held：承诺过，且从未出错。*：该列的对照，已知会出错。"
        "下面是每格一次运行的成交时间线，阴影处故障正在发生。");
    fputs("</p>\n", to);
    fputs("<div data-draw=\"cells\"></div>\n", to);
}

/* report.html: the matrix, and drawn by the script what was found in each cell, with a timeline of
 * its sales and the fault shaded. `made` is its faults.json, and is taken. */
static bool write_page(const char *folder, const struct matrix *matrix, json_t *made,
                       struct error *error)
{
    json_t *files = json_object();
    page_add_file(files, folder, "faults.json");
    page_add_file(files, folder, "faults.md");
    json_object_set_new(made, "files", files);
    return page_write(folder, write_content, matrix, json_pack("[o]", made), error);
}

bool matrix_write(const char *folder, const struct matrix *matrix, json_t *made_on,
                  struct error *error)
{
    json_t *made = matrix_json(matrix, made_on);
    if (files_write_json(folder, "faults.json", json_incref(made), error) &&
        write_markdown(folder, matrix, error))
        return write_page(folder, matrix, made, error);
    json_decref(made);
    return false;
}
