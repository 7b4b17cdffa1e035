/* See page.h. Each part of the sentence is written once a language: its names go through
 * words_text. */
#include "loadtest/report/page/page.h"

#include "loadtest/crowd/crowd.h"

#include <inttypes.h>
#include <string.h>

enum { NAMED = 3 /* strategies; of more than so many their number is said */ };

struct sentence {
    FILE *to;
    const struct document *document;
    bool chinese;
};

static const char *pick(const struct sentence *its, const char *english, const char *chinese)
{
    return its->chinese ? chinese : english;
}

/* "1,676" */
static void figure(const struct sentence *its, int64_t figure)
{
    char text[HALL_FIGURE_SIZE];
    fputs(hall_figure(figure, text), its->to);
}

static void name(const struct sentence *its, const struct line *line)
{
    fputs("<b>", its->to);
    words_text(its->to, line->strategy);
    fprintf(its->to, "%s</b>", line_body_text(line));
}

/* How bad a strategy's line is: an oversold unit outweighs whatever else there is. */
static bool is_worse(const struct line *one, const struct line *other)
{
    if (one->verdict != other->verdict)
        return one->verdict > other->verdict;
    return one->oversold > other->oversold;
}

/* Of all lines of a strategy and a body the worst stands for it; whether this is the one. */
static bool stands_for_all(const struct document *document, const struct line *line)
{
    for (size_t i = 0; i < document->count; i++) {
        const struct line *other = &document->lines[i];
        if (other == line || strcmp(other->strategy, line->strategy) != 0 ||
            strcmp(other->body, line->body) != 0)
            continue;
        if (is_worse(other, line) || (other < line && !is_worse(line, other)))
            return false;
    }
    return true;
}

/* A strategy's line is told of by its verdict, or by this: it kept its promise, which no pause and
 * no failover ends. VERDICT_KEPT is a smaller one. */
enum { WHOLE = VERDICT_BROKEN + 1 };

static int state_of(const struct line *line)
{
    return line->verdict == VERDICT_KEPT && line->class == LINE_SAFE ? WHOLE : (int)line->verdict;
}

static size_t count_of(const struct document *document, int state)
{
    size_t count = 0;
    for (size_t i = 0; i < document->count; i++)
        count +=
            state_of(&document->lines[i]) == state && stands_for_all(document, &document->lines[i]);
    return count;
}

/* "none sold 1,676 of 100" */
static void wrong(const struct sentence *its, const struct line *line)
{
    name(its, line);
    if (line->instances > 1 && its->chinese)
        fprintf(its->to, "（%d 个实例）", line->instances);
    else if (line->instances > 1)
        fprintf(its->to, " with %d instances", line->instances);
    if (line->oversold > 0) {
        fputs(pick(its, " sold ", "卖出 "), its->to);
        figure(its, line->sold);
        fputs(pick(its, " of ", "，库存只有 "), its->to);
        figure(its, line->stock);
    } else if (line->lost_updates > 0) {
        fputs(pick(its, " lost ", "丢失更新 "), its->to);
        figure(its, line->lost_updates);
        fputs(pick(its, " updates", " 次"), its->to);
    } else {
        fputs(pick(its, " did what it must not", "做了不该做的事"), its->to);
    }
    if (line->verdict == VERDICT_BROKEN)
        fputs(pick(its, " and <b>broke its promise</b>", "，<b>违背了承诺</b>"), its->to);
}

/* A few of the strategies for which that is so, and what is to be said of each. */
static size_t list(const struct sentence *its, int state,
                   void (*say)(const struct sentence *its, const struct line *line))
{
    size_t all = count_of(its->document, state), said = 0;
    size_t shown = all > NAMED + 1 ? NAMED : all;
    for (size_t i = 0; i < its->document->count && said < shown; i++) {
        const struct line *line = &its->document->lines[i];
        if (state_of(line) != state || !stands_for_all(its->document, line))
            continue;
        say(its, line);
        said++;
        if (said < shown)
            fputs(its->chinese ? "、" : said + 1 < all ? ", " : " and ", its->to);
    }
    if (all > shown && its->chinese)
        fprintf(its->to, "等 %zu 种策略", all);
    else if (all > shown)
        fprintf(its->to, " and %zu others", all - shown);
    return all;
}

/* Every sentence ends so. */
static void end(const struct sentence *its)
{
    fputs(pick(its, ". ", "。"), its->to);
}

/* Names, and what is said of all of them; of what is wrong, what each did. */
static void names(const struct sentence *its, int state, const char *english, const char *chinese)
{
    if (list(its, state, state == VERDICT_BROKEN || state == VERDICT_UNSAFE ? wrong : name) == 0)
        return;
    fputs(pick(its, english, chinese), its->to);
    end(its);
}

/* "redis-queue 11 × conditional": the fastest that kept its promise. Lines are sorted by it. */
static void fastest(const struct sentence *its)
{
    const struct line *best = NULL;
    for (size_t i = 0; i < its->document->count; i++) {
        const struct line *line = &its->document->lines[i];
        if (state_of(line) != WHOLE || line->rounds == 0)
            continue;
        if (!best || line->figures[LINE_COMMITTED].median > best->figures[LINE_COMMITTED].median)
            best = line;
    }
    if (!best)
        return;
    const struct line *measure = document_conditional(its->document, best->instances);
    name(its, best);
    fputs(pick(its, " sold ", "每秒卖出 "), its->to);
    figure(its, (int64_t)(best->figures[LINE_COMMITTED].median + 0.5));
    fputs(pick(its, " a second", ""), its->to);
    if (measure && measure != best && measure->figures[LINE_COMMITTED].median > 0) {
        double times =
            best->figures[LINE_COMMITTED].median / measure->figures[LINE_COMMITTED].median;
        fputs(pick(its, ", ", "，是 "), its->to);
        fprintf(its->to, times < 9.95 ? "%.1f × " : "%.0f × ", times);
        name(its, measure);
    }
    end(its);
}

