/* See command_line.h. */
#include "loadtest/commands/line/command_line.h"

#include "base/options/nearest.h"

#include <string.h>

#define EXAMPLE "seckill-loadtest "

static const struct option_command commands[] = {
    {"run", COMMAND_RUN, "load strategies side by side and say what each promised and kept",
     options_run_text,
     .example = EXAMPLE "run --instances 1,3 --database host=db --redis redis://cache"},
    {"audit", COMMAND_AUDIT, "say from PostgreSQL's rows whether each product's books agree", NULL,
     .example = EXAMPLE "audit --database 'host=db dbname=shop'"},
    {"sweep", COMMAND_SWEEP, "take one setting through a list of values", options_sweep_text,
     .example =
         EXAMPLE "sweep --strategies batch --over connections=8,64,512 --rounds 5 --duration 4s"},
    {"capacity", COMMAND_CAPACITY,
     "find the highest rate of orders at which a strategy holds an SLO", options_capacity_text,
     .example =
         EXAMPLE "capacity --strategy conditional --slo 'p99<250ms,failed<1%' --instances 3"},
    {"report", COMMAND_REPORT,
     "DIR [DIR...]: make report.html of a run's folder, or compare several", options_report_text,
     .example = EXAMPLE "report results/before results/after --out compared",
     .words = OPTION_LIST_MAX, .missing = "report: which run? Name the folder of its results.json"},
    {"record", COMMAND_RECORD, "buy, repeat, cancel and restock, and write down every answer",
     options_record_text,
     .example = EXAMPLE "record --strategy redis-queue --instances 3 --out sale"},
    {"oasis", COMMAND_OASIS, "sell 1,400,000 tickets, at most four a buyer, and count the rows",
     options_oasis_text, .example = EXAMPLE "oasis --strategy batch --instances 3"},
    {"faults", COMMAND_FAULTS, "break things while strategies sell, and say who keeps its promise",
     options_faults_text,
     .example = EXAMPLE "faults --strategies redis-token,redis-fenced --faults stall --runs 3"},
    {"check", COMMAND_CHECK, "LEDGER: judge what was recorded against what the database holds",
     options_check_text,
     .example = EXAMPLE "check sale/ledger.jsonl --database 'host=db dbname=shop'", .words = 1,
     .missing = "check: which ledger? Name its file"},
    {"shop", COMMAND_SHOP, "TARGET.yaml: load any shop over HTTP, and judge it by its own books",
     options_shop_text, .example = EXAMPLE "shop mine.yaml --connections 64", .words = 1,
     .missing = "shop: which one? Name its target file (docs/JUDGING.md#the-target-file)"},
    {"zoo", COMMAND_ZOO, "[NAME...]: play how an unsafe strategy breaks, step by step",
     options_zoo_text,
     .example = EXAMPLE "zoo redis-token --database 'host=db' --redis redis://cache:6379",
     .words = OPTION_LIST_MAX},
};

/* In a command's place. */
static const struct option_stop first_stops[] = {
    {"--version", OPTIONS_VERSION, "print the version and exit"},
    {"--help", OPTIONS_HELP, "list the commands and exit; help COMMAND lists its flags"},
    {"-h", OPTIONS_HELP, NULL},
    {"help", OPTIONS_HELP, NULL},
    {NULL, 0, NULL},
};

const struct option_program options_program = {
    .name = "seckill-loadtest",
    .summary = "load seckill servers and audit what they promise",
    .table = &command_line_table,
    .commands = commands,
    .commands_count = sizeof commands / sizeof commands[0],
    .stops = first_stops,
    .worded = COMMAND_ZOO,
    .words = "seckill-loadtest zoo 2>/dev/null | head -n -2 | cut -d\" \" -f1",
    .files = "A run's report.html, results.json and CSV files go to results/ and the time,\n"
             "or where --out says.\n",
    .status = "0: what was asked for was proved. 1: a promise is broken. 2: it could not be\n"
              "done, or proved nothing. What each command means by it is told with it.\n",
};

/* One that is empty, as a script's variable may be, would judge nothing and pass. */
static bool check_gates(const struct option_given *given, struct error *error)
{
    for (size_t i = 0; i < given->count; i++) {
        const char *flag = given->flags[i];
        bool is_gate =
            strcmp(flag, "fail-if") == 0 || strcmp(flag, "slo") == 0 || strcmp(flag, "junit") == 0;
        if (is_gate && !*given->texts[i])
            return error_fail(error, "--%s is empty", flag);
    }
    return true;
}

