/* See matrix_report.h: the terminal's form and Markdown's. */
#include "loadtest/report/matrix_report.h"

#include "base/clock.h"
#include "loadtest/faults/confidence.h"

#include <inttypes.h>
#include <string.h>

enum { LIST_BYTES = 400 };

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

static void list_violations(const struct cell *cell, char out[LIST_BYTES])
{
    size_t used = 0;
    *out = '\0';
    for (int i = 0; i < FINDING_KIND_COUNT && used < LIST_BYTES; i++) {
        if (cell->violations[i])
            used += (size_t)snprintf(out + used, LIST_BYTES - used, "%s%s %s %zu", used ? ", " : "",
                                     finding_invariant((enum finding_kind)i),
                                     finding_name((enum finding_kind)i), cell->violations[i]);
    }
    if (used == 0)
        snprintf(out, LIST_BYTES, "no violation");
}

static void say_times(const struct cell *cell, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "longest time without a sale %.2f s",
                                   (double)cell->longest_gap_us / 1e6);
    if (cell->first_after_us >= 0)
        snprintf(out + used, size - used, ", first sale after healing %.2f s",
                 (double)cell->first_after_us / 1e6);
    else
        snprintf(out + used, size - used, ", after a heal no sale came");
}

static void print_cell(FILE *to, const struct cell *cell)
{
    char says[120], violations[LIST_BYTES], times[120];
    enum cell_verdict verdict = cell_verdict(cell);
    if (verdict == CELL_OUTSIDE)
        return;
    confidence_say(cell->red, cell->runs, says, sizeof says);
    list_violations(cell, violations);
    say_times(cell, times, sizeof times);
    fprintf(to, "%s/%s: expected: %s; %s. Red in %s\n", cell->strategy.name, cell->fault->name,
            cell_expectation_name(cell->expected), cell_verdict_name(verdict), says);
    if (cell->invalid)
        fprintf(to, "    %zu more runs do not count\n", cell->invalid);
    if (*cell->shown.example)
        fprintf(to, "    seed %" PRId64 ": %s\n", cell->shown.seed, cell->shown.example);
    if (cell->runs)
        fprintf(to, "    %s; %s\n", violations, times);
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

/* What stands around the cells of a table, and how wide they are at least. */
struct marks {
    const char *begin, *row, *title, *title_end, *name, *name_end, *cell, *cell_end, *row_end, *end;
    const char *rule; /* each cell of the line below the titles; NULL: there is none */
    int width;
};

static const struct marks terminal = {.begin = "\n",
                                      .row = "",
                                      .title = "",
                                      .title_end = "",
                                      .name = "",
                                      .name_end = "",
                                      .cell = " ",
                                      .cell_end = "",
                                      .row_end = "\n",
                                      .end = "",
                                      .width = 20};
static const struct marks markdown = {.begin = "",
                                      .row = "|",
                                      .title = " ",
                                      .title_end = " |",
                                      .rule = " --- |",
                                      .name = " `",
                                      .name_end = "` |",
                                      .cell = " ",
                                      .cell_end = " |",
                                      .row_end = "\n",
                                      .end = ""};
static const struct marks html = {.begin = "<table>\n",
                                  .row = "<tr>",
                                  .title = "<td class=\"text\">",
                                  .title_end = "</td>",
                                  .name = "<td>",
                                  .name_end = "</td>",
                                  .cell = "<td class=\"text\">",
                                  .cell_end = "</td>",
                                  .row_end = "</tr>\n",
                                  .end = "</table>\n"};

static void print_titles(FILE *to, const struct matrix *matrix, const struct marks *marks)
{
    fprintf(to, "%s%s%-*s%s", marks->row, marks->title, marks->width, "strategy", marks->title_end);
    for (size_t i = 0; i < fault_count(); i++) {
        if (has_column(matrix, fault_at(i)))
            fprintf(to, "%s%-*s%s", marks->cell, marks->width, fault_at(i)->name, marks->cell_end);
    }
    fputs(marks->row_end, to);
}

static void print_row(FILE *to, const struct matrix *matrix, const struct marks *marks,
                      const char *strategy)
{
    fprintf(to, "%s%s%-*s%s", marks->row, marks->name, marks->width, strategy, marks->name_end);
    for (size_t i = 0; i < fault_count(); i++) {
        char text[40];
        if (!has_column(matrix, fault_at(i)))
            continue;
        say_short(matrix_find(matrix, strategy, fault_at(i)), text, sizeof text);
        fprintf(to, "%s%-*s%s", marks->cell, marks->width, text, marks->cell_end);
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
    print_titles(to, matrix, marks);
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

void matrix_print_table(FILE *to, const struct matrix *matrix, enum matrix_form form)
{
    print_table(to, matrix, form == MATRIX_HTML ? &html : &markdown);
}
