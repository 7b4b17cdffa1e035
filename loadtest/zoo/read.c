/*
 * The reader of exhibits. A text is cut into its parts where it stands: a line is a keyword and
 * what stands behind it, and what is kept of it points into the text.
 */
#include "loadtest/zoo/exhibit.h"

#include "loadtest/base/pool.h"
#include "loadtest/zoo/stage.h"

#include "exhibit_text.h"
#include "lua_text.h"
#include "sql_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct zoo_exhibit *exhibit;
    struct zoo_act *act;   /* that is being read; NULL: none yet */
    struct zoo_verb *verb; /* the step that was defined last */
    struct zoo_text *text; /* the words read last; NULL: none that may have Chinese */
    char *rest;
    int line, next_line;
    struct error *error;
};

/* Lines and words ----------------------------------------------------------------------------- */

/* Each run of blanks becomes one, and none stands at an end. */
static void squeeze(char *text)
{
    char *to = text;
    for (char *from = text; *from; from++) {
        if (*from == '\t')
            *from = ' ';
        if (*from != ' ' || (to > text && to[-1] != ' '))
            *to++ = *from;
    }
    to -= to > text && to[-1] == ' ';
    *to = '\0';
}

/* A line, with those in which it goes on. NULL: there is none any more. */
static char *next_line(struct reader *reader)
{
    char *line = reader->rest, *end = line;
    if (!*line)
        return NULL;
    reader->line = reader->next_line++;
    for (end += strcspn(end, "\n"); *end && end > line && end[-1] == '\\';
         end += strcspn(end, "\n")) {
        end[-1] = end[0] = ' ';
        reader->next_line++;
    }
    reader->rest = *end ? end + 1 : end;
    *end = '\0';
    squeeze(line);
    return line;
}

/* The first word of `rest`, which then begins behind it; "" at the end. */
static char *take_word(char **rest)
{
    char *word = *rest;
    char *end = word + strcspn(word, " ");
    *rest = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

/* Definitions --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum zoo_kind kind;
    enum zoo_node node;
} kinds[] = {
    {"sql", ZOO_SQL, ZOO_NODES},
    {"sale", ZOO_SALE, ZOO_NODES},
    {"redis", ZOO_REDIS, NODE_LOCKS},
    {"redis-1", ZOO_REDIS, NODE_1},
    {"redis-2", ZOO_REDIS, NODE_2},
    {"redis-3", ZOO_REDIS, NODE_3},
    {"redis-stock", ZOO_REDIS, NODE_STOCK},
    {"memcached", ZOO_MEMCACHED, NODE_MEMCACHED},
    {"run", ZOO_RUN, ZOO_NODES},
    {"dies", ZOO_DIES, ZOO_NODES},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const struct zoo_verb *find_verb(const struct reader *reader, const char *name)
{
    const struct zoo_exhibit *exhibit = reader->exhibit;
    for (size_t i = 0; i < exhibit->verbs_count; i++)
        if (strcmp(exhibit->verbs[i].name, name) == 0)
            return &exhibit->verbs[i];
    return NULL;
}

static bool read_kind(struct reader *reader, struct zoo_verb *verb, char **rest)
{
    const char *word = take_word(rest);
    size_t i = 0;
    verb->happens = strcmp(word, "happens") == 0;
    if (verb->happens)
        word = take_word(rest);
    while (i < KINDS && strcmp(kinds[i].name, word) != 0)
        i++;
    if (i == KINDS || (verb->happens && kinds[i].kind <= ZOO_SALE))
        return error_fail(reader->error, "a step cannot be '%s%s'", verb->happens ? "happens " : "",
                          word);
    verb->kind = kinds[i].kind;
    verb->node = kinds[i].node;
    verb->happens |= verb->kind == ZOO_RUN || verb->kind == ZOO_DIES;
    return true;
}

/* The server's text of that name; with `.lua` behind it a script. */
static const char *find_text(const char *name, bool script)
{
    const char *const *names = script ? lua_names : sql_names;
    size_t length = strcspn(name, ".");
    int count = SQL_COUNT;
    if (script)
        count = LUA_COUNT;
    for (int i = 0; i < count; i++)
        if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0)
            return script ? lua_texts[i] : sql_texts[i];
    return NULL;
}

