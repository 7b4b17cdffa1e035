/* See page.h. */
#include "loadtest/report/page/page.h"

#include "gen/page_html.h"
#include "loadtest/base/pool.h"
#include "loadtest/base/utf8.h"
#include "loadtest/report/files.h"

#include <stdlib.h>
#include <string.h>

static const char content[] = "<!--content-->", embedded[] = "<!--document-->";

/* The frame behind a marker, or with NULL from its begin, up to another, or its end. */
static void write_frame(FILE *to, const char *behind, const char *up_to)
{
    const char *at = (const char *)page_html, *end = at + page_html_length;
    if (behind)
        at = (char *)memmem(at, page_html_length, behind, strlen(behind)) + strlen(behind);
    if (up_to)
        end = memmem(at, (size_t)(end - at), up_to, strlen(up_to));
    fwrite(at, 1, (size_t)(end - at), to);
}

/* Within a script's element no text may look like its end, or like a comment's begin. */
static void write_json(FILE *to, const char *text)
{
    for (; *text; text++)
        if (*text == '<')
            fputs("\\u003c", to);
        else
            fputc(*text, to);
}

FILE *page_begin(const char *folder, struct error *error)
{
    FILE *page = files_create(folder, "report.html", error);
    if (page)
        write_frame(page, NULL, content);
    return page;
}

bool page_end(FILE *page, json_t *drawn, struct error *error)
{
    char *text = memory_need(json_dumps(drawn, JSON_COMPACT | JSON_REAL_PRECISION(10)));
    write_frame(page, content, embedded);
    write_json(page, text);
    write_frame(page, embedded, NULL);
    json_decref(drawn);
    free(text);
    return files_close(page, "report.html", error);
}

void page_add_file(json_t *files, const char *folder, const char *name)
{
    struct error ignored;
    char *text = NULL;
    size_t size = 0;
    FILE *to = memory_need(open_memstream(&text, &size));
    bool copied = folder && files_copy(folder, name, to, &ignored);

    fclose(to);
    if (copied)
        json_object_set_new(files, name, json_stringn(text, size));
    free(text);
}

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

void words_headers(FILE *to, const char *const names[][2], size_t count)
{
    fputs("<thead><tr>", to);
    for (size_t i = 0; i < count; i++) {
        /* Texts stand on their column's left, figures on its right. */
        bool text =
            strcmp(names[i][0], "verdict") == 0 || strcmp(names[i][0], "still right if") == 0;
        fputs(text ? "<th class=\"text\">" : "<th>", to);
        words_spans(to, names[i][0], names[i][1]);
        fputs("</th>\n", to);
    }
    fputs("</tr></thead>\n", to);
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
