/* The data of the live page: an object a strategy, each on a line, so that a change shows. */
#include "loadtest/zoo/print.h"

#include <jansson.h>
#include <stdlib.h>

/* [who, ["s", sent, came] or ["n", note, ""] or ["a", answer, ""] …] */
static json_t *row_json(const struct zoo_row *row)
{
    static const char *const kinds[] = {[ZOO_SENT] = "s", [ZOO_NOTE] = "n", [ZOO_ANSWER] = "a"};
    json_t *out = json_array();
    json_array_append_new(out, json_integer((json_int_t)row->who));
    for (size_t i = 0; i < row->count; i++) {
        const struct zoo_line *line = &row->lines[i];
        json_array_append_new(out, json_pack("[sss]", kinds[line->kind], line->text, line->came));
    }
    return out;
}

static json_t *record_json(const struct zoo_record *record)
{
    char verdict[ZOO_VERDICT_SIZE];
    json_t *rows = json_array();
    for (size_t i = 0; i < record->count; i++)
        json_array_append_new(rows, row_json(&record->rows[i]));
    zoo_verdict(&record->books, verdict);
    return json_pack("{s:s, s:s, s:i, s:i, s:o, s:s}", "strategy", record->act->strategy, "story",
                     record->act->story, "stock", record->act->stock, "buyers", record->act->buyers,
                     "rows", rows, "verdict", verdict);
}

static char *pair_json(const struct zoo_pair *pair)
{
    json_t *both = json_pack("{s:s, s:o, s:o}", "title", pair->exhibit->title, "unsafe",
                             record_json(&pair->unsafe), "safe", record_json(&pair->safe));
    char *text = json_dumps(both, JSON_COMPACT);
    json_decref(both);
    return text;
}

bool zoo_print_json(FILE *to, const struct zoo_pair *pairs, size_t count)
{
    fputs("{\n", to);
    for (size_t i = 0; i < count; i++) {
        char *text = pair_json(&pairs[i]);
        if (!text)
            return false;
        fprintf(to, "\"%s\":%s%s\n", pairs[i].exhibit->unsafe.strategy, text,
                i + 1 < count ? "," : "");
        free(text);
    }
    fputs("}\n", to);
    return true;
}
