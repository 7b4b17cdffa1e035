/* See words.h. */
#include "loadtest/report/html/words.h"

void words_spans(FILE *to, const char *english, const char *chinese)
{
    fprintf(to, "<span class=\"en\">%s</span><span class=\"zh\">%s</span>", english, chinese);
}

void words_both(FILE *to, const char *tag, const char *english, const char *chinese)
{
    fprintf(to, "<%s>", tag);
    words_spans(to, english, chinese);
    fprintf(to, "</%s>\n", tag);
}

void words_heading(FILE *to, const char *english, const char *chinese, const char *note_english,
                   const char *note_chinese)
{
    words_both(to, "h2", english, chinese);
    fputs("<p class=\"note\">", to);
    words_spans(to, note_english, note_chinese);
    fputs("</p>\n", to);
}

void words_headers(FILE *to, const char *const names[][2], size_t count)
{
    fputs("<tr>", to);
    for (size_t i = 0; i < count; i++)
        words_both(to, "th", names[i][0], names[i][1]);
    fputs("</tr>\n", to);
}
