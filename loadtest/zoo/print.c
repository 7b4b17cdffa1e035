/* See print.h. */
#include "loadtest/zoo/print.h"

#include "loadtest/zoo/play.h"

#include <string.h>

enum { NUMBER_WIDTH = 4, CELL_LEAST = 24, CELL_MOST = 64, CELL_SIZE = 1024 };

void zoo_verdict(const struct zoo_books *books, char out[ZOO_VERDICT_SIZE])
{
    switch (zoo_end_of(books)) {
    case ZOO_LOST:
        snprintf(out, ZOO_VERDICT_SIZE, "%d sold of %d, and %d were told yes: one order is lost",
                 books->sold, books->stock, books->told);
        return;
    case ZOO_STUCK:
        snprintf(out, ZOO_VERDICT_SIZE, "%d sold of %d, and the lock has no lease: nobody can buy",
                 books->sold, books->stock);
        return;
    default:
        snprintf(out, ZOO_VERDICT_SIZE, "%d sold of %d, %d left", books->sold, books->stock,
                 books->left);
    }
}

/* Characters, not bytes: what continues one in UTF-8 takes no place. */
static int width_of(const char *text, size_t length)
{
    int width = 0;
    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)text[i] & 0xC0) != 0x80;
    return width;
}

/* An answer stays on one line: its blanks are these until they are printed. */
enum { UNBREAKABLE = '\x01' };

static void put_text(FILE *to, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        fputc(text[i] == UNBREAKABLE ? ' ' : text[i], to);
}

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
        if (width_of(text, next) > width)
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

static void print_wrapped(FILE *to, const char *text, int indent, int width)
{
    while (*text) {
        size_t length = fit(text, width);
        fprintf(to, "%*s%.*s\n", indent, "", (int)length, text);
        text += length;
        while (*text == ' ' || *text == '\n')
            text++;
    }
}

void zoo_print_head(FILE *to, const struct zoo_exhibit *exhibit, const struct zoo_act *act,
                    int columns)
{
    int width = cell_width(act, columns);
    bool is_safe = act == exhibit->safe;
    fprintf(to, is_safe ? "\nThe same with %s\n" : "%s: %s\n", act->strategy, exhibit->title);
    print_wrapped(to, act->story, 0, columns);
    fprintf(to, "\nstock %d\n%*s", act->stock, NUMBER_WIDTH, "");
    for (int i = 0; i < act->buyers; i++)
        fprintf(to, "%c%*s", 'A' + i, i + 1 < act->buyers ? width + 1 : 0, "");
    fputc('\n', to);
}

static void cell_text(const struct zoo_row *row, char out[CELL_SIZE])
{
    *out = '\0';
    for (size_t i = 0; i < row->count; i++) {
        const struct zoo_line *line = &row->lines[i];
        size_t used = strlen(out);
        snprintf(out + used, CELL_SIZE - used, "%s%s%s%s%s%s", i ? "\n" : "",
                 line->kind == ZOO_NOTE     ? "("
                 : line->kind == ZOO_ANSWER ? "is told "
                                            : "",
                 line->text, *line->came ? " → " : "", line->came,
                 line->kind == ZOO_NOTE ? ")" : "");
        bind_answer(out + used);
    }
}

void zoo_print_row(FILE *to, const struct zoo_act *act, const struct zoo_row *row, int columns)
{
    int width = cell_width(act, columns);
    char cell[CELL_SIZE], number[8];
    cell_text(row, cell);
    snprintf(number, sizeof number, "%d", row->number);
    for (const char *text = cell; *text;) {
        size_t length = fit(text, width);
        fprintf(to, "%-*s%*s", NUMBER_WIDTH, text == cell ? number : "",
                (int)row->who * (width + 2), "");
        put_text(to, text, length);
        fputc('\n', to);
        text += length;
        while (*text == ' ' || *text == '\n')
            text++;
    }
}

