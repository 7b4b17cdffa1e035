/* The command line of `shop`: what is filled, and which flags do not go together, each named with
 * why. */
#include "lib/t.h"

#include "loadtest/commands/line/command_line.h"

#include <string.h>

static union command_options all;
#define options all.shop
static struct error error;

static char *no_environment(const char *name)
{
    (void)name;
    return NULL;
}

/* Words with blanks between; what is read of them stays until the next ones. */
static bool parse(const char *text)
{
    static char words[512], program[] = "seckill-loadtest";
    enum options_action action;
    char *argv[32] = {program}, *rest = NULL;
    int argc = 1;
    snprintf(words, sizeof words, "%s", text);
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    error.text[0] = '\0';
    return command_line_parse(&all, &action, argc, argv, no_environment, &error);
}

static void takes(const char *text)
{
    if (!parse(text))
        fail_msg("'%s': %s", text, error.text);
    assert_int_equal(options.shared.command, COMMAND_SHOP);
}

TEST(a_target_is_enough)
{
    takes("shop out/shop.yaml");
    assert_int_equal(options.shared.words.count, 1);
    assert_string_equal(options.shared.words.items[0], "out/shop.yaml");
    assert_int_equal(options.shared.connections, 64);
    assert_int_equal(options.buyers, 0);
    assert_int_equal(options.shared.rate_per_s, 0);
    assert_int_equal(options.timeout_s, 30);
    assert_int_equal(options.shared.seed, 1);
    assert_string_equal(options.ca_file, "");
    assert_string_equal(options.judge, "");
    assert_string_equal(options.shared.out, "");
    assert_string_equal(options.shared.fail_if, "");
    assert_string_equal(options.shared.junit, "");
}

TEST(a_closed_loop_is_read)
{
    takes("shop a --buyers 9 --connections 3 --timeout 1m --ca-file c.pem --seed 4");
    assert_int_equal(options.buyers, 9);
    assert_int_equal(options.shared.connections, 3);
    assert_int_equal(options.timeout_s, 60);
    assert_string_equal(options.ca_file, "c.pem");
    assert_int_equal(options.shared.seed, 4);
}

TEST(an_open_loop_is_read)
{
    takes("shop a --rate 5 --duration 2m --arrivals constant");
    assert_int_equal(options.shared.rate_per_s, 5);
    assert_int_equal(options.shared.duration_s, 120);
    assert_int_equal(options.shared.arrivals, ARRIVALS_CONSTANT);
    takes("shop a --rate 5");
    assert_int_equal(options.shared.duration_s, 10);
    assert_int_equal(options.shared.arrivals, ARRIVALS_POISSON);
}

TEST(a_ledger_to_judge_is_read)
{
    takes("shop a --judge b");
    assert_string_equal(options.judge, "b");
    takes("shop a --out c --judge=b --fail-if p99>1s --junit d");
    assert_string_equal(options.judge, "b");
    assert_string_equal(options.shared.out, "c");
    assert_string_equal(options.shared.fail_if, "p99>1s");
    assert_string_equal(options.shared.junit, "d");
}

#define SENDS_NOTHING                                                                              \
    " is for a load, and with --judge nothing is sent: there are --out, --fail-if and --junit"

static const struct {
    const char *line, *said;
} wrong[] = {
    {"shop", "shop: which one? Name its target file (docs/JUDGING.md#the-target-file)"},
    {"shop --rate 5", "shop: which one? Name its target file (docs/JUDGING.md#the-target-file)"},
    {"shop a --fail-if=", "--fail-if is empty"},
    {"shop a --junit=", "--junit is empty"},
    {"shop one.yaml two.yaml", "shop: at most 1 of them"},
    {"shop a --buyers 9 b", "is not a flag (see shop --help)"},
    {"shop a --database host=/here", "unknown flag --database"},
    {"shop a --strategies none", "unknown flag --strategies"},
    {"shop a --header X-Shop:1", "unknown flag --header"},
    {"shop a --buyers 0", "--buyers"},
    {"shop a --connections 0", "--connections"},
    {"shop a --connections 20001", "--connections"},
    {"shop a --rate 0", "--rate"},
    {"shop a --rate 1000001", "--rate"},
    {"shop a --rate 5 --duration 0s", "--duration"},
    {"shop a --rate 5 --arrivals often", "--arrivals"},
    {"shop a --timeout 0s", "--timeout"},
    {"shop a --timeout 500ms", "a duration of whole seconds"},
    {"shop a --timeout 2h", "--timeout"},
    {"shop a --seed -1", "--seed"},
    {"shop a --duration 5s", "--duration needs a --rate"},
    {"shop a --arrivals constant", "--arrivals needs a --rate"},
    {"shop a --buyers 9 --rate 5", "--buyers is a number of purchases: not with a --rate, which "
                                   "lasts for --duration"},
    {"shop a --rate 5 --duration 3s --buyers 9", "--buyers is a number of purchases: not with a "
                                                 "--rate, which lasts for --duration"},
    {"shop a --judge", "--judge"},
    {"shop a --judge=", "--judge: which ledger? Name its file"},
    {"shop a --judge= --out b", "--judge: which ledger? Name its file"},
    {"shop a --judge b --buyers 9", "--buyers" SENDS_NOTHING},
    {"shop a --connections 9 --judge b", "--connections" SENDS_NOTHING},
    {"shop a --judge b --rate 5", "--rate" SENDS_NOTHING},
    {"shop a --judge b --duration 5s", "--duration" SENDS_NOTHING},
    {"shop a --judge b --arrivals constant", "--arrivals" SENDS_NOTHING},
    {"shop a --judge b --seed 1", "--seed" SENDS_NOTHING},
    {"shop a --judge b --timeout 5s", "--timeout" SENDS_NOTHING},
    {"shop a --out c --judge b --ca-file d", "--ca-file" SENDS_NOTHING},
    {"run --judge b", "unknown flag --judge"},
    {"check a --judge b", "unknown flag --judge"},
};

TEST(what_does_not_go_together_is_named)
{
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        if (parse(wrong[i].line))
            fail_msg("'%s' was taken", wrong[i].line);
        if (!strstr(error.text, wrong[i].said))
            fail_msg("'%s' gave '%s'", wrong[i].line, error.text);
    }
}
