/* See words.h. */
#include "loadtest/report/page/words.h"

#include <string.h>

void words_text(FILE *to, const char *text)
{
    static const char special[] = "<>&\"'";
    static const char *const names[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
    for (; text && *text; text++) {
        const char *found = strchr(special, *text);
        if (found)
            fputs(names[found - special], to);
        else if ((unsigned char)*text >= 0x20 || *text == '\t' || *text == '\n')
            fputc(*text, to);
    }
}

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

/* Whether the column has texts, which stand on its left; figures stand on its right. */
static bool is_text(const char *english)
{
    return strcmp(english, "verdict") == 0;
}

void words_headers(FILE *to, const char *const names[][2], size_t count)
{
    fputs("<tr>", to);
    for (size_t i = 0; i < count; i++) {
        fputs(is_text(names[i][0]) ? "<th class=\"text\">" : "<th>", to);
        words_spans(to, names[i][0], names[i][1]);
        fputs("</th>\n", to);
    }
    fputs("</tr>\n", to);
}

void words_verdict(FILE *to, enum verdict verdict)
{
    static const char *const chinese[] = {
        [VERDICT_KEPT] = "守住承诺",
        [VERDICT_PROVED_NOTHING] = "什么也没证明",
        [VERDICT_UNSAFE] = "不安全，与声明一致",
        [VERDICT_NO_RUN] = "没有跑成",
        [VERDICT_BROKEN] = "违背承诺",
    };
    words_spans(to, verdict_name(verdict), chinese[verdict]);
}

enum line_class words_verdict_class(enum verdict verdict)
{
    if (verdict == VERDICT_KEPT)
        return LINE_SAFE;
    return verdict == VERDICT_UNSAFE || verdict == VERDICT_BROKEN ? LINE_BAD : LINE_CARE;
}

const char *words_sign(enum line_class class)
{
    static const char *const signs[] = {[LINE_SAFE] = "✓", [LINE_CARE] = "△", [LINE_BAD] = "✗"};
    return signs[class];
}