static bool check_values(struct reader *reader, const char *text)
{
    for (; *text; text++) {
        size_t length = zoo_value_name(text);
        if (length && zoo_value_find(text) < 0)
            return error_fail(reader->error, "there is no value %.*s", (int)length, text);
    }
    return true;
}

/* EVAL's first word is a script's name. */
static bool check_words(struct reader *reader, struct zoo_verb *verb)
{
    char word[ZOO_VALUE_SIZE], first[ZOO_VALUE_SIZE] = "";
    const char *at = verb->words;
    int count = 0;
    for (; zoo_value_word(&at, word); count++) {
        if (count == 0)
            snprintf(first, sizeof first, "%s", word);
        if (count != 1 || strcmp(first, "EVAL") != 0)
            continue;
        verb->text = find_text(word, true);
        if (!verb->text)
            return error_fail(reader->error, "there is no script '%s' in lua/", word);
    }
    if (*at || count > ZOO_WORDS)
        return error_fail(reader->error, "it has too many words, or too long a one");
    if (count == 0 && verb->kind != ZOO_SQL && verb->kind != ZOO_DIES)
        return error_fail(reader->error, "it sends nothing");
    return check_values(reader, verb->words);
}

static bool read_definition(struct reader *reader, char *rest)
{
    struct zoo_exhibit *exhibit = reader->exhibit;
    const char *name = take_word(&rest);
    if (find_verb(reader, name))
        return error_fail(reader->error, "there is a step '%s' already", name);
    if (exhibit->verbs_count == ZOO_VERBS)
        return error_fail(reader->error, "there are more than %d steps", ZOO_VERBS);
    struct zoo_verb *verb = &exhibit->verbs[exhibit->verbs_count];
    *verb = (struct zoo_verb){.name = name};
    if (!read_kind(reader, verb, &rest))
        return false;
    if (verb->kind == ZOO_SQL || verb->kind == ZOO_SALE) {
        const char *statement = take_word(&rest);
        verb->text = find_text(statement, false);
        if (!verb->text)
            return error_fail(reader->error, "there is no statement '%s' in sql/", statement);
    }
    verb->words = verb->shows.en = rest;
    reader->verb = verb;
    exhibit->verbs_count++;
    return verb->kind == ZOO_RUN || check_words(reader, verb);
}

/* Acts ---------------------------------------------------------------------------------------- */

static bool begin_act(struct reader *reader, struct zoo_act *act, const char *strategy)
{
    if (act->strategy)
        return error_fail(reader->error, "there is such an act already");
    *act = (struct zoo_act){.strategy = strategy, .end = ZOO_ENDS};
    reader->act = act;
    return true;
}

static bool read_setup(struct reader *reader, const char *rest)
{
    char *end = NULL;
    long stock = strncmp(rest, "stock ", 6) == 0 ? strtol(rest + 6, &end, 10) : 0;
    if (stock < 1 || stock > 1000 || *end)
        return error_fail(reader->error, "'%s' is no 'stock N', from 1 to 1000", rest);
    reader->act->stock = (int)stock;
    return true;
}

static bool read_end(struct reader *reader, const char *rest)
{
    static const char *const ends[ZOO_ENDS] = {
        [ZOO_KEPT] = "kept",
        [ZOO_OVERSOLD] = "oversold",
        [ZOO_LOST] = "lost",
        [ZOO_STUCK] = "stuck",
    };
    int end = 0;
    while (end < ZOO_ENDS && strcmp(ends[end], rest) != 0)
        end++;
    reader->act->end = (enum zoo_end)end;
    return end < ZOO_ENDS || error_fail(reader->error, "an act cannot end '%s'", rest);
}

