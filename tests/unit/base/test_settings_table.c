/* The table of settings, row by row, and what is printed from it. */
#include "lib/t.h"

#include "settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(every_row_is_whole)
{
    for (size_t i = 0; i < settings_table.count; i++) {
        const struct option_row *row = &settings_table.rows[i];
        assert_true(strlen(row->flag) < OPTION_VARIABLE_LENGTH - 8);
        assert_int_equal(strspn(row->flag, "abcdefghijklmnopqrstuvwxyz-"), strlen(row->flag));
        assert_non_null(row->fallback);
        assert_true(strlen(row->value) > 0);
        assert_true(strlen(row->help) > 10);
        assert_null(strpbrk(row->help, "|\n")); /* it stands in a table */
        if (option_is_number(row))
            assert_true(row->min < row->max && strlen(row->unit) > 0);
        else
            assert_true(strlen(row->takes) > 0 && strpbrk(row->takes, "|\n") == NULL);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(row->flag, settings_table.rows[j].flag);
            assert_int_not_equal(row->offset, settings_table.rows[j].offset);
        }
    }
    /* No member without a row: all of them are eight bytes wide, or padded to it, as are the two
     * numbers of --cell. */
    assert_int_equal((settings_table.count + settings_table.more->count + 1) * 8,
                     sizeof(struct settings));
}

/* Without the ends of lines and what indents the next. `out` is as large as the text. */
static void unfold(const char *text, char *out)
{
    for (; *text; text++) {
        if (*text != '\n') {
            *out++ = *text;
            continue;
        }
        *out++ = ' ';
        text += strspn(text + 1, " ");
    }
    *out = '\0';
}

static size_t columns_of(const char *line)
{
    size_t columns = 0;
    for (; *line && *line != '\n'; line++)
        columns += ((unsigned char)*line & 0xc0) != 0x80;
    return columns;
}

TEST(help_names_everything)
{
    char *text;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    assert_non_null(to);
    settings_print_help(to, "seckill-server");
    fclose(to);

    static char unfolded[1 << 16];
    unfold(text, unfolded);
    for (size_t i = 0; i < settings_table.count; i++) {
        const struct option_row *row = &settings_table.rows[i];
        char flag[128];
        snprintf(flag, sizeof flag, "\n  --%s %s", row->flag, row->value);
        assert_non_null(strstr(text, flag));
        assert_non_null(strstr(unfolded, row->help));
    }
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_in_range(columns_of(line), 0, 80);
    assert_non_null(strstr(text, "\n  --help "));
    assert_non_null(strstr(text, "\n  --strategies "));
    assert_non_null(strstr(text, "\n  --version "));
    assert_non_null(strstr(text, "SECKILL_LOCK_TTL_MS"));
    free(text);
}

/* The file holds each piece of what --help=markdown prints, the table and a section's head for each
 * setting, and behind each head says more. */
TEST(config_md_says_what_the_table_says)
{
    char *pieces;
    size_t length;
    FILE *to = open_memstream(&pieces, &length);
    assert_non_null(to);
    settings_print_markdown(to);
    fclose(to);
    pieces[length - 1] = '\0'; /* the last line's end */

    static char found[1 << 16];
    FILE *from = t_open(CONFIG_MD);
    size_t got = fread(found, 1, sizeof found - 1, from);
    fclose(from);
    found[got] = '\0';
    size_t sections = 0;
    for (char *piece = pieces, *next; piece; piece = next) {
        next = strstr(piece, "\n\n## ");
        if (next) {
            *next = '\0';
            next += 2;
        }
        const char *at = strstr(found, piece);
        if (!at)
            fail_msg("docs/CONFIG.md is stale: it does not hold\n%s", piece);
        sections++;
        const char *text = at ? at + strlen(piece) : "";
        if (sections > 1 && (strncmp(text, "\n\n", 2) != 0 || strncmp(text + 2, "##", 2) == 0))
            fail_msg("docs/CONFIG.md says nothing more of\n%s", piece);
    }
    assert_int_equal(sections, settings_table.count + 1);
    free(pieces);
}
