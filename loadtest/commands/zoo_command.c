/*
 * `zoo`: lists the exhibits, or plays one, several or all, each beside its counterpart. Exit status
 * 0 when each broke as it says and its counterpart did not; 2 when it could not be played, or ended
 * otherwise.
 */
#include "loadtest/commands/line/command_line.h"

#include "base/options/nearest.h"
#include "loadtest/base/pool.h"
#include "loadtest/base/process.h"
#include "loadtest/base/terminal.h"
#include "loadtest/zoo/play.h"

#include <stdlib.h>
#include <string.h>

struct visit {
    const struct zoo_options *options; /* borrowed */
    struct zoo zoo;
    struct zoo_pair *pairs; /* owned: those that are played */
    size_t count;
};

static bool play_act(const struct visit *visit, struct zoo_stage *stage,
                     const struct zoo_exhibit *exhibit, const struct zoo_act *act,
                     struct zoo_record *record, struct error *error)
{
    bool whole = zoo_play(stage, act, record, error);
    if (visit->options->format == ZOO_FORMAT_TABLE)
        zoo_print_act(stdout, exhibit, record, whole, terminal_columns(stdout));
    return whole;
}

static bool play_on(const struct visit *visit, struct zoo_stage *stage, struct error *error)
{
    bool is_table = visit->options->format == ZOO_FORMAT_TABLE;
    for (size_t i = 0; i < visit->count; i++) {
        if (i && is_table)
            putchar('\n');
        struct zoo_pair *pair = &visit->pairs[i];
        const struct zoo_exhibit *exhibit = pair->exhibit;
        if (!play_act(visit, stage, exhibit, &exhibit->unsafe, &pair->unsafe, error) ||
            !play_act(visit, stage, exhibit, &exhibit->safe, &pair->safe, error))
            return false;
    }
    if (!is_table) /* which was printed while it was played */
        zoo_print_json(stdout, visit->pairs, visit->count);
    return true;
}

/* The exit status. */
static int play(const struct visit *visit)
{
    struct zoo_stage stage;
    struct error error, closing;
    if (!zoo_stage_open(&stage, &visit->options->shared, &error))
        return process_fail(error.text);
    bool good = play_on(visit, &stage, &error);
    bool closed = zoo_stage_close(&stage, &closing);
    int status = good ? 0 : process_fail(error.text);
    return closed ? status : process_fail(closing.text);
}

/* "none  Two read the same figure", and what would have to be said to play it. */
static void list(const struct visit *visit)
{
    for (size_t i = 0; i < visit->zoo.count; i++) {
        const struct zoo_exhibit *one = &visit->zoo.exhibits[i];
        const char *lacks = zoo_stage_lacks(&visit->options->shared, one->nodes);
        printf("%-16s %s%s%s%s\n", one->unsafe.strategy, one->title.en, lacks ? " (needs " : "",
               lacks ? lacks : "", lacks ? ")" : "");
    }
    puts("\nseckill-loadtest zoo NAME plays one, zoo all every one.");
}

static bool choose(struct visit *visit, const char *name, struct error *error)
{
    const struct zoo *zoo = &visit->zoo;
    struct nearest nearest = nearest_to(name, strlen(name));
    char meant[NEAREST_TEXT_SIZE];
    const struct zoo_exhibit *found = zoo_find(zoo, name);
    bool all = strcmp(name, "all") == 0;
    for (size_t i = 0; i < zoo->count; i++) {
        nearest_offer(&nearest, zoo->exhibits[i].unsafe.strategy);
        if (all || &zoo->exhibits[i] == found)
            visit->pairs[visit->count++].exhibit = &zoo->exhibits[i];
    }
    return all || found ||
           error_fail(error, "zoo: there is no exhibit '%.40s' (zoo lists them)%s", name,
                      nearest_text(&nearest, "", meant));
}

static bool choose_all(struct visit *visit, struct error *error)
{
    const struct option_list *names = &visit->options->shared.words;
    /* "all" may stand beside a name. */
    visit->pairs = memory_take(visit->zoo.count * (names->count + 1) * sizeof *visit->pairs);
    bool good = names->count > 0 || choose(visit, "all", error);
    for (size_t i = 0; good && i < names->count; i++)
        good = choose(visit, names->items[i], error);
    for (size_t i = 0; good && i < visit->count; i++) {
        const struct zoo_exhibit *exhibit = visit->pairs[i].exhibit;
        const char *lacks = zoo_stage_lacks(&visit->options->shared, exhibit->nodes);
        if (lacks)
            good = error_fail(error, "zoo: %s needs %s", exhibit->unsafe.strategy, lacks);
    }
    return good;
}

int command_zoo(const struct zoo_options *options)
{
    struct visit visit = {.options = options};
    struct error error;
    if (!zoo_open(&visit.zoo, &error))
        return process_fail(error.text);
    bool lists = options->shared.words.count == 0 && options->format == ZOO_FORMAT_TABLE;
    int status = 0;
    if (lists)
        list(&visit);
    else
        status = choose_all(&visit, &error) ? play(&visit) : process_fail(error.text);
    for (size_t i = 0; i < visit.count; i++) {
        zoo_record_drop(&visit.pairs[i].unsafe);
        zoo_record_drop(&visit.pairs[i].safe);
    }
    free(visit.pairs);
    zoo_close(&visit.zoo);
    return status;
}
