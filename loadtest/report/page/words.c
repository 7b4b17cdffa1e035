/* See words.h. */
#include "loadtest/report/page/words.h"

#include "loadtest/base/utf8.h"

#include <string.h>

/* The length of the character at `at` when a document may have it; 0: it may not. */
static size_t character(const char *at, size_t left)
{
    static const char *const no_characters[] = {"\xef\xbf\xbe", "\xef\xbf\xbf"};
    for (size_t i = 0; i < 2; i++)
        if (strncmp(at, no_characters[i], 3) == 0)
            return 0;
    return (unsigned char)*at >= 0x20 || *at == '\t' || *at == '\n' ? utf8_sequence(at, left) : 0;
}

void words_text(FILE *to, const char *text)
{
    static const char special[] = "<>&\"'\n\t";
    static const char *const names[] = {"&lt;",  "&gt;",  "&amp;", "&quot;",
                                        "&#39;", "&#10;", "&#9;"};
    size_t left = text ? strlen(text) : 0;
    while (left > 0) {
        size_t length = character(text, left);
        const char *found = length == 1 ? strchr(special, *text) : NULL;
        if (length == 0)
            fputs("\xef\xbf\xbd", to);
        else if (found)
            fputs(names[found - special], to);
        else
            fwrite(text, 1, length, to);
        text += length ? length : 1;
        left -= length ? length : 1;
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
    return strcmp(english, "verdict") == 0 || strcmp(english, "still right if") == 0;
}

void words_headers(FILE *to, const char *const names[][2], size_t count)
{
    fputs("<thead><tr>", to);
    for (size_t i = 0; i < count; i++) {
        fputs(is_text(names[i][0]) ? "<th class=\"text\">" : "<th>", to);
        words_spans(to, names[i][0], names[i][1]);
        fputs("</th>\n", to);
    }
    fputs("</tr></thead>\n", to);
}

/* What it did, and that no promise of its own forbids it. */
static void unsafe(FILE *to, const struct line *line)
{
    bool one = line->promise.one_instance;
    if (line->oversold > 0)
        words_spans(to, "oversold", "超卖");
    else if (line->lost_updates > 0)
        words_spans(to, "lost updates", "丢失更新");
    else
        words_spans(to, "wrong", "出错");
    words_spans(to, one ? " (it promises one instance)" : " (it promises nothing)",
                one ? "（它只承诺一个实例）" : "（它什么也没承诺）");
}

void words_verdict(FILE *to, const struct line *line, enum verdict shown)
{
    static const char *const chinese[] = {
        [VERDICT_KEPT] = "守住承诺",
        [VERDICT_PROVED_NOTHING] = "什么也没证明",
        [VERDICT_NO_RUN] = "没有跑成",
        [VERDICT_BROKEN] = "违背承诺",
    };
    bool limited = shown == VERDICT_KEPT && line->class != LINE_SAFE;
    fprintf(to, "<td class=\"text verdict %s\">",
            line_class_name(limited ? LINE_CARE : words_verdict_class(shown)));
    if (shown == VERDICT_UNSAFE)
        unsafe(to, line);
    else if (limited)
        words_spans(to, verdict_in_words(shown, &line->promise),
                    !line->promise.many_instances  ? "守住承诺（仅一个实例）"
                    : !line->promise.paused_holder ? "守住承诺（停顿时除外）"
                                                   : "守住承诺（无故障切换）");
    else
        words_spans(to, verdict_name(shown), chinese[shown]);
    fputs("</td>", to);
}

void words_right_if(FILE *to, const struct line *line)
{
    const struct promise *promise = &line->promise;
    const char *chinese = !promise->one_instance                              ? "从不"
                          : !promise->many_instances                          ? "只有一个实例"
                          : promise->paused_holder && promise->redis_failover ? "无论发生什么"
                          : promise->paused_holder                            ? "没有故障切换"
                          : promise->redis_failover                           ? "没有停顿"
                                                    : "没有停顿和故障切换";
    fprintf(to, "<td class=\"text %s\">", line_class_name(line->class));
    words_spans(to, promise_right_if(promise), chinese);
    fputs("</td>", to);
}

enum line_class words_verdict_class(enum verdict verdict)
{
    if (verdict == VERDICT_KEPT)
        return LINE_SAFE;
    return verdict == VERDICT_UNSAFE || verdict == VERDICT_BROKEN ? LINE_BAD : LINE_CARE;
}

/* A sweep asks how fast, and has no stock that could show what a strategy is worth. */
enum verdict words_shown(const struct document *document, const struct line *line)
{
    bool bad = line->verdict == VERDICT_BROKEN || line->verdict == VERDICT_NO_RUN;
    return document->over && !bad ? VERDICT_KEPT : line->verdict;
}
