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
    struct junit_case one = junit_case_of(command, "made");
    char suite[60];
    snprintf(suite, sizeof suite, "seckill-loadtest %s", command);
    junit_end(&one, JUNIT_ERROR, "ended", "%s", ended ? ended : "");
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

/* A load, by its thresholds as they were judged; NULL: it had no figures. */
static void tell(FILE *to, const char *whose, const json_t *judged, struct gate *gate)
{
    char text[1200];
    if (gate->judged + gate->unjudged == 0)
        fputs(title, to);
    *(judged ? &gate->judged : &gate->unjudged) += 1;
    if (!judged) {
        print_lines(to, whose, "not judged, for there are no figures");
    } else if (say_failed(judged, text, sizeof text) > 0) {
        gate->failed++;
        print_lines(to, whose, text);
    }
}

void gate_print(FILE *to, const struct document *document, const struct thresholds *fail_if,
                struct gate *gate)
{
    *gate = (struct gate){0};
    for (size_t i = 0; i < json_array_size(document->runs); i++) {
        const json_t *run = json_array_get(document->runs, i);
        char phase[100], whose[200];
        say_phase(run, phase, sizeof phase);
        snprintf(whose, sizeof whose, "%s, %s", document_text(run, "strategy"), phase);
        if (has_thresholds(run, fail_if))
            tell(to, whose, judged_by(run), gate);
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

static void end_broken(const json_t *run, struct junit_case *one)
{
    const json_t *audit = json_object_get(run, "audit");
    junit_end(one, JUNIT_FAILED, verdict_name(VERDICT_BROKEN),
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
    const char *name = verdict_name(verdict);
    char said[sizeof one->text];
    if (verdict == VERDICT_BROKEN)
        end_broken(run, one);
    else if (verdict == VERDICT_NO_RUN)
        junit_end(one, JUNIT_ERROR, name, "%s", document_text(run, "error"));
    else if (has_thresholds(run, fail_if) && !judged_by(run))
        junit_end(one, JUNIT_ERROR, name, "the thresholds were not judged: no figures");
    else if (say_failed(judged_by(run), said, sizeof said) > 0)
        junit_end(one, JUNIT_FAILED, "threshold", "%s", said);
    else if (verdict == VERDICT_PROVED_NOTHING)
        junit_end(one, JUNIT_SKIPPED, name, "%s", name);
}

static void add_line(struct junit *junit, const struct line *line)
{
    static const enum junit_outcome outcomes[] = {[VERDICT_KEPT] = JUNIT_PASSED,
                                                  [VERDICT_PROVED_NOTHING] = JUNIT_ERROR,
                                                  [VERDICT_UNSAFE] = JUNIT_PASSED,
                                                  [VERDICT_NO_RUN] = JUNIT_ERROR,
                                                  [VERDICT_BROKEN] = JUNIT_FAILED};
    const char *verdict = verdict_name(line->verdict);
    char name[60];
    snprintf(name, sizeof name, "verdict, %d instance%s", line->instances,
             line->instances == 1 ? "" : "s");
    struct junit_case one = junit_case_of(line->strategy, name);
    junit_end(&one, outcomes[line->verdict], verdict, "%s", verdict);
    junit_add(junit, &one);
}

void gate_add_cases(struct junit *junit, const struct document *document,
                    const struct thresholds *fail_if)
{
    for (size_t i = 0; i < json_array_size(document->runs); i++) {
        const json_t *run = json_array_get(document->runs, i);
        char phase[100];
        say_phase(run, phase, sizeof phase);
        struct junit_case one = junit_case_of(document_text(run, "strategy"), phase);
        one.seconds = json_number_value(json_object_get(run, "duration_s"));
        judge_phase(run, fail_if, &one);
        junit_add(junit, &one);
    }
    for (size_t i = 0; i < json_array_size(document->runs); i++) {
        const json_t *run = json_array_get(document->runs, i);
        const struct line *line = document_line_of(document, run);
        if (line && line->first == run)
            add_line(junit, line);
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
    *gate = (struct gate){0};
    for (size_t i = 0; thresholds->count > 0 && i < count; i++) {
        json_t *judged = gate_load_json(thresholds, &loads[i].measured);
        tell(to, loads[i].name, judged, gate);
        json_decref(judged);
    }
    if (gate->judged == 1 && gate->failed == 0)
        fputs("  no threshold failed\n", to);
    else if (gate->judged > 0 && gate->failed == 0)
        fprintf(to, "  no threshold failed in %zu runs\n", gate->judged);
}

void gate_add_load(struct junit *junit, const char *group, const struct thresholds *thresholds,
                   const struct measured *measured)
{
    for (size_t i = 0; i < thresholds->count; i++) {
        const struct threshold *one = &thresholds->items[i];
        struct junit_case is = junit_case_of(group, one->text);
        char said[sizeof is.text];
        junit_end(&is, threshold_is_met(one, measured) ? JUNIT_FAILED : JUNIT_PASSED, "threshold",
                  "%s",
                  threshold_say_value(one, threshold_value(one, measured), said, sizeof said));
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
