/*
 * `zoo`: lists the exhibits, or plays one, several or all, each beside its counterpart. Exit status
 * 0 when each broke as it says and its counterpart did not; 2 when it could not be played, or ended
 * otherwise.
 */
#include "loadtest/commands/commands.h"

#include "base/options/nearest.h"
#include "loadtest/base/process.h"
#include "loadtest/base/terminal.h"
#include "loadtest/zoo/play.h"
#include "loadtest/zoo/print.h"

#include <stdlib.h>
#include <string.h>

static bool play_act(struct zoo_stage *stage, const struct zoo_options *options,
                     const struct zoo_exhibit *exhibit, const struct zoo_act *act,
                     struct zoo_record *record, struct error *error)
{
    bool whole = zoo_play(stage, act, record, error);
    if (options->format == ZOO_FORMAT_TABLE)
        zoo_print_act(stdout, exhibit, record, whole, terminal_columns(stdout));
    return whole;
}

static bool play_on(struct zoo_stage *stage, const struct zoo_options *options,
                    struct zoo_pair *pairs, size_t count, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (i && options->format == ZOO_FORMAT_TABLE)
            putchar('\n');
        const struct zoo_exhibit *exhibit = pairs[i].exhibit;
        if (!play_act(stage, options, exhibit, &exhibit->unsafe, &pairs[i].unsafe, error) ||
            !play_act(stage, options, exhibit, &exhibit->safe, &pairs[i].safe, error))
            return false;
    }
    /* A table was printed while it was played. */
    return options->format == ZOO_FORMAT_TABLE || zoo_print_json(stdout, pairs, count) ||
           error_fail(error, "out of memory");
}

static int play(const struct zoo_options *options, struct zoo_pair *pairs, size_t count)
{
    struct zoo_stage stage;
    struct error error, closing;
    if (!zoo_stage_open(&stage, &options->shared, &error))
        return process_fail(error.text);
    bool good = play_on(&stage, options, pairs, count, &error);
    bool closed = zoo_stage_close(&stage, &closing);
    int status = good ? 0 : process_fail(error.text);
    return closed ? status : process_fail(closing.text);
}

/* "none  Two read the same figure", and what would have to be said to play it. */
static int list(const struct zoo *zoo, const struct zoo_options *options)
{
    for (size_t i = 0; i < zoo->count; i++) {
        const struct zoo_exhibit *one = &zoo->exhibits[i];
        const char *lacks = zoo_stage_lacks(&options->shared, one->nodes);
        printf("%-16s %s%s%s%s\n", one->unsafe.strategy, one->title, lacks ? " (needs " : "",
               lacks ? lacks : "", lacks ? ")" : "");
    }
    puts("\nseckill-loadtest zoo NAME plays one, zoo all every one.");
    return 0;
}

static bool choose(const struct zoo *zoo, const char *name, struct zoo_pair *pairs, size_t *count,
                   struct error *error)
{
    struct nearest nearest = nearest_to(name, strlen(name));
    char meant[NEAREST_TEXT_SIZE];
    const struct zoo_exhibit *found = zoo_find(zoo, name);
    bool all = strcmp(name, "all") == 0;
    for (size_t i = 0; i < zoo->count; i++) {
        nearest_offer(&nearest, zoo->exhibits[i].unsafe.strategy);
        if (all || &zoo->exhibits[i] == found)
            pairs[(*count)++].exhibit = &zoo->exhibits[i];
    }
    return all || found ||
           error_fail(error, "zoo: there is no exhibit '%.40s' (zoo lists them)%s", name,
                      nearest_text(&nearest, "", meant));
}

static bool choose_all(const struct zoo *zoo, const struct zoo_options *options,
                       struct zoo_pair *pairs, size_t *count, struct error *error)
{
    const struct option_list *names = &options->shared.words;
    bool good = names->count > 0 || choose(zoo, "all", pairs, count, error);
    for (size_t i = 0; good && i < names->count; i++)
        good = choose(zoo, names->items[i], pairs, count, error);
    for (size_t i = 0; good && i < *count; i++) {
        const char *lacks = zoo_stage_lacks(&options->shared, pairs[i].exhibit->nodes);
        if (lacks)
            good = error_fail(error, "zoo: %s needs %s", pairs[i].exhibit->unsafe.strategy, lacks);
    }
    return good;
}

static int choose_and_play(const struct zoo *zoo, const struct zoo_options *options)
{
    struct error error;
    size_t count = 0;
    /* "all" may stand beside a name. */
    struct zoo_pair *pairs = calloc(zoo->count * (options->shared.words.count + 1), sizeof *pairs);
    if (!pairs)
        return process_fail("out of memory");
    int status = choose_all(zoo, options, pairs, &count, &error) ? play(options, pairs, count)
                                                                 : process_fail(error.text);
    free(pairs);
    return status;
}

int command_zoo(const struct zoo_options *options)
{
    struct error error;
    struct zoo zoo;
    if (!zoo_open(&zoo, &error))
        return process_fail(error.text);
    int status = options->shared.words.count == 0 && options->format == ZOO_FORMAT_TABLE
                     ? list(&zoo, options)
                     : choose_and_play(&zoo, options);
    zoo_close(&zoo);
    return status;
}
