/* See svg.h. */
#include "loadtest/report/charts/svg.h"

#include <string.h>

enum { NAME_BYTES = 20 };

void svg_text(FILE *to, const char *text)
{
    for (; text && *text; text++) {
        unsigned char c = (unsigned char)*text;
        switch (c) {
        case '<':
            fputs("&lt;", to);
            break;
        case '>':
            fputs("&gt;", to);
            break;
        case '&':
            fputs("&amp;", to);
            break;
        case '"':
            fputs("&quot;", to);
            break;
        case '\'':
            fputs("&#39;", to);
            break;
        default:
            if (c >= 0x20 || c == '\t' || c == '\n')
                fputc(c, to);
        }
    }
}

void svg_name(FILE *to, const char *name)
{
    char cut[NAME_BYTES + 1];
    size_t length = strnlen(name, NAME_BYTES + 1);

    if (length > NAME_BYTES) {
        /* Not within a character: those that follow its first byte begin with the bits 10. */
        for (length = NAME_BYTES - 1; length > 0 && (name[length] & 0xc0) == 0x80;)
            length--;
        snprintf(cut, sizeof cut, "%.*s", (int)length, name);
        svg_text(to, cut);
        fputs("…", to);
        return;
    }
    svg_text(to, name);
}

void svg_begin(FILE *to, int width, int height, const char *more, const char *english,
               const char *chinese)
{
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\""
            " font-family=\"system-ui, sans-serif\" font-size=\"12\"%s>\n<title>",
            width, height, more);
    svg_text(to, english);
    fputs(" · ", to);
    svg_text(to, chinese);
    fputs("</title>\n", to);
}

void svg_end(FILE *to)
{
    fputs("</svg>\n", to);
}

void svg_label(FILE *to, double x, double y, const char *anchor, const char *colour)
{
    fprintf(to,
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"10\""
            " style=\"fill:var(--%s)\">",
            x, y, anchor, colour);
}

void svg_label_end(FILE *to)
{
    fputs("</text>\n", to);
}

void svg_both(FILE *to, const char *english, const char *chinese)
{
    fprintf(to, "<tspan class=\"en\">%s</tspan><tspan class=\"zh\">%s</tspan>", english, chinese);
}

static void tick_text(FILE *to, double tick)
{
    if (tick >= 1e6)
        fprintf(to, "%gM", tick / 1e6);
    else
        fprintf(to, "%.*f", axis_decimals(tick), tick);
}

static void tick_line(FILE *to, double x1, double y1, double x2, double y2)
{
    fprintf(to, "<path d=\"M%.1f %.1fL%.1f %.1f\" style=\"stroke:var(--line);fill:none\"/>", x1, y1,
            x2, y2);
}

void svg_grid_across(FILE *to, const struct axis *axis, double x1, double x2)
{
    double ticks[AXIS_TICKS];
    size_t count = axis_ticks(axis, ticks);
    for (size_t i = 0; i < count; i++) {
        double y = axis_place(axis, ticks[i]);
        tick_line(to, x1, y, x2, y);
        svg_label(to, x1 - 4, y + 3.5, "end", "faint");
        tick_text(to, ticks[i]);
        svg_label_end(to);
    }
}

void svg_grid_down(FILE *to, const struct axis *axis, double y1, double y2, double y)
{
    double ticks[AXIS_TICKS];
    size_t count = axis_ticks(axis, ticks);
    for (size_t i = 0; i < count; i++) {
        double x = axis_place(axis, ticks[i]);
        tick_line(to, x, y1, x, y2);
        svg_label(to, x, y, "middle", "faint");
        tick_text(to, ticks[i]);
        svg_label_end(to);
    }
}
