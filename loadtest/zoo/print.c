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
    bool is_safe = act == &exhibit->safe;
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
