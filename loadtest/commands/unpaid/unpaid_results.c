/* See unpaid_results.h. */
#include "loadtest/commands/unpaid/unpaid_results.h"

#include "loadtest/phase/phase.h"
#include "loadtest/report/csv.h"
#include "loadtest/report/page/page_runs.h"
#include "loadtest/report/results.h"

#include <inttypes.h>
#include <string.h>

/* Of a row's object, as results.csv has them. */
static const char columns[] =
    "strategy,body,instances,scenario,phase,round,connections,duration_s,stock,unpaid_bought,"
    "unpaid_paid,unpaid_too_late,unpaid_never_paid,unpaid_refused,unpaid_failed,unpaid_unknown,"
    "unpaid_odd,unpaid_most_held,unpaid_looks,unpaid_disagreed,audit_sold,audit_held,audit_stock,"
    "audit_oversold,audit_lost_updates,audit_queued,audit_consistent,promise,verdict:q,"
    "unpaid_wrong:q";

static bool is_guarded(const struct unpaid_sale *sale)
{
    return strcmp(sale->body, "guarded") == 0;
}

/* Units that the rows and the answers do not agree about: an answer that did not come may have been
 * a payment. */
static int64_t misled(const struct unpaid_sale *sale)
{
    int64_t paid = sale->told.paid;
    if (sale->rows.sold < paid)
        return paid - sale->rows.sold;
    int64_t more = sale->rows.sold - paid - sale->told.unknown;
    return more > 0 ? more : 0;
}

enum verdict unpaid_verdict(const struct unpaid_sale *sale)
{
    bool promised = promise_in_force(&sale->strategy->promise, sale->instances, is_guarded(sale));
    bool wrong = !books_consistent(&sale->rows) || sale->wrong_looks > 0 || sale->rows.held > 0 ||
                 misled(sale) > 0 || sale->told.odd > 0;
    bool seen = sale->most_held > 0 && sale->told.paid > 0 && sale->told.expired > 0 &&
                sale->told.abandoned > 0;
    if (wrong)
        return promised ? VERDICT_BROKEN : VERDICT_UNSAFE;
    return promised && seen ? VERDICT_KEPT : VERDICT_PROVED_NOTHING;
}

void unpaid_print_head(FILE *to)
{
    fprintf(to, "%-18s %5s %8s %8s %8s %10s %8s %9s %6s %9s %8s  %s\n", "strategy", "inst",
            "bought", "paid", "too late", "never paid", "refused", "most held", "looks",
            "disagreed", "left", "verdict");
}

/* A line for each thing that is wrong at the end, with `before` before it; looks that disagreed
 * have a column. */
static void print_wrong(FILE *to, const struct unpaid_sale *sale, const char *before)
{
    const struct books *rows = &sale->rows;
    if (rows->held > 0)
        fprintf(to, "%s%" PRId64 " units are still held, though every hold is over\n", before,
                rows->held);
    if (misled(sale) > 0)
        fprintf(to,
                "%s%" PRId64 " units: %" PRId64 " were paid by the answers, %" PRId64
                " by the rows\n",
                before, misled(sale), sale->told.paid, rows->sold);
    if (!books_consistent(rows))
        fprintf(to, "%soversold %" PRId64 ", lost updates %" PRId64 "\n", before, rows->oversold,
                rows->lost_updates);
    if (sale->told.odd > 0)
        fprintf(to, "%s%" PRId64 " answers that make no sense\n", before, sale->told.odd);
}

void unpaid_print(FILE *to, const struct unpaid_sale *sale)
{
    const struct unpaid_tally *told = &sale->told;
    fprintf(to,
            "%-18s %5d %8" PRId64 " %8" PRId64 " %8" PRId64 " %10" PRId64 " %8" PRId64 " %9" PRId64
            " %6" PRId64 " %9" PRId64 " %8" PRId64 "  %s\n",
            sale->strategy->name, sale->instances, told->bought, told->paid, told->expired,
            told->abandoned, told->refused, sale->most_held, sale->looks, sale->wrong_looks,
            sale->rows.stock, verdict_name(unpaid_verdict(sale)));
    print_wrong(to, sale, "  ! ");
    fflush(to);
}

/* As print_wrong, in one line; "" where nothing is. */
static json_t *json_wrong(const struct unpaid_sale *sale)
{
    char text[600] = "";
    FILE *to = fmemopen(text, sizeof text, "w");
    if (!to)
        return NULL;
    print_wrong(to, sale, "");
    fclose(to);
    for (char *end = strchr(text, '\n'); end; end = strchr(end, '\n'))
        *end = end[1] ? ';' : '\0';
    return json_string(text);
}

json_t *unpaid_json(const struct unpaid_sale *sale, const struct options *options)
{
    const struct unpaid_tally *told = &sale->told;
    const struct promise promise = promise_with(&sale->strategy->promise, is_guarded(sale));
    json_t *figures =
        json_pack("{sI sI sI sI sI sI sI sI sI sI sI so}", "bought", told->bought, "paid",
                  told->paid, "too_late", told->expired, "never_paid", told->abandoned, "refused",
                  told->refused, "failed", told->failed, "unknown", told->unknown, "odd", told->odd,
                  "most_held", sale->most_held, "looks", sale->looks, "disagreed",
                  sale->wrong_looks, "wrong", json_wrong(sale));
    return json_pack("{ss ss si ss ss si sI sI sI so so so ss}", "strategy", sale->strategy->name,
                     "body", sale->body, "instances", sale->instances, "scenario",
                     scenario_name(SCENARIO_UNPAID), "phase", phase_name(PHASE_TRUTH), "round", 1,
                     "connections", options->connections, "duration_s", options->duration_s,
                     "stock", options->stock, "audit", results_json_audit(&sale->rows), "promise",
                     results_json_promise(&promise), "unpaid", figures, "verdict",
                     verdict_name(unpaid_verdict(sale)));
}

bool unpaid_write(const char *folder, json_t *runs, const struct options *options,
                  const struct machine *machine, struct error *error)
{
    struct document document;
    bool written =
        document_write(folder, results_json_document(runs, options, machine), &document, error) &&
        csv_write(folder, "results.csv", columns, document.runs, error) &&
        page_write_run(folder, &document, error);
    document_free(&document);
    return written;
}
