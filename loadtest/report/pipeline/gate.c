/* See gate.h. */
#include "loadtest/report/pipeline/gate.h"

#include "loadtest/report/table.h"

#include <inttypes.h>
#include <string.h>

static const char title[] = "\nThresholds (--fail-if)\n";

static bool has_thresholds(const struct phase_result *run)
{
    return run->plan.fail_if && run->plan.fail_if->count > 0 && run->plan.kind != PHASE_TRUTH;
}

/* "speed, 3 instances, round 1": the strategy stands elsewhere. */
static void say_phase(const struct phase_result *run, char *out, size_t size)
{
    snprintf(out, size, "%s, %d instance%s, round %d", phase_name(run->plan.kind), run->instances,
             run->instances == 1 ? "" : "s", run->plan.round);
}

static void print_lines(FILE *to, const char *whose, const char *text)
{
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        fprintf(to, "  %s%s%.*s\n", whose, *whose ? ": " : "", (int)strcspn(line, "\n"), line);
}

static void print_phase(FILE *to, const struct phase_result *run, const char *text)
{
    char phase[100], whose[200];
    say_phase(run, phase, sizeof phase);
    snprintf(whose, sizeof whose, "%s, %s", run->plan.strategy->name, phase);
    print_lines(to, whose, text);
}

void gate_print(FILE *to, const struct phase_result *runs, size_t count, struct gate *gate)
{
    *gate = (struct gate){0};
    for (size_t i = 0; i < count; i++) {
        struct measured measured;
        char text[1200];
        if (!has_thresholds(&runs[i]))
            continue;
        if (gate->judged + gate->unjudged == 0)
            fputs(title, to);
        if (!phase_measured(&runs[i], &measured)) {
            gate->unjudged++;
            print_phase(to, &runs[i], "not judged, for there are no figures");
            continue;
        }
        gate->judged++;
        if (thresholds_say_met(runs[i].plan.fail_if, &measured, text, sizeof text) == 0)
            continue;
        gate->failed++;
        print_phase(to, &runs[i], text);
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

static void say_violations(const struct phase_result *run, char *out, size_t size)
{
    const struct books *audit = &run->audit;
    snprintf(out, size,
             "sold %" PRId64 " of %" PRId64 ": %" PRId64 " oversold, %" PRId64
             " lost updates, %" PRId64 " duplicate orders, %" PRId64 " limits exceeded, %" PRId64
             " undersold, %" PRId64 " without a row, %" PRId64 " resold, %" PRId64
             " not repeatable, %" PRId64 " internal errors",
             audit->sold, audit->initial_stock, audit->oversold, audit->lost_updates,
             audit->duplicate_orders, audit->limit_violations, audit->undersold, audit->missing,
             audit->resold, audit->unrepeatable, run->counts.internal_errors);
}

static void judge_phase(const struct phase_result *run, struct junit_case *one)
{
    struct measured measured;
    bool has_figures = phase_measured(run, &measured);
    snprintf(one->type, sizeof one->type, "%s", verdict_name(run->verdict));
    if (run->verdict == VERDICT_BROKEN) {
        one->outcome = JUNIT_FAILED;
        say_violations(run, one->text, sizeof one->text);
    } else if (run->verdict == VERDICT_NO_RUN) {
        one->outcome = JUNIT_ERROR;
        snprintf(one->text, sizeof one->text, "%s", run->error);
    } else if (has_thresholds(run) && !has_figures) {
        one->outcome = JUNIT_ERROR;
        snprintf(one->text, sizeof one->text, "the thresholds were not judged: no figures");
    } else if (has_thresholds(run) &&
               thresholds_say_met(run->plan.fail_if, &measured, one->text, sizeof one->text) > 0) {
        one->outcome = JUNIT_FAILED;
        snprintf(one->type, sizeof one->type, "threshold");
    } else if (run->verdict == VERDICT_PROVED_NOTHING) {
        one->outcome = JUNIT_SKIPPED;
        snprintf(one->text, sizeof one->text, "%s", verdict_name(run->verdict));
    } else {
        one->type[0] = '\0';
    }
}

static void judge_line(const struct phase_result *runs, size_t count, const struct phase_result *of,
                       struct junit_case *one)
{
    enum verdict verdict = VERDICT_KEPT;
    for (size_t i = 0; i < count; i++) {
        if (table_same_line(&runs[i], of))
            verdict = verdict_merge(verdict, runs[i].verdict);
    }
    snprintf(one->name, sizeof one->name, "verdict, %d instance%s", of->instances,
             of->instances == 1 ? "" : "s");
    snprintf(one->text, sizeof one->text, "%s", verdict_name(verdict));
    if (verdict == VERDICT_BROKEN)
        one->outcome = JUNIT_FAILED;
    else if (verdict == VERDICT_NO_RUN || verdict == VERDICT_PROVED_NOTHING)
        one->outcome = JUNIT_ERROR;
    if (one->outcome != JUNIT_PASSED)
        snprintf(one->type, sizeof one->type, "%s", verdict_name(verdict));
}

/* Whether a run before it belongs to its line. */
static bool is_told(const struct phase_result *runs, const struct phase_result *run)
{
    for (const struct phase_result *before = runs; before < run; before++) {
        if (table_same_line(before, run))
            return true;
    }
    return false;
}

void gate_add_cases(struct junit *junit, const struct phase_result *runs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct junit_case one = {.seconds = (double)runs[i].load.duration_us / 1e6};
        snprintf(one.group, sizeof one.group, "%s", runs[i].plan.strategy->name);
        say_phase(&runs[i], one.name, sizeof one.name);
        judge_phase(&runs[i], &one);
        junit_add(junit, &one);
    }
    for (size_t i = 0; i < count; i++) {
        struct junit_case one = {.seconds = 0};
        if (is_told(runs, &runs[i]))
            continue;
        snprintf(one.group, sizeof one.group, "%s", runs[i].plan.strategy->name);
        judge_line(runs, count, &runs[i], &one);
        junit_add(junit, &one);
    }
}

json_t *gate_json(const struct phase_result *run)
{
    struct measured measured;
    return has_thresholds(run) && phase_measured(run, &measured)
               ? gate_load_json(run->plan.fail_if, &measured)
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
        if (thresholds_say_met(thresholds, &loads[i].measured, text, sizeof text) == 0)
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