static void run(const struct sentence *its)
{
    names(its, VERDICT_BROKEN, "", "");
    names(its, VERDICT_UNSAFE, "", "");
    names(its, WHOLE,
          count_of(its->document, WHOLE) == 1 ? " kept its promise" : " kept their promise",
          "守住了承诺");
    names(its, VERDICT_KEPT, " kept a smaller promise (see “still right if”)",
          "守住了较小的承诺（见“何时仍正确”）");
    fastest(its);
    names(its, VERDICT_PROVED_NOTHING, " proved nothing", "什么也没证明");
}

/* "batch sells most with connections 64: 26,266 a second". */
static void swept(const struct sentence *its)
{
    const struct document *document = its->document;
    for (size_t i = 0; i < document->count; i++) {
        const struct line *line = &document->lines[i];
        if (line->rounds == 0 || document_mark(document, line) != LINE_BEST)
            continue;
        name(its, line);
        fputs(pick(its, " sells most with ", "最快的取值是 "), its->to);
        words_text(its->to, document->over);
        fputs(" ", its->to);
        figure(its, line->value);
        fputs(pick(its, ": ", "：每秒 "), its->to);
        figure(its, (int64_t)(line->figures[LINE_COMMITTED].median + 0.5));
        fputs(pick(its, " a second", ""), its->to);
        const char *before = pick(its, " (no difference is shown from ", "（看不出差别的还有 ");
        for (size_t j = 0; j < document->count; j++) {
            const struct line *other = &document->lines[j];
            if (strcmp(other->strategy, line->strategy) != 0 ||
                strcmp(other->body, line->body) != 0 ||
                document_mark(document, other) != LINE_LIKE_BEST)
                continue;
            fputs(before, its->to);
            figure(its, other->value);
            before = ", ";
        }
        fputs(*before == ',' ? pick(its, ")", "）") : "", its->to);
        end(its);
    }
}

/* "conditional holds 2,400 orders a second with p99<250ms". */
static void capacity(const struct sentence *its, const json_t *found)
{
    int64_t rate = document_integer(found, "rate_per_s");
    fputs("<b>", its->to);
    words_text(its->to, document_text(found, "strategy"));
    fputs(pick(its, rate > 0 ? "</b> holds " : "</b> held no rate of orders",
               rate > 0 ? "</b> 每秒可承受 " : "</b> 没有可承受的速率"),
          its->to);
    if (rate > 0) {
        figure(its, rate);
        fputs(pick(its, " orders a second", " 个订单"), its->to);
    }
    fputs(pick(its, " with ", "，条件是 "), its->to);
    words_text(its->to, document_text(found, "slo"));
    end(its);
}

static enum line_class class_of(const struct document *document)
{
    enum line_class worst = LINE_SAFE;
    for (size_t i = 0; i < document->count; i++) {
        enum line_class its = words_verdict_class(words_shown(document, &document->lines[i]));
        worst = its > worst ? its : worst;
    }
    return worst;
}

void sentence_write(FILE *to, const struct document *document)
{
    const json_t *found = json_object_get(document->json, "capacity");
    fprintf(to, "<p class=\"banner %s\">", line_class_name(class_of(document)));
    for (int chinese = 0; chinese <= 1; chinese++) {
        const struct sentence its = {to, document, chinese};
        fprintf(to, "<span class=\"%s\">", chinese ? "zh" : "en");
        if (found)
            capacity(&its, found);
        else if (document->over)
            swept(&its);
        else
            run(&its);
        if (document->over)
            names(&its, VERDICT_BROKEN, "", "");
        names(&its, VERDICT_NO_RUN, " could not be run", "没有跑成");
        fputs("</span>", to);
    }
    fputs("</p>\n", to);
}

/* A part of the line, behind those before it; none where the file does not say. */
static void part(FILE *to, const char *before, const char *text, const char *after)
{
    if (!*text)
        return;
    fputs(before, to);
    words_text(to, text);
    fputs(after, to);
}

void sentence_made(FILE *to, const json_t *document)
{
    const json_t *machine = json_object_get(document, "machine");
    const json_t *versions = json_object_get(document, "versions");
    const char *at = document_text(document, "made_at");
    char time[24] = "", cores[24] = "";

    if (strlen(at) >= sizeof "2026-11-27T22:10" - 1)
        snprintf(time, sizeof time, "%.10s %.5s", at, at + 11);
    if (document_integer(machine, "cores") > 0)
        snprintf(cores, sizeof cores, "%" PRId64, document_integer(machine, "cores"));
    fputs("<p class=\"note made\">", to);
    part(to, "", time, " UTC · ");
    part(to, "<code>", document_text(document, "command"), "</code> · ");
    part(to, "seckill ", document_text(versions, "seckill-loadtest"), " · ");
    part(to, "", cores, " × ");
    part(to, "", document_text(machine, "cpu"), " · ");
    part(to, "", document_text(machine, "kernel"), "");
    part(to, " · PostgreSQL ", document_text(versions, "postgresql"), "");
    fputs("</p>\n", to);
}
