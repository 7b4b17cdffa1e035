/* See page_matrix.h. */
#include "loadtest/report/page/page_matrix.h"

#include "loadtest/report/matrix_report.h"
#include "loadtest/report/page/page.h"
#include "loadtest/report/page/words.h"

#include <inttypes.h>

static void content(FILE *to, const void *context)
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
    matrix_print_html(to, matrix);
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

bool page_write_matrix(const char *folder, const struct matrix *matrix, json_t *made,
                       struct error *error)
{
    json_t *files = json_object();
    page_add_file(files, folder, "faults.json");
    page_add_file(files, folder, "faults.md");
    json_object_set_new(made, "files", files);
    return page_write(folder, content, matrix, json_pack("[o]", made), error);
}
