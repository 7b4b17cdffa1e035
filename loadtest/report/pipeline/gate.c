/* See gate.h. */
#include "loadtest/report/pipeline/gate.h"

#include "loadtest/base/pool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SAID_SIZE = 200 };

bool gate_open(struct gate *gate, const struct options *options, struct error *error)
{
    return (!*options->fail_if ||
            thresholds_parse("fail-if", options->fail_if, &gate->fail_if, error)) &&
           junit_open(&gate->junit, options->junit, error);
}

/* In words, as it was judged; false: it cannot be read. */
static bool say_judged(const json_t *one, char said[SAID_SIZE])
{
    struct thresholds threshold;
    struct error ignored;
    if (!thresholds_parse("fail-if", document_text(one, "threshold"), &threshold, &ignored))
        return false;
    threshold_say_value(threshold.items, json_number_value(json_object_get(one, "value")), said,
                        SAID_SIZE);
    return true;
}

static bool is_failed(const json_t *one)
{
    return json_is_true(json_object_get(one, "failed"));
}

/* A line for each judged threshold that failed; returns how many these are. */
static size_t say_failed(const json_t *all, char *out, size_t size)
{
    size_t failed = 0;
    char said[SAID_SIZE];
    *out = '\0';
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *one = json_array_get(all, i);
        if (is_failed(one) && say_judged(one, said))
            snprintf(out + strlen(out), size - strlen(out), "%s%s", failed++ ? "\n" : "", said);
    }
    return failed;
}

static void print_lines(FILE *to, const char *whose, const char *text)
{
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        fprintf(to, "  %s%s%.*s\n", whose, *whose ? ": " : "", (int)strcspn(line, "\n"), line);
}

void gate_print(FILE *to, struct gate *gate)
{
    for (size_t i = 0; i < gate->count; i++) {
        const struct gate_load *load = &gate->loads[i];
        char text[1200];
        if (i == 0)
            fputs("\nThresholds (--fail-if)\n", to);
        *(load->judged ? &gate->judged : &gate->unjudged) += 1;
        if (!load->judged) {
            print_lines(to, load->whose, "not judged, for there are no figures");
        } else if (say_failed(load->judged, text, sizeof text) > 0) {
            gate->failed++;
            print_lines(to, load->whose, text);
        }
    }
    if (gate->judged == 0 || gate->failed > 0)
        return;
    fputs("  no threshold failed", to);
    if (!*gate->loads->group)
        fprintf(to, " in %zu phase%s", gate->judged, gate->judged == 1 ? "" : "s");
    else if (gate->judged > 1)
        fprintf(to, " in %zu runs", gate->judged);
    fputc('\n', to);
}

int gate_exit_status(const struct gate *gate, int verdicts)
{
    if (verdicts == 1 || gate->failed > 0)
        return 1;
    return gate->unjudged > 0 ? 2 : verdicts;
}

/* `judged` is taken; NULL: there are no figures. */
static void add(struct gate *gate, const char *group, const char *whose, json_t *judged)
{
    struct gate_load *load = array_add(&gate->loads, &gate->count, sizeof *load);
    load->judged = judged;
    snprintf(load->group, sizeof load->group, "%s", group);
    snprintf(load->whose, sizeof load->whose, "%s", whose);
}

void gate_judge(struct gate *gate, const char *group, const char *whose,
                const struct measured *measured)
{
    if (gate->fail_if.count > 0)
        add(gate, group, whose, gate_load_json(&gate->fail_if, measured));
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

/* `judged`: by the thresholds, of a phase that has any; NULL: it had no figures. */
static void end_phase(const json_t *run, bool has_thresholds, const json_t *judged,
                      struct junit_case *one)
{
    enum verdict verdict = document_verdict(run);
    const char *name = verdict_name(verdict);
    char said[sizeof one->text];
    if (verdict == VERDICT_BROKEN)
        end_broken(run, one);
    else if (verdict == VERDICT_NO_RUN)
        junit_end(one, JUNIT_ERROR, name, "%s", document_text(run, "error"));
    else if (has_thresholds && !judged)
        junit_end(one, JUNIT_ERROR, name, "the thresholds were not judged: no figures");
    else if (say_failed(judged, said, sizeof said) > 0)
        junit_end(one, JUNIT_FAILED, "threshold", "%s", said);
    else if (verdict == VERDICT_PROVED_NOTHING)
        junit_end(one, JUNIT_SKIPPED, name, "%s", name);
}

/* Its case is named "speed, 3 instances, round 1": the strategy stands beside it. */
static void take_phase(struct gate *gate, const json_t *run)
{
    bool has_thresholds = gate->fail_if.count > 0 && !document_is(run, "phase", "truth");
    json_t *judged = json_object_get(run, "thresholds");
    int instances = (int)document_integer(run, "instances");
    char phase[100], whose[200];
    snprintf(phase, sizeof phase, "%s, %d instance%s, round %d", document_text(run, "phase"),
             instances, instances == 1 ? "" : "s", (int)document_integer(run, "round"));
    snprintf(whose, sizeof whose, "%s, %s", document_text(run, "strategy"), phase);
    struct junit_case one = {.group = document_text(run, "strategy"),
                             .name = phase,
                             .seconds = json_number_value(json_object_get(run, "duration_s"))};
    end_phase(run, has_thresholds, judged, &one);
    junit_add(&gate->junit, &one);
    if (has_thresholds)
        add(gate, "", whose, json_incref(judged));
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
    struct junit_case one = {.group = line->strategy, .name = name};
    junit_end(&one, outcomes[line->verdict], verdict, "%s", verdict);
    junit_add(junit, &one);
}

void gate_take(struct gate *gate, const struct document *document)
{
    for (size_t i = 0; i < json_array_size(document->runs); i++)
        take_phase(gate, json_array_get(document->runs, i));
    for (size_t i = 0; i < json_array_size(document->runs); i++) {
        const json_t *run = json_array_get(document->runs, i);
        const struct line *line = document_line_of(document, run);
        if (line && line->first == run)
            add_line(&gate->junit, line);
    }
}

static void add_load(struct junit *junit, const struct gate_load *load)
{
    for (size_t i = 0; *load->group && i < json_array_size(load->judged); i++) {
        const json_t *judged = json_array_get(load->judged, i);
        struct junit_case one = {.group = load->group, .name = document_text(judged, "threshold")};
        char said[SAID_SIZE];
        if (say_judged(judged, said))
            junit_end(&one, is_failed(judged) ? JUNIT_FAILED : JUNIT_PASSED, "threshold", "%s",
                      said);
        junit_add(junit, &one);
    }
}

bool gate_close(struct gate *gate, const char *command, const char *ended, struct error *error)
{
    struct junit_case one = {.group = command, .name = "made"};
    char suite[60];
    snprintf(suite, sizeof suite, "seckill-loadtest %s", command);
    for (size_t i = 0; i < gate->count; i++) {
        add_load(&gate->junit, &gate->loads[i]);
        json_decref(gate->loads[i].judged);
    }
    free(gate->loads);
    gate->count = 0;
    junit_end(&one, JUNIT_ERROR, "ended", "%s", ended ? ended : "");
    if (ended)
        junit_add(&gate->junit, &one);
    return junit_close(&gate->junit, suite, error);
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

json_t *gate_json(const struct phase_result *run)
{
    struct measured measured;
    bool is_asked =
        run->plan.fail_if && run->plan.fail_if->count > 0 && run->plan.kind != PHASE_TRUTH;
    return is_asked && phase_measured(run, &measured) ? gate_load_json(run->plan.fail_if, &measured)
                                                      : NULL;
}
