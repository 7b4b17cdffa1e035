#include "api/listing.h"

#include "strategies/strategies.h"
#include "strategy/backends.h"

static const struct {
    enum strategy_guarantee guarantee;
    char letter;
} promises[] = {
    {GUARANTEE_ONE, '1'},
    {GUARANTEE_MANY, 'N'},
    {GUARANTEE_PAUSED, 'P'},
    {GUARANTEE_FORGETS, 'F'},
};
enum { PROMISES = sizeof promises / sizeof *promises };

static void print_needs(FILE *to, const struct strategy *strategy, const char *between)
{
    const char *before = "";

    for (int i = 0; i < BACKEND_COUNT; i++)
        if (strategy->needs & 1u << i) {
            fprintf(to, "%s%s", before, backend_at(i)->name);
            before = between;
        }
}

void listing_print_help(FILE *to)
{
    fprintf(to, "\nStrategies (POST /orders?strategy=NAME):\n");
    for (size_t i = 0; i < strategy_count(); i++)
        fprintf(to, "  %-18s %s\n", strategy_at(i)->name, strategy_at(i)->summary);
}

void listing_print(FILE *to)
{
    for (size_t i = 0; i < strategy_count(); i++) {
        const struct strategy *strategy = strategy_at(i);
        char letters[PROMISES + 1] = "-";
        int count = 0;
        for (int promise = 0; promise < PROMISES; promise++)
            if (strategy->guarantees & promises[promise].guarantee)
                letters[count++] = promises[promise].letter;
        fprintf(to, "%-18s %-4s ", strategy->name, letters);
        print_needs(to, strategy, ",");
        fprintf(to, " %s\n", strategy->summary);
    }
}

void listing_print_markdown(FILE *to)
{
    fprintf(to, "| strategy | how | needs | right with one instance | with many | "
                "if a holder is paused | if Redis forgets |\n"
                "| --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < strategy_count(); i++) {
        const struct strategy *strategy = strategy_at(i);
        fprintf(to, "| `%s` | %s | ", strategy->name, strategy->summary);
        print_needs(to, strategy, ", ");
        for (int promise = 0; promise < PROMISES; promise++)
            fprintf(to, " | %s", strategy->guarantees & promises[promise].guarantee ? "yes" : "no");
        fprintf(to, " |\n");
    }
}