static bool add_verb(struct reader *reader, struct zoo_step *step, const char *name)
{
    const struct zoo_verb *verb = find_verb(reader, name);
    if (!verb)
        return error_fail(reader->error, "there is no step '%s'", name);
    if (step->count == ZOO_STEP_VERBS)
        return error_fail(reader->error, "a buyer does more than %d things", ZOO_STEP_VERBS);
    step->verbs[step->count++] = verb;
    if (verb->node < ZOO_NODES)
        reader->exhibit->nodes |= 1U << verb->node;
    return true;
}

static bool add_word(struct reader *reader, struct zoo_step *step, const char *word)
{
    if (strcmp(word, "goes-on") == 0) {
        step->resumes = true;
        return true;
    }
    if (strcmp(word, "waits") != 0)
        return add_verb(reader, step, word);
    step->waits = step->count;
    return step->count > 0 || error_fail(reader->error, "nothing stands before 'waits'");
}

static bool read_note(struct reader *reader, struct zoo_step *step, char **rest)
{
    char *end = strchr(*rest, ')');
    if (!end)
        return error_fail(reader->error, "the remark has no ')'");
    *end = '\0';
    step->note.en = *rest + 1;
    reader->text = &step->note;
    *rest = end + 1 + (end[1] == ' ');
    return true;
}

static bool read_step(struct reader *reader, enum zoo_column who, char *rest)
{
    struct zoo_act *act = reader->act;
    if (act->count == ZOO_STEPS)
        return error_fail(reader->error, "an act has more than %d steps", ZOO_STEPS);
    struct zoo_step *step = &act->steps[act->count++];
    step->who = who;
    if (*rest == '(' && !read_note(reader, step, &rest))
        return false;
    while (*rest) {
        const char *word = take_word(&rest);
        if (strcmp(word, "->") == 0) {
            step->answer = rest;
            break;
        }
        if (!add_word(reader, step, word))
            return false;
    }
    if (act->buyers <= (int)who)
        act->buyers = (int)who + 1;
    if (step->answer && !*step->answer)
        return error_fail(reader->error, "the answer is missing");
    if (step->resumes && step->count)
        return error_fail(reader->error, "'goes-on' stands alone");
    return step->count || step->resumes || step->note.en ||
           error_fail(reader->error, "the buyer does nothing");
}

/* Files --------------------------------------------------------------------------------------- */

/* Where the words behind such a keyword are kept; NULL: nowhere. */
static struct zoo_text *find_words(const struct reader *reader, const char *keyword)
{
    if (strcmp(keyword, "title") == 0)
        return &reader->exhibit->title;
    if (strcmp(keyword, "shows") == 0 && reader->verb)
        return &reader->verb->shows;
    return strcmp(keyword, "story") == 0 && reader->act ? &reader->act->story : NULL;
}

/* Of a line that is kept as it stands; false: it is none of these. */
static bool keep_text(struct reader *reader, const char *keyword, const char *rest)
{
    struct zoo_text *words = find_words(reader, keyword);
    if (words)
        words->en = rest;
    else if (strcmp(keyword, "zh") == 0 && reader->text)
        reader->text->zh = rest;
    else if (strcmp(keyword, "gives") == 0 && reader->verb && reader->verb->node < ZOO_NODES)
        reader->verb->gives = rest;
    else
        return false;
    reader->text = words;
    return true;
}

