/* See gate.h. */
#include "loadtest/report/pipeline/gate.h"

#include <inttypes.h>
#include <string.h>

static const char title[] = "\nThresholds (--fail-if)\n";

bool gate_open(struct thresholds *fail_if, struct junit *junit, const struct options *options,
               struct error *error)
{
    return (!*options->fail_if || thresholds_parse("fail-if", options->fail_if, fail_if, error)) &&
           junit_open(junit, options->junit, error);
}

bool gate_close(struct junit *junit, const char *command, const char *ended, struct error *error)
{
    struct junit_case one = {.name = "made", .outcome = JUNIT_ERROR, .type = "ended"};
    char suite[60];
    snprintf(suite, sizeof suite, "seckill-loadtest %s", command);
    snprintf(one.group, sizeof one.group, "%s", command);
    snprintf(one.text, sizeof one.text, "%s", ended ? ended : "");
    if (ended)
        junit_add(junit, &one);
    return junit_close(junit, suite, error);
}

/* Those that the phase was judged by; NULL: it had no figures. */
static const json_t *judged_by(const json_t *run)
{
    return json_object_get(run, "thresholds");
}

static bool has_thresholds(const json_t *run, const struct thresholds *fail_if)
{
    return fail_if->count > 0 && !document_is(run, "phase", "truth");
}

/* "speed, 3 instances, round 1": the strategy stands elsewhere. */
static void say_phase(const json_t *run, char *out, size_t size)
{
    int instances = (int)document_integer(run, "instances");
    snprintf(out, size, "%s, %d instance%s, round %d", document_text(run, "phase"), instances,
             instances == 1 ? "" : "s", (int)document_integer(run, "round"));
}

/* A line for each judged threshold that failed; returns how many these are. */
static size_t say_failed(const json_t *all, char *out, size_t size)
{
    size_t failed = 0;
    *out = '\0';
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *one = json_array_get(all, i);
        struct thresholds threshold;
        struct error error;
        char said[200];
        if (!json_is_true(json_object_get(one, "failed")) ||
            !thresholds_parse("fail-if", document_text(one, "threshold"), &threshold, &error))
            continue;
        threshold_say_value(threshold.items, json_number_value(json_object_get(one, "value")), said,
                            sizeof said);
        snprintf(out + strlen(out), size - strlen(out), "%s%s", failed ? "\n" : "", said);
        failed++;
    }
    return failed;
}

static void print_lines(FILE *to, const char *whose, const char *text)
{
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        fprintf(to, "  %s%s%.*s\n", whose, *whose ? ": " : "", (int)strcspn(line, "\n"), line);
}

static void print_phase(FILE *to, const json_t *run, const char *text)
{
    char phase[100], whose[200];
    say_phase(run, phase, sizeof phase);
    snprintf(whose, sizeof whose, "%s, %s", document_text(run, "strategy"), phase);
    print_lines(to, whose, text);
}

void gate_print(FILE *to, const struct document *document, const struct thresholds *fail_if,
                struct gate *gate)
{
    *gate = (struct gate){0};
    for (size_t i = 0; i < json_array_size(document->runs); i++) {
        const json_t *run = json_array_get(document->runs, i);
        char text[1200];
        if (!has_thresholds(run, fail_if))
            continue;
        if (gate->judged + gate->unjudged == 0)
            fputs(title, to);
        if (!judged_by(run)) {
            gate->unjudged++;
            print_phase(to, run, "not judged, for there are no figures");
            continue;
        }
        gate->judged++;
        if (say_failed(judged_by(run), text, sizeof text) == 0)
            continue;
        gate->failed++;
        print_phase(to, run, text);
    }
    if (gate->judged > 0 && gate->failed == 0)
        fprintf(to, "  no threshold failed in %zu phase%s\n", gate->judged,
                gate->judged == 1 ? "" : "s");
}

int gate_exit_status(const struct gate *gate, int verdicts)
{
    if (verdicts == 1 || gate->failed > 0)
        return 1;
    return gate->unjudged > 0 ? 2 : verdicts;
}

static void say_violations(const json_t *run, char *out, size_t size)
{
    const json_t *audit = json_object_get(run, "audit");
    snprintf(out, size,
             "sold %" PRId64 " of %" PRId64 ": %" PRId64 " oversold, %" PRId64
             " lost updates, %" PRId64 " duplicate orders, %" PRId64 " limits exceeded, %" PRId64
             " undersold, %" PRId64 " without a row, %" PRId64 " resold, %" PRId64
             " not repeatable, %" PRId64 " internal errors",
             document_integer(audit, "sold"), document_integer(audit, "initial_stock"),
             document_integer(audit, "oversold"), document_integer(audit, "lost_updates"),
             document_integer(audit, "duplicate_orders"),
             document_integer(audit, "limit_violations"), document_integer(audit, "undersold"),
             document_integer(audit, "missing"), document_integer(audit, "resold"),
             document_integer(audit, "unrepeatable"), document_integer(run, "internal_errors"));
}

