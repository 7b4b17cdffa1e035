/*
 * `audit`: the witness's books of every product, or of one; of a shop in cells those of all its
 * databases, and what they must not show beside each other. Exit status 0 when all agree, 1 when
 * some do not, 2 when there was nothing to audit.
 */
#include "loadtest/commands/line/command_line.h"

#include "loadtest/base/process.h"
#include "loadtest/judge/witness.h"

#include <inttypes.h>
#include <stdio.h>

enum { LISTED_MAX = 50 }; /* consistent products beyond this many are summed up, not listed */

struct listing {
    int64_t products, inconsistent;
    struct books sum;
};

static void print_row(const char *name, const struct books *audit)
{
    printf("%-12s %10" PRId64 " %10" PRId64 " %10" PRId64 " %10" PRId64 " %9" PRId64 " %9" PRId64
           " %10" PRId64 " %7" PRId64 " %7" PRId64 " %7" PRId64 " %7" PRId64 "  %-5s %s\n",
           name, audit->initial_stock, audit->restocked, audit->sold, audit->stock, audit->oversold,
           audit->lost_updates, audit->duplicate_orders, audit->limit_violations, audit->queued,
           audit->held, audit->lost, books_consistent(audit) ? "yes" : "NO", audit->strategies);
}

static void list(void *context, const struct witness_product *product)
{
    struct listing *listing = context;
    bool consistent = books_consistent(&product->audit);
    if (listing->products++ == 0)
        printf("%-12s %10s %10s %10s %10s %9s %9s %10s %7s %7s %7s %7s  %-5s %s\n", "product",
               "initial", "restocked", "sold", "left", "oversold", "lost upd", "duplicates",
               "limits", "queued", "held", "lost", "agree", "strategies");
    listing->inconsistent += !consistent;
    books_add(&listing->sum, &product->audit);
    if (consistent && listing->products > LISTED_MAX)
        return;
    char name[48];
    int used = snprintf(name, sizeof name, "%" PRId64, product->id);
    if (product->cell > 0)
        snprintf(name + used, sizeof name - (size_t)used, " (%zu)", product->cell);
    print_row(name, &product->audit);
}

static int audit(struct witness *witness, const struct audit_options *options)
{
    size_t cells = options->shared.databases.count;
    int64_t first = options->product ? options->product : INT64_MIN;
    int64_t last = options->product ? options->product : INT64_MAX;
    struct listing listing = {0};
    struct error error;
    int64_t wrong = 0;
    if (!witness_audit(witness, first, last, list, &listing, &error))
        return process_fail(error.text);
    if (listing.products == 0)
        return process_fail(options->product ? "--product: there is no such product"
                                             : "there are no products: nothing was audited");
    if (listing.products > 1)
        print_row("all", &listing.sum);
    if (cells > 1 && !witness_audit_cells(witness, first, last, stdout, &wrong, &error))
        return process_fail(error.text);
    printf("%" PRId64 " of %" PRId64 " products agree\n", listing.products - listing.inconsistent,
           listing.products);
    if (cells > 1)
        printf("%zu cells: %" PRId64 " wrong beside each other\n", cells, wrong);
    return listing.inconsistent || wrong ? 1 : 0;
}

int command_audit(const struct audit_options *options)
{
    const struct option_texts *databases = &options->shared.databases;
    struct error error;
    struct witness *witness =
        witness_create_cells(databases->items, databases->count, options->shared.schema, &error);
    int status = witness ? audit(witness, options) : process_fail(error.text);
    witness_destroy(witness);
    return status;
}
