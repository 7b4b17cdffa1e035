#include "api/listing.h"

#include "base/options/option_rows.h"
#include "strategies/strategies.h"
#include "strategy/backends.h"

/* In one word, as the harness's table has it (loadtest/judge/verdict.h). */
static const char *right_if(const struct strategy *strategy)
{
    bool paused = strategy->guarantees & GUARANTEE_PAUSED;
    bool forgets = strategy->guarantees & GUARANTEE_FORGETS;
    if (!(strategy->guarantees & GUARANTEE_MANY))
        return strategy->guarantees & GUARANTEE_ONE ? "one-instance" : "never";
    if (paused && forgets)
        return "anything-happens";
    return paused ? "no-failover" : forgets ? "no-stall" : "no-stall/failover";
}

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
    for (int others = 0; others <= 1; others++) {
        for (size_t i = 0; i < strategy_count(); i++)
            if (strategy_at(i)->usual != others)
                option_print_item(to, 18, strategy_at(i)->name, strategy_at(i)->summary);
        if (!others)
            fputs("\nOthers, most of which show how a lock fails:\n", to);
    }
}

void listing_print(FILE *to)
{
    for (size_t i = 0; i < strategy_count(); i++) {
        const struct strategy *strategy = strategy_at(i);
        fprintf(to, "%-18s %-17s ", strategy->name, right_if(strategy));
        print_needs(to, strategy, ",");
        fprintf(to, " %s\n", strategy->summary);
    }
}

void listing_print_markdown(FILE *to)
{
    fprintf(to, "| strategy | how | 做法 | needs | right if | usual |\n"
                "| --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < strategy_count(); i++) {
        const struct strategy *strategy = strategy_at(i);
        fprintf(to, "| `%s` | %s | %s | ", strategy->name, strategy->summary,
                strategy->summary_zh ? strategy->summary_zh : "");
        print_needs(to, strategy, ", ");
        fprintf(to, " | %s%s | %s |\n", right_if(strategy),
                strategy->with_replicas ? "-without-replicas" : "", strategy->usual ? "yes" : "no");
    }
}
