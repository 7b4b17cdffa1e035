/* See matrix_report.h: the matrix for a terminal, in Markdown and in HTML, faults.json, and the
 * files. */
#include "loadtest/report/matrix_report.h"

#include "loadtest/report/files.h"
#include "loadtest/report/page/page.h"
#include "loadtest/report/results.h"

#include <inttypes.h>
#include <string.h>

/* Whether it is the first of its strategy. */
static bool begins_row(const struct matrix *matrix, size_t i)
{
    for (size_t j = 0; j < i; j++) {
        if (strcmp(matrix->cells[j].strategy.name, matrix->cells[i].strategy.name) == 0)
            return false;
    }
    return true;
}

static bool has_column(const struct matrix *matrix, const struct fault *fault)
{
    for (size_t i = 0; i < matrix->count; i++) {
        if (matrix->cells[i].fault == fault)
            return true;
    }
    return false;
}

/* "2/3 RED", "0/3", "-". */
static void say_short(const struct cell *cell, char *out, size_t size)
{
    enum cell_verdict verdict = cell ? cell_verdict(cell) : CELL_OUTSIDE;
    const char *end = cell && cell->expected == CELL_BREAKS ? " *" : "";
    if (!cell || verdict == CELL_OUTSIDE)
        snprintf(out, size, "-");
    else if (verdict == CELL_INVALID)
        snprintf(out, size, "INVALID%s", end);
    else
        snprintf(out, size, "%zu/%zu %s%s", cell->red, cell->runs,
                 verdict == CELL_CONTRADICTED ? "CONTRADICTED"
                 : cell->red > 0              ? "red"
                 : verdict == CELL_HELD       ? "held"
                                              : "not seen",
                 end);
}

/* Its violations, and its times. */
static void print_found(FILE *to, const struct cell *cell)
{
    const char *before = "    ";
    for (int i = 0; i < FINDING_KIND_COUNT; i++) {
        if (cell->violations[i] == 0)
            continue;
        fprintf(to, "%s%s %s %zu", before, finding_invariant((enum finding_kind)i),
                finding_name((enum finding_kind)i), cell->violations[i]);
        before = ", ";
    }
    fprintf(to, "%s; longest time without a sale %.2f s, ",
            *before == ',' ? "" : "    no violation", (double)cell->longest_gap_us / 1e6);
    if (cell->first_after_us >= 0)
        fprintf(to, "first sale after healing %.2f s\n", (double)cell->first_after_us / 1e6);
    else
        fputs("after a heal no sale came\n", to);
}

static void print_cell(FILE *to, const struct cell *cell)
{
    char says[120];
    enum cell_verdict verdict = cell_verdict(cell);
    if (verdict == CELL_OUTSIDE)
        return;
    confidence_say(cell->red, cell->runs, says, sizeof says);
    fprintf(to, "%s/%s: expected: %s; %s. Red in %s\n", cell->strategy.name, cell->fault->name,
            cell_expectation_name(cell->expected), cell_verdict_name(verdict), says);
    if (cell->invalid)
        fprintf(to, "    %zu more runs do not count\n", cell->invalid);
    if (*cell->shown.example)
        fprintf(to, "    seed %" PRId64 ": %s\n", cell->shown.seed, cell->shown.example);
    if (cell->runs)
        print_found(to, cell);
    fprintf(to, "    %s\n", cell->shown.evidence);
}

/* "hold is proven: redis-setnx broke, as it has to (3 of 3 runs)". */
static void say_what_is_proven(FILE *to, const struct matrix *matrix, const struct fault *fault)
{
    if (!matrix_proves(matrix, fault)) {
        fprintf(to, "%s proves nothing: none of its controls was seen to fail in this matrix (",
                fault->name);
        for (const char *const *control = fault->controls; *control; control++)
            fprintf(to, "%s%s", *control, control[1] || fault->own ? ", " : "");
        fprintf(to, "%s)\n", fault->own ? fault->own->name : "");
        return;
    }
    for (size_t i = 0; i < matrix->count; i++) {
        const struct cell *cell = &matrix->cells[i];
        if (cell->fault == fault && cell->red > 0 && fault_has_control(fault, cell->strategy.name))
            fprintf(to, "%s is proven: %s broke, as it has to (%zu of %zu runs)\n", fault->name,
                    cell->strategy.name, cell->red, cell->runs);
    }
}

/* What stands around the cells of a table, on both sides of each, and how wide they are at least.
 */
struct marks {
    const char *begin, *row, *title[2], *name[2], *cell[2], *row_end, *end;
    const char *rule; /* each cell of the line below the titles; NULL: there is none */
    int width;
};

static const struct marks
    terminal = {"\n", "", {"", ""}, {"", ""}, {" ", ""}, "\n", "", NULL, 20},
    markdown = {"", "|", {" ", " |"}, {" `", "` |"}, {" ", " |"}, "\n", "", " --- |", 0},
    html = {"<table>\n",
            "<tr>",
            {"<td class=\"text\">", "</td>"},
            {"<td>", "</td>"},
            {"<td class=\"text\">", "</td>"},
            "</tr>\n",
            "</table>\n",
            NULL,
            0};

