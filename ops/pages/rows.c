/* See pages.h: what the pages have in common. */
#include "pages/pages.h"

#include <string.h>

const struct option_row *pages_next(struct pages_rows *rows, unsigned commands)
{
    for (; rows->table; rows->table = rows->table->more, rows->at = 0) {
        while (rows->at < rows->table->count) {
            const struct option_row *row = &rows->table->rows[rows->at++];
            if (row->commands & commands)
                return row;
        }
    }
    return NULL;
}

bool pages_is_first(const struct option_program *program, const struct option_row *row)
{
    struct pages_rows rows = {program->table, 0};
    const struct option_row *other;
    while ((other = pages_next(&rows, ~0U)) != NULL && other != row) {
        if (strcmp(other->flag, row->flag) == 0)
            return false;
    }
    return true;
}

enum pages_value pages_value_of(const struct option_row *row, const char **words)
{
    const char *value = row->value ? row->value : "";
    *words = row->kind == OPTION_CHOICE ? row->fallback : value;
    if (row->kind == OPTION_SWITCH)
        return PAGES_NOTHING;
    if (strstr(row->flag, "strategies"))
        return PAGES_STRATEGIES;
    if (strstr(row->flag, "strategy"))
        return PAGES_STRATEGY;
    if (strcmp(row->flag, "faults") == 0)
        return PAGES_FAULTS;
    if (row->kind == OPTION_CHOICE || (row->kind != OPTION_LIST && strchr(value, '|')))
        return PAGES_WORDS;
    if (strcmp(value, "FILE") == 0 || strcmp(value, "PATH") == 0)
        return PAGES_FILE;
    return strcmp(value, "DIR") == 0 ? PAGES_FOLDER : PAGES_ANY;
}