static bool read_line(struct reader *reader, char *rest)
{
    const char *word = take_word(&rest);
    if (!*rest)
        return error_fail(reader->error, "nothing stands behind '%s'", word);
    if (keep_text(reader, word, rest))
        return check_values(reader, rest);
    if (strcmp(word, "step") == 0)
        return read_definition(reader, rest);
    if (strcmp(word, "unsafe") == 0)
        return begin_act(reader, &reader->exhibit->unsafe, rest);
    if (strcmp(word, "safe") == 0)
        return begin_act(reader, &reader->exhibit->safe, rest);
    if (reader->act && strcmp(word, "setup") == 0)
        return read_setup(reader, rest);
    if (reader->act && strcmp(word, "ends") == 0)
        return read_end(reader, rest);
    if (reader->act && *word >= 'A' && *word < 'A' + ZOO_BUYERS && !word[1])
        return read_step(reader, (enum zoo_column)(*word - 'A'), rest);
    return error_fail(reader->error, "a line cannot begin with '%s' here", word);
}

static bool read_text(struct zoo_exhibit *exhibit, char **copy, const char *file, const char *text,
                      struct error *error)
{
    struct reader reader = {.exhibit = exhibit, .next_line = 1, .error = error};
    *copy = memory_copy(text);
    reader.rest = *copy;
    for (char *line; (line = next_line(&reader)) != NULL;)
        if (*line && *line != '#' && !read_line(&reader, line))
            return error_prefix(error, "%s:%d", file, reader.line);
    return true;
}

static bool check_act(const struct zoo_act *act, const char *name, struct error *error)
{
    if (!act->strategy)
        return error_fail(error, "it has no '%s'", name);
    const char *lacks = !act->story.en         ? "story"
                        : !act->stock          ? "setup"
                        : !act->count          ? "steps"
                        : act->end == ZOO_ENDS ? "ends"
                                               : NULL;
    return !lacks || error_fail(error, "'%s %s' has no %s", name, act->strategy, lacks);
}

/* One that breaks nothing, or a cure that does not help, is none. */
static bool check_exhibit(const struct zoo_exhibit *exhibit, struct error *error)
{
    if (!exhibit->title.en)
        return error_fail(error, "it has no title");
    if (!check_act(&exhibit->unsafe, "unsafe", error) || !check_act(&exhibit->safe, "safe", error))
        return false;
    return (exhibit->unsafe.end != ZOO_KEPT && exhibit->safe.end == ZOO_KEPT) ||
           error_fail(error, "'unsafe' ends kept, or 'safe' does not");
}

bool zoo_exhibit_read(struct zoo_exhibit *exhibit, const char *file, const char *text,
                      struct error *error)
{
    *exhibit = (struct zoo_exhibit){.nodes = 0};
    if (!read_text(exhibit, &exhibit->texts[0], "steps.zoo", exhibit_texts[EXHIBIT_STEPS], error) ||
        !read_text(exhibit, &exhibit->texts[1], file, text, error))
        return false;
    return check_exhibit(exhibit, error) || error_prefix(error, "%s", file);
}

void zoo_exhibit_drop(struct zoo_exhibit *exhibit)
{
    free(exhibit->texts[0]);
    free(exhibit->texts[1]);
}

bool zoo_open(struct zoo *zoo, struct error *error)
{
    struct zoo_exhibit *exhibits = memory_take(EXHIBIT_COUNT * sizeof *exhibits);
    bool good = true;
    *zoo = (struct zoo){.exhibits = exhibits};
    for (int i = 0; good && i < EXHIBIT_COUNT; i++) {
        char file[64];
        if (i == EXHIBIT_STEPS)
            continue;
        snprintf(file, sizeof file, "%s.zoo", exhibit_names[i]);
        good = zoo_exhibit_read(&exhibits[zoo->count++], file, exhibit_texts[i], error);
    }
    if (!good)
        zoo_close(zoo);
    return good;
}

void zoo_close(struct zoo *zoo)
{
    for (size_t i = 0; i < zoo->count; i++)
        zoo_exhibit_drop(&zoo->exhibits[i]);
    free(zoo->exhibits);
}

const struct zoo_exhibit *zoo_find(const struct zoo *zoo, const char *name)
{
    for (size_t i = 0; i < zoo->count; i++)
        if (strcmp(zoo->exhibits[i].unsafe.strategy, name) == 0)
            return &zoo->exhibits[i];
    return NULL;
}