static void put(FILE *to, const struct marks *marks, const char *const around[2], const char *text)
{
    fprintf(to, "%s%-*s%s", around[0], marks->width, text, around[1]);
}

/* `strategy` NULL: the titles. */
static void print_row(FILE *to, const struct matrix *matrix, const struct marks *marks,
                      const char *strategy)
{
    fputs(marks->row, to);
    put(to, marks, strategy ? marks->name : marks->title, strategy ? strategy : "strategy");
    for (size_t i = 0; i < fault_count(); i++) {
        char text[40];
        if (!has_column(matrix, fault_at(i)))
            continue;
        if (strategy)
            say_short(matrix_find(matrix, strategy, fault_at(i)), text, sizeof text);
        put(to, marks, marks->cell, strategy ? text : fault_at(i)->name);
    }
    fputs(marks->row_end, to);
}

static void print_rule(FILE *to, const struct matrix *matrix, const char *cell)
{
    fprintf(to, "|%s", cell);
    for (size_t i = 0; i < fault_count(); i++)
        fputs(has_column(matrix, fault_at(i)) ? cell : "", to);
    fputc('\n', to);
}

static void print_table(FILE *to, const struct matrix *matrix, const struct marks *marks)
{
    fputs(marks->begin, to);
    print_row(to, matrix, marks, NULL);
    if (marks->rule)
        print_rule(to, matrix, marks->rule);
    for (size_t i = 0; i < matrix->count; i++) {
        if (begins_row(matrix, i))
            print_row(to, matrix, marks, matrix->cells[i].strategy.name);
    }
    fputs(marks->end, to);
}

void matrix_print(FILE *to, const struct matrix *matrix)
{
    print_table(to, matrix, &terminal);
    fputs("\nred runs / runs; held: promised, and never red; *: the column's control, known to "
          "fail; -: not concerned, or not run\n\n",
          to);
    for (size_t i = 0; i < matrix->count; i++)
        print_cell(to, &matrix->cells[i]);
    for (size_t i = 0; i < fault_count(); i++) {
        if (has_column(matrix, fault_at(i)))
            say_what_is_proven(to, matrix, fault_at(i));
    }
}

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
        cell_verdict_name(cell_verdict(cell)), "runs", cell->runs, "red", cell->red, "not_counted",
        cell->invalid, "seeds", seeds_json(cell), "violations", violations_json(cell),
        "red_share_least", bounds.least, "red_share_most", bounds.most, "says", says,
        "longest_gap_us", cell->longest_gap_us, "first_after_heal_us", cell->first_after_us, "seed",
        cell->shown.seed, "evidence", cell->shown.evidence, "example", cell->shown.example,
        "timeline", sales_json(&cell->shown.sales));
}

json_t *matrix_made_on(const struct machine *machine)
{
    return json_pack("{so so}", "machine", results_json_machine(machine), "versions",
                     results_json_versions(machine));
}

static json_t *matrix_json(const struct matrix *matrix)
{
    json_t *cells = json_array();
    for (size_t i = 0; i < matrix->count; i++)
        json_array_append_new(cells, cell_json(&matrix->cells[i]));
    return json_pack("{sI sI sI sb sO so}", "seed", matrix->seed, "runs", matrix->runs, "joined",
                     matrix->joined, "as_expected", matrix_status(matrix) == 0, "made_on",
                     matrix->made_on, "cells", cells);
}

static void write_content(FILE *to, const struct matrix *matrix)
{
    fputs("<div data-draw=\"files\"></div><p class=\"note\">", to);
    if (matrix->joined > 0) {
        fprintf(to, "%zu ", matrix->joined);
        words_spans(to, "matrices in one", "份矩阵合并");
    } else {
        fprintf(to, "seed %" PRId64, matrix->seed);
    }
    fputs("</p>\n<div class=\"scroll\">", to);
    print_table(to, matrix, &html);
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

/* report.html has the matrix, and drawn by the script what was found in each cell, with a timeline
 * of its sales and the fault shaded. */
bool matrix_write(const char *folder, const struct matrix *matrix, struct error *error)
{
    bool written = files_write_json(folder, "faults.json", matrix_json(matrix), error);
    FILE *file = written ? files_create(folder, "faults.md", error) : NULL;
    if (file)
        print_table(file, matrix, &markdown);
    if (!file || !files_close(file, "faults.md", error))
        return false;
    FILE *page = page_begin(folder, error);
    if (!page)
        return false;
    json_t *files = json_object();
    page_add_file(files, folder, "faults.json");
    page_add_file(files, folder, "faults.md");
    write_content(page, matrix);
    return page_end(page, json_pack("[{so}]", "files", files), error);
}