void zoo_print_end(FILE *to, const struct zoo_record *record)
{
    char verdict[ZOO_VERDICT_SIZE];
    zoo_verdict(&record->books, verdict);
    fprintf(to, "The rows say: %s\n", verdict);
}

void zoo_print_md_intro(FILE *to)
{
    fputs(
        "# The bug zoo\n"
        "\n"
        "For each strategy that lacks a letter of its promise ([STRATEGIES](../STRATEGIES.md)), "
        "the "
        "shortest interleaving that breaks it: what each buyer sends, time downward, and what "
        "comes "
        "back. Below each, the same with a strategy that keeps its promise there.\n"
        "\n"
        "Every table is a recorded run against a real PostgreSQL and Redis. See one live, step by "
        "step:\n"
        "\n"
        "```sh\n"
        "./scripts/serve.sh                        # in another terminal: it brings the servers\n"
        "cmake --build build/release --target seckill-loadtest\n"
        "eval \"$(./scripts/stack.sh env)\"\n"
        "build/release/loadtest/seckill-loadtest zoo                      # lists them\n"
        "build/release/loadtest/seckill-loadtest zoo redis-token --step   # waits for Enter before "
        "each step\n"
        "```\n"
        "\n"
        "The statements are the server's own ([sql/statements.sql](../../sql/statements.sql)), "
        "shortened "
        "at each `…`, and so are the scripts (`lua/`). They run in a schema of their own, "
        "`" ZOO_SCHEMA "`, which is dropped at the end, and under keys of their own. Lines of one "
        "step are sent one "
        "after the other; an arrow leads to the answer. Where a statement waits for another "
        "buyer's "
        "row, PostgreSQL has said so (`pg_blocking_pids`). A lease is 10 s long, and nobody waits "
        "for "
        "its end: it is ended where it is kept. Where Redis forgets, the zoo's keys are deleted. "
        "The "
        "tokens are real ones' stand-ins.\n"
        "\n"
        "The live page shows the same (`GET /zoo`). `seckill-loadtest zoo --format md` writes this "
        "page; a test plays every exhibit and compares.\n",
        to);
}

static void print_md_line(FILE *to, const struct zoo_line *line)
{
    static const char *const marks[] = {[ZOO_SENT] = "`", [ZOO_NOTE] = "*", [ZOO_ANSWER] = "**"};
    fprintf(to, "%s%s%s", marks[line->kind], line->text, marks[line->kind]);
    if (*line->came)
        fprintf(to, " → %s", line->came);
}

static void print_md_table(FILE *to, const struct zoo_record *record)
{
    int buyers = record->act->buyers;
    char verdict[ZOO_VERDICT_SIZE];
    fputs("\n| |", to);
    for (int i = 0; i < buyers; i++)
        fprintf(to, " %c |", 'A' + i);
    fputs("\n| --- |", to);
    for (int i = 0; i < buyers; i++)
        fputs(" --- |", to);
    fputc('\n', to);
    for (size_t i = 0; i < record->count; i++) {
        const struct zoo_row *row = &record->rows[i];
        fprintf(to, "| %d |", row->number);
        for (int column = 0; column < buyers; column++) {
            for (size_t j = 0; column == (int)row->who && j < row->count; j++) {
                fputs(j ? "<br>" : " ", to);
                print_md_line(to, &row->lines[j]);
            }
            fputs(" |", to);
        }
        fputc('\n', to);
    }
    zoo_verdict(&record->books, verdict);
    fprintf(to, "\nStock %d. The rows say: **%s**.\n", record->act->stock, verdict);
}

void zoo_print_md(FILE *to, const struct zoo_pair *pair)
{
    const struct zoo_exhibit *exhibit = pair->exhibit;
    fprintf(to, "\n## %s\n\n**%s.** %s\n", exhibit->unsafe.strategy, exhibit->title,
            exhibit->unsafe.story);
    print_md_table(to, &pair->unsafe);
    fprintf(to, "\nThe same with **`%s`**. %s\n", exhibit->safe->strategy, exhibit->safe->story);
    print_md_table(to, &pair->safe);
}