/* The message repeats an unknown word of letters alone: another may be a secret. */
static bool name_command(struct options *options, int number, const char *word, struct error *error)
{
    char names[120] = "", meant[NEAREST_TEXT_SIZE];
    struct nearest nearest = nearest_to(word, strlen(word));
    for (size_t i = 0; i < options_program.commands_count; i++) {
        const char *name = commands[i].name;
        if (strcmp(word, name) == 0)
            options->command = (enum command)commands[i].command;
        nearest_offer(&nearest, name);
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                 i == 0                                    ? ""
                 : i + 1 == options_program.commands_count ? " and "
                                                           : ", ",
                 name);
    }
    if (options->command)
        return true;
    nearest_text(&nearest, "", meant);
    if (*word && word[strspn(word, "abcdefghijklmnopqrstuvwxyz-")] == '\0')
        return error_fail(error, "there is no command %.32s; there are %s (--help)%s", word, names,
                          meant);
    return error_fail(error, "argument %d is no command; there are %s (--help)%s", number, names,
                      meant);
}

static bool find_command(struct options *options, enum options_action *action, int argc,
                         char **argv, struct error *error)
{
    const char *word = argc > 1 ? argv[1] : "";
    const struct option_stop *stop = option_find_stop(first_stops, word, strlen(word));
    *action = argc < 2 ? OPTIONS_USAGE : stop ? (enum options_action)stop->number : OPTIONS_GO;
    if (*action == OPTIONS_HELP && argc > 2) /* help run */
        return name_command(options, 2, argv[2], error);
    if (*action != OPTIONS_GO)
        return true;
    return name_command(options, 1, word, error);
}

static const struct option_command *find(enum command command)
{
    const struct option_command *at = commands;
    while (at->command != command)
        at++;
    return at;
}

static bool take_words(struct option_list *out, const struct option_command *command,
                       struct option_line *line, struct error *error)
{
    for (; command->words > 0 && line->argc > 0 && line->argv[0][0] != '-';
         line->argc--, line->argv++) {
        if (out->count == command->words)
            return error_fail(error, "%s: at most %zu of them", command->name, command->words);
        if (strlen(line->argv[0]) >= sizeof out->items[0])
            return error_fail(error, "%s: %.40s... is too long a name", command->name,
                              line->argv[0]);
        snprintf(out->items[out->count++], sizeof out->items[0], "%s", line->argv[0]);
    }
    return true;
}

bool command_line_parse(union command_options *out, enum options_action *action, int argc,
                        char **argv, char *(*environment)(const char *), struct error *error)
{
    struct option_given given;
    char help[16];
    memset(out, 0, sizeof *out);
    options_begin(&out->shared);
    *action = OPTIONS_GO;
    if (!find_command(&out->shared, action, argc, argv, error))
        return false;
    if (*action != OPTIONS_GO)
        return true;
    snprintf(help, sizeof help, "%s --help", argv[1]);
    struct option_line line = {help, argc - 2, argv + 2, environment};
    const struct option_command *command = find(out->shared.command);
    if (!take_words(&out->shared.words, command, &line, error) ||
        !option_rows_parse(&command_line_table, out->shared.command, &line, out, &given, error))
        return false;
    if (given.stop) {
        *action = (enum options_action)given.stop;
        return true;
    }
    if (command->missing && out->shared.words.count == 0)
        return error_fail(error, "%s", command->missing);
    char said[sizeof out->shared.said - 40];
    option_rows_said(&command_line_table, out->shared.command, &given, said, sizeof said);
    snprintf(out->shared.said, sizeof out->shared.said, "seckill-loadtest %.16s%s", argv[1], said);
    return check_gates(&given, error) && command_line_check(out, &given, error);
}

void command_line_print_help(FILE *to, enum command command)
{
    if (!command)
        fputs("seckill-loadtest COMMAND [flags]\n\n", to);
    for (size_t i = 0; i < options_program.commands_count; i++) {
        if (!command)
            fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].summary);
        if (commands[i].command != command)
            continue;
        fprintf(to, "seckill-loadtest %s: %s\n\n  %s\n\n", commands[i].name, commands[i].summary,
                commands[i].example);
        option_rows_print(to, &command_line_table, command);
        if (commands[i].text)
            fprintf(to, "\n%s", commands[i].text);
    }
    if (!command)
        fprintf(to,
                "\nBegin with run, which starts servers of its own, then open its report.html:\n\n"
                "  %s\n\n"
                "seckill-loadtest COMMAND --help lists its flags; --version says which this is.\n",
                commands[0].example);
}
