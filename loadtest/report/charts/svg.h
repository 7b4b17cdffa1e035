/* Writing SVG: what every chart begins with, and its texts. A text may be shown in the reader's
 * language alone. */
#ifndef SECKILL_LOADTEST_REPORT_CHARTS_SVG_H
#define SECKILL_LOADTEST_REPORT_CHARTS_SVG_H

#include "loadtest/report/charts/axis.h"

#include <stdio.h>

/* `more` stands within the opening tag. The titles are read out where nothing is seen. */
void svg_begin(FILE *to, int width, int height, const char *more, const char *english,
               const char *chinese);
void svg_end(FILE *to);

/* Text with what HTML and XML would take for their own replaced; what no XML may have is left out.
 * NULL is no text. */
void svg_text(FILE *to, const char *text);
/* The same of a name that has little room: what is longer than 20 bytes ends with "…". */
void svg_name(FILE *to, const char *name);

/* A small text; `anchor` is start, middle or end, `colour` a variable of the page's style. It is
 * left open: the caller writes the text, and svg_label_end. */
void svg_label(FILE *to, double x, double y, const char *anchor, const char *colour);
void svg_label_end(FILE *to);
/* Within a text of SVG or HTML: one of the two is shown. */
void svg_both(FILE *to, const char *english, const char *chinese);

/* Lines across at each tick of an upright axis, from x1 to x2, and the figures left of them. */
void svg_grid_across(FILE *to, const struct axis *axis, double x1, double x2);
/* Lines down at each tick, from y1 to y2, and the figures at `y`. */
void svg_grid_down(FILE *to, const struct axis *axis, double y1, double y2, double y);

#endif