static void judge_phase(const json_t *run, const struct thresholds *fail_if, struct junit_case *one)
{
    enum verdict verdict = document_verdict(run);
    snprintf(one->type, sizeof one->type, "%s", verdict_name(verdict));
    if (verdict == VERDICT_BROKEN) {
        one->outcome = JUNIT_FAILED;
        say_violations(run, one->text, sizeof one->text);
    } else if (verdict == VERDICT_NO_RUN) {
        one->outcome = JUNIT_ERROR;
        snprintf(one->text, sizeof one->text, "%s", document_text(run, "error"));
    } else if (has_thresholds(run, fail_if) && !judged_by(run)) {
        one->outcome = JUNIT_ERROR;
        snprintf(one->text, sizeof one->text, "the thresholds were not judged: no figures");
    } else if (say_failed(judged_by(run), one->text, sizeof one->text) > 0) {
        one->outcome = JUNIT_FAILED;
        snprintf(one->type, sizeof one->type, "threshold");
    } else if (verdict == VERDICT_PROVED_NOTHING) {
        one->outcome = JUNIT_SKIPPED;
        snprintf(one->text, sizeof one->text, "%s", verdict_name(verdict));
    } else {
        one->type[0] = '\0';
    }
}

static void judge_line(const struct line *line, struct junit_case *one)
{
    snprintf(one->name, sizeof one->name, "verdict, %d instance%s", line->instances,
             line->instances == 1 ? "" : "s");
    snprintf(one->text, sizeof one->text, "%s", verdict_name(line->verdict));
    if (line->verdict == VERDICT_BROKEN)
        one->outcome = JUNIT_FAILED;
    else if (line->verdict == VERDICT_NO_RUN || line->verdict == VERDICT_PROVED_NOTHING)
        one->outcome = JUNIT_ERROR;
    if (one->outcome != JUNIT_PASSED)
        snprintf(one->type, sizeof one->type, "%s", verdict_name(line->verdict));
}

void gate_add_cases(struct junit *junit, const struct document *document,
                    const struct thresholds *fail_if)
{
    for (size_t i = 0; i < json_array_size(document->runs); i++) {
        const json_t *run = json_array_get(document->runs, i);
        struct junit_case one = {.seconds = json_number_value(json_object_get(run, "duration_s"))};
        snprintf(one.group, sizeof one.group, "%s", document_text(run, "strategy"));
        say_phase(run, one.name, sizeof one.name);
        judge_phase(run, fail_if, &one);
        junit_add(junit, &one);
    }
    for (size_t i = 0; i < json_array_size(document->runs); i++) {
        const json_t *run = json_array_get(document->runs, i);
        const struct line *line = document_line_of(document, run);
        struct junit_case one = {.seconds = 0};
        if (!line || line->first != run)
            continue;
        snprintf(one.group, sizeof one.group, "%s", line->strategy);
        judge_line(line, &one);
        junit_add(junit, &one);
    }
}

json_t *gate_json(const struct phase_result *run)
{
    struct measured measured;
    bool is_asked =
        run->plan.fail_if && run->plan.fail_if->count > 0 && run->plan.kind != PHASE_TRUTH;
    return is_asked && phase_measured(run, &measured) ? gate_load_json(run->plan.fail_if, &measured)
                                                      : NULL;
}

void gate_print_loads(FILE *to, const struct thresholds *thresholds, const struct gate_load *loads,
                      size_t count, struct gate *gate)
{
    char text[1200];
    *gate = (struct gate){.judged = thresholds->count > 0 ? count : 0};
    if (gate->judged == 0)
        return;
    fputs(title, to);
    for (size_t i = 0; i < count; i++) {
        json_t *judged = gate_load_json(thresholds, &loads[i].measured);
        size_t failed = say_failed(judged, text, sizeof text);
        json_decref(judged);
        if (failed == 0)
            continue;
        gate->failed++;
        print_lines(to, loads[i].name, text);
    }
    if (gate->failed == 0 && count == 1)
        fputs("  no threshold failed\n", to);
    else if (gate->failed == 0)
        fprintf(to, "  no threshold failed in %zu runs\n", count);
}

void gate_add_load(struct junit *junit, const char *group, const struct thresholds *thresholds,
                   const struct measured *measured)
{
    for (size_t i = 0; i < thresholds->count; i++) {
        const struct threshold *one = &thresholds->items[i];
        struct junit_case is = {.outcome = JUNIT_PASSED};
        snprintf(is.group, sizeof is.group, "%s", group);
        snprintf(is.name, sizeof is.name, "%s", one->text);
        threshold_say(one, measured, is.text, sizeof is.text);
        if (threshold_is_met(one, measured)) {
            is.outcome = JUNIT_FAILED;
            snprintf(is.type, sizeof is.type, "threshold");
        }
        junit_add(junit, &is);
    }
}

json_t *gate_load_json(const struct thresholds *thresholds, const struct measured *measured)
{
    json_t *list = json_array();
    for (size_t i = 0; i < thresholds->count; i++) {
        const struct threshold *one = &thresholds->items[i];
        json_array_append_new(list, json_pack("{ss sf sb}", "threshold", one->text, "value",
                                              threshold_value(one, measured), "failed",
                                              (int)threshold_is_met(one, measured)));
    }
    return list;
}
