/* See play.h: records in a terminal, and as the data of the live page. */
#include "loadtest/zoo/play.h"

#include "loadtest/base/pool.h"
#include "loadtest/base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum {
    NUMBER_WIDTH = 4,
    CELL_LEAST = 24,
    CELL_MOST = 64,
    CELL_SIZE = 1024,
    ZOO_VERDICT_SIZE = 120
};

/* "2 sold of 1, 0 left": what the rows say. */
static void say_verdict(const struct zoo_books *books, bool zh, char out[ZOO_VERDICT_SIZE])
{
    int used = snprintf(out, ZOO_VERDICT_SIZE, zh ? "卖出 %d，库存原有 %d" : "%d sold of %d",
                        books->sold, books->stock);
    char *rest = out + used;
    size_t left = (size_t)(ZOO_VERDICT_SIZE - used);
    switch (zoo_end_of(books)) {
    case ZOO_LOST:
        snprintf(rest, left,
                 zh ? "，却有 %d 人收到“成功”：丢了一单"
                    : ", and %d were told yes: one order is lost",
                 books->told);
        return;
    case ZOO_STUCK:
        snprintf(rest, left, "%s",
                 zh ? "，锁没有租约：谁也买不了" : ", and the lock has no lease: nobody can buy");
        return;
    default:
        snprintf(rest, left, zh ? "，剩 %d" : ", %d left", books->left);
    }
}

/* An answer stays on one line: its blanks are these until they are printed. */
enum { UNBREAKABLE = '\x01' };

static void bind_answer(char *text)
{
    for (char *at = strstr(text, "→"); at && *at; at++) {
        if (*at == ' ')
            *at = UNBREAKABLE;
    }
}

/* How many bytes fit into a line of a cell, at a blank if there is one. */
static size_t fit(const char *text, int width)
{
    size_t at = 0, blank = 0;
    while (text[at] && text[at] != '\n') {
        if (text[at] == ' ')
            blank = at;
        size_t next = at + 1;
        while (((unsigned char)text[next] & 0xC0) == 0x80)
            next++;
        if (utf8_width(text, next) > width)
            return blank ? blank : at;
        at = next;
    }
    return at;
}

static int cell_width(const struct zoo_act *act, int columns)
{
    int width = (columns - NUMBER_WIDTH) / act->buyers - 2;
    return width < CELL_LEAST ? CELL_LEAST : width > CELL_MOST ? CELL_MOST : width;
}

/* As much as fits; returns what is left. */
static const char *print_line(FILE *to, const char *text, int width)
{
    const char *end = text + fit(text, width);
    for (; text < end; text++)
        fputc(*text == UNBREAKABLE ? ' ' : *text, to);
    fputc('\n', to);
    return end + strspn(end, " \n");
}

static void print_head(FILE *to, const struct zoo_exhibit *exhibit, const struct zoo_act *act,
                       int columns)
{
    int width = cell_width(act, columns);
    bool is_safe = act == &exhibit->safe;
    fprintf(to, is_safe ? "\nThe same with %s\n" : "%s: %s\n", act->strategy, exhibit->title.en);
    for (const char *text = act->story.en; *text;)
        text = print_line(to, text, columns);
    fprintf(to, "\nstock %d\n%*s", act->stock, NUMBER_WIDTH, "");
    for (int i = 0; i < act->buyers; i++)
        fprintf(to, "%c%*s", 'A' + i, i + 1 < act->buyers ? width + 1 : 0, "");
    fputc('\n', to);
}

static void cell_text(const json_t *step, char out[CELL_SIZE])
{
    *out = '\0';
    for (size_t i = 1; i < json_array_size(step); i++) {
        const char *kind = "", *text = "", *came = "";
        size_t used = strlen(out);
        json_unpack(json_array_get(step, i), "[sss]", &kind, &text, &came);
        bool is_note = *kind == 'n', has_come = *came && !is_note;
        snprintf(out + used, CELL_SIZE - used, "%s%s%s%s%s%s", i > 1 ? "\n" : "",
                 is_note        ? "("
                 : *kind == 'a' ? "is told "
                                : "",
                 text, has_come ? " → " : "", has_come ? came : "", is_note ? ")" : "");
        bind_answer(out + used);
    }
}

static void print_step(FILE *to, const struct zoo_record *record, size_t at, int columns)
{
    const json_t *step = json_array_get(record->steps, at);
    int width = cell_width(record->act, columns);
    char cell[CELL_SIZE], number[8];
    cell_text(step, cell);
    snprintf(number, sizeof number, "%zu", at + 1);
    for (const char *text = cell; *text;) {
        fprintf(to, "%-*s%*s", NUMBER_WIDTH, text == cell ? number : "",
                (int)json_integer_value(json_array_get(step, 0)) * (width + 2), "");
        text = print_line(to, text, width);
    }
}

void zoo_print_act(FILE *to, const struct zoo_exhibit *exhibit, const struct zoo_record *record,
                   bool whole, int columns)
{
    char verdict[ZOO_VERDICT_SIZE];
    print_head(to, exhibit, record->act, columns);
    for (size_t i = 0; i < json_array_size(record->steps); i++)
        print_step(to, record, i, columns);
    say_verdict(&record->books, false, verdict);
    if (whole)
        fprintf(to, "The rows say: %s\n", verdict);
}

/* --- the data of the live page: an object a strategy, each on a line, so that a change shows ---
 */

static json_t *record_json(const struct zoo_record *record)
{
    const struct zoo_act *act = record->act;
    char verdict[ZOO_VERDICT_SIZE], verdict_zh[ZOO_VERDICT_SIZE];
    say_verdict(&record->books, false, verdict);
    say_verdict(&record->books, true, verdict_zh);
    return json_pack("{s:s, s:s, s:s?, s:i, s:i, s:O, s:s, s:s}", "strategy", act->strategy,
                     "story", act->story.en, "story_zh", act->story.zh, "stock", act->stock,
                     "buyers", act->buyers, "rows", record->steps, "verdict", verdict, "verdict_zh",
                     verdict_zh);
}

static char *pair_json(const struct zoo_pair *pair)
{
    json_t *both = json_pack("{s:s, s:s?, s:o, s:o}", "title", pair->exhibit->title.en, "title_zh",
                             pair->exhibit->title.zh, "unsafe", record_json(&pair->unsafe), "safe",
                             record_json(&pair->safe));
    char *text = memory_need(json_dumps(both, JSON_COMPACT));
    json_decref(both);
    return text;
}

void zoo_print_json(FILE *to, const struct zoo_pair *pairs, size_t count)
{
    fputs("{\n", to);
    for (size_t i = 0; i < count; i++) {
        char *text = pair_json(&pairs[i]);
        fprintf(to, "\"%s\":%s%s\n", pairs[i].exhibit->unsafe.strategy, text,
                i + 1 < count ? "," : "");
        free(text);
    }
    fputs("}\n", to);
}
