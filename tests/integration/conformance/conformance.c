/*
 * The conformance suite: what the registry promises of a strategy, asked of a running server.
 *
 *   integration_conformance [--strategy NAME] [SUBJECT]...
 *
 * Without a subject it takes them all, without a strategy every one that is offered. ctest runs a
 * subject at a time (integration.sale); scripts/test.sh --strategy NAME all of them for one
 * strategy. SECKILL_TEST_ONLY picks tests by name as everywhere.
 */
#include "integration/conformance/conformance.h"

#include "lib/fixtures/cases.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(void);
} subjects[] = {
    {"registry", conformance_registry}, {"sale", conformance_sale},
    {"keys", conformance_keys},         {"repeats", conformance_repeats},
    {"returns", conformance_returns},   {"epochs", conformance_epochs},
    {"held", conformance_held},         {"races", conformance_races},
    {"waits", conformance_waits},       {"mixing", conformance_mixing},
    {"costs", conformance_costs},       {"holds", conformance_holds},
    {"withheld", conformance_withheld},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static int usage(const char *what, const char *name)
{
    fprintf(stderr, "there is no %s %s\nintegration_conformance [--strategy NAME] [SUBJECT]...\n",
            what, name);
    return 2;
}

static int find_subject(const char *name)
{
    for (int i = 0; i < SUBJECTS; i++)
        if (strcmp(subjects[i].name, name) == 0)
            return i;
    return -1;
}

static int run(const bool asked[SUBJECTS])
{
    int failed = 0;
    bool any = false;

    for (int i = 0; i < SUBJECTS; i++) {
        int of_subject = asked[i] ? subjects[i].run() : T_NONE_CHOSEN;
        if (of_subject == T_NONE_CHOSEN)
            continue;
        any = true;
        failed += of_subject;
    }
    if (!any)
        fprintf(stderr, "no test is of that name\n");
    return failed || !any;
}

int main(int argc, char **argv)
{
    bool asked[SUBJECTS] = {false};
    bool all = true;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--strategy") == 0 && i + 1 < argc) {
            if (!cases_choose(argv[++i]))
                return usage("strategy", argv[i]);
            continue;
        }
        int subject = find_subject(argv[i]);
        if (subject < 0)
            return usage("subject", argv[i]);
        asked[subject] = true;
        all = false;
    }
    for (int i = 0; all && i < SUBJECTS; i++)
        asked[i] = true;
    return run(asked);
}
