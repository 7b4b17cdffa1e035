/* See document.h. */
#include "loadtest/report/document/document.h"

#include "loadtest/base/pool.h"
#include "loadtest/load/usage.h"
#include "loadtest/report/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 1000 };

/* Of one line, while it is gathered. */
struct values {
    double of[LINE_FIGURES][ROUNDS_MAX];
};

const char *document_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

int64_t document_integer(const json_t *object, const char *name)
{
    return (int64_t)json_number_value(json_object_get(object, name));
}

bool document_is(const json_t *run, const char *name, const char *text)
{
    return strcmp(document_text(run, name), text) == 0;
}

static bool promises(const json_t *run, const char *letter)
{
    const json_t *promise = json_object_get(run, "promise");
    for (size_t i = 0; i < json_array_size(promise); i++) {
        const char *name = json_string_value(json_array_get(promise, i));
        if (name && strcmp(name, letter) == 0)
            return true;
    }
    return false;
}

enum verdict document_verdict(const json_t *run)
{
    for (int verdict = VERDICT_KEPT; verdict <= VERDICT_BROKEN; verdict++)
        if (document_is(run, "verdict", verdict_name((enum verdict)verdict)))
            return (enum verdict)verdict;
    return VERDICT_NO_RUN;
}

static struct line line_of(const json_t *run)
{
    return (struct line){.strategy = document_text(run, "strategy"),
                         .body = document_text(run, "body"),
                         .instances = (int)document_integer(run, "instances"),
                         .value = document_integer(run, "value"),
                         .first = run,
                         .promise = {promises(run, "one_instance"), promises(run, "many_instances"),
                                     promises(run, "paused_holder"),
                                     promises(run, "redis_failover")}};
}

static bool is_same(const struct line *a, const struct line *b)
{
    return a->strategy && b->strategy && strcmp(a->strategy, b->strategy) == 0 &&
           strcmp(a->body, b->body) == 0 && a->instances == b->instances && a->value == b->value;
}

/* As books_violations, of what the file has. */
static int64_t violations(const json_t *audit)
{
    static const char *const names[] = {"oversold",         "lost_updates", "duplicate_orders",
                                        "limit_violations", "negative",     "undersold",
                                        "missing",          "resold",       "unrepeatable"};
    int64_t sum = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        sum += document_integer(audit, names[i]);
    return sum;
}

/* A phase with a limited stock says what the strategy is worth; the others how fast it is. Files of
 * before have one product's stock alone. */
static void take_stock(const json_t *run, struct line *line)
{
    const json_t *audit = json_object_get(run, "audit");

    if (document_is(run, "phase", "speed") ||
        (line->worst && violations(audit) <= violations(json_object_get(line->worst, "audit"))))
        return;
    line->worst = run;
    line->stock =
        json_object_get(audit, "initial_stock")
            ? document_integer(audit, "initial_stock") + document_integer(audit, "restocked")
            : document_integer(run, "stock");
    line->sold = document_integer(audit, "sold");
    line->left = document_integer(audit, "stock");
    line->oversold = document_integer(audit, "oversold");
}

static void take_audit(const json_t *run, struct line *line)
{
    const json_t *audit = json_object_get(run, "audit");
    int64_t lost = document_integer(audit, "lost_updates");

    line->internal_errors += document_integer(run, "internal_errors");
    line->undersold += document_integer(audit, "undersold");
    line->missing += document_integer(audit, "missing");
    line->resold += document_integer(audit, "resold");
    line->unrepeatable += document_integer(audit, "unrepeatable");
    line->limits += document_integer(audit, "limit_violations");
    line->others +=
        document_integer(audit, "duplicate_orders") + document_integer(audit, "negative");
    if (document_is(run, "phase", "speed"))
        line->limited += document_integer(run, "limit_reached");
    if (lost > line->lost_updates)
        line->lost_updates = lost;
    take_stock(run, line);
}

static double number_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static double per_s(const json_t *run, double count)
{
    double seconds = number_of(run, "duration_s");
    return seconds > 0 ? count / seconds : 0;
}

static bool took_time(const json_t *run)
{
    return !document_is(run, "phase", "truth") && !json_object_get(run, "error");
}

static bool is_generators(const json_t *run)
{
    return document_is(run, "limit", usage_limit_name(USAGE_GENERATOR));
}

/* False: its latencies are a text that is none. */
static bool take_figures(const json_t *run, struct line *line, struct values *values)
{
    const json_t *latency = json_object_get(run, "latency_us");
    const double figures[LINE_FIGURES] = {
        [LINE_REQUESTS] = number_of(run, "requests_per_s"),
        [LINE_COMMITTED] = number_of(run, "committed_per_s"),
        [LINE_REFUSED] = per_s(run, number_of(run, "refused")),
        [LINE_LIMITED] = per_s(run, number_of(run, "limit_reached")),
        [LINE_FAILED] = per_s(run, number_of(run, "failed") + number_of(run, "unknown")),
        [LINE_P50] = number_of(latency, "p50") / 1000,
        [LINE_P90] = number_of(latency, "p90") / 1000,
        [LINE_P99] = number_of(latency, "p99") / 1000,
        [LINE_LONGEST] = number_of(latency, "max") / 1000,
    };

    if (!took_time(run) || is_generators(run) || line->rounds == ROUNDS_MAX)
        return true;
    for (int i = 0; i < LINE_FIGURES; i++) {
        struct apart_rounds *rounds = &line->rounds_of[i];
        values->of[i][line->rounds] = figures[i];
        if (rounds->count < APART_ROUNDS)
            rounds->values[rounds->count++] = figures[i];
    }
    line->rounds++;
    if (!line->answers)
        line->answers = memory_take(sizeof *line->answers);
    return answers_take(run, line->answers);
}

/* All but its figures. */
static void take_run(const json_t *run, struct line *line)
{
    const char *error = json_string_value(json_object_get(run, "error"));

    line->verdict = verdict_merge(line->verdict, document_verdict(run));
    if (error)
        line->error = error;
    line->generators += took_time(run) && is_generators(run);
    take_audit(run, line);
}

struct line document_line_alone(const json_t *run)
{
    struct line line = line_of(run);

    take_run(run, &line);
    return line;
}

static enum line_class class_of(const struct line *line)
{
    if (line->oversold > 0 || line->lost_updates > 0 || line->verdict == VERDICT_BROKEN)
        return LINE_BAD;
    return line->promise.paused_holder && line->promise.redis_failover ? LINE_SAFE : LINE_CARE;
}

static bool gather(const json_t *runs, struct line *line, struct error *error)
{
    struct values values = {0};
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        const struct line its = line_of(run);
        if (!is_same(&its, line))
            continue;
        take_run(run, line);
        if (!take_figures(run, line, &values))
            return error_fail(error, "runs[%zu]: its latencies (steps) cannot be read", i);
    }
    for (int i = 0; i < LINE_FIGURES; i++)
        line->figures[i] = span_of(values.of[i], line->rounds);
    line->class = class_of(line);
    return true;
}

const char *line_body_text(const struct line *line)
{
    return strcmp(line->body, "guarded") == 0 ? " (guarded)" : "";
}

const struct line *document_same(const struct document *document, const struct line *line)
{
    for (size_t i = 0; i < document->count; i++)
        if (is_same(&document->lines[i], line))
            return &document->lines[i];
    return NULL;
}

const struct line *document_conditional(const struct document *document, int instances)
{
    const struct line line = {.strategy = "conditional", .body = "", .instances = instances};
    return document_same(document, &line);
}

static double best_rate(const struct document *document, const char *strategy)
{
    double best = -1;
    for (size_t i = 0; i < document->count; i++)
        if (strcmp(document->lines[i].strategy, strategy) == 0 &&
            document->lines[i].figures[LINE_COMMITTED].median > best)
            best = document->lines[i].figures[LINE_COMMITTED].median;
    return best;
}

static int by_rate(const void *a, const void *b)
{
    const struct line *left = a, *right = b;
    int order = (left->best < right->best) - (left->best > right->best);
    if (order == 0)
        order = strcmp(left->strategy, right->strategy);
    if (order == 0)
        order = strcmp(left->body, right->body);
    if (order == 0)
        order = left->instances - right->instances;
    return order ? order : (left->value > right->value) - (left->value < right->value);
}

const struct line *document_swept(const struct document *document, const char *strategy,
                                  int64_t value)
{
    for (size_t i = 0; i < document->count; i++)
        if (document->lines[i].value == value && strcmp(document->lines[i].strategy, strategy) == 0)
            return &document->lines[i];
    return NULL;
}

const struct line *document_line_of(const struct document *document, const json_t *run)
{
    const struct line line = line_of(run);
    return document_same(document, &line);
}

bool document_has_open_loop(const struct document *document)
{
    for (size_t i = 0; i < json_array_size(document->runs); i++)
        if (json_object_get(json_array_get(document->runs, i), "open_loop"))
            return true;
    return false;
}

enum line_mark document_mark(const struct document *document, const struct line *line)
{
    const struct line *best = line;
    int more;
    for (size_t i = 0; i < document->count; i++) {
        const struct line *other = &document->lines[i];
        if (strcmp(other->strategy, line->strategy) == 0 && strcmp(other->body, line->body) == 0 &&
            other->figures[LINE_COMMITTED].median > best->figures[LINE_COMMITTED].median)
            best = other;
    }
    if (best == line)
        return LINE_BEST;
    double p = apart_p(&line->rounds_of[LINE_COMMITTED], &best->rounds_of[LINE_COMMITTED], &more);
    return p > document->apart ? LINE_LIKE_BEST : LINE_LESS;
}

const char *document_mark_word(const struct document *document, const struct line *line)
{
    static const char *const words[] = {
        [LINE_BEST] = "best", [LINE_LIKE_BEST] = "= best", [LINE_LESS] = ""};
    return line->rounds > 0 ? words[document_mark(document, line)] : "";
}

/* No figure of a machine is larger: a page cannot show it, and a ratio to it says nothing. */
#define FIGURE_MOST 1e15

static bool is_sane(json_t *value)
{
    const char *name;
    json_t *member;
    size_t i;
    json_object_foreach(value, name, member)
    {
        if (!is_sane(member))
            return false;
    }
    json_array_foreach(value, i, member)
    {
        if (!is_sane(member))
            return false;
    }
    return !json_is_real(value) || fabs(json_real_value(value)) <= FIGURE_MOST;
}

/* What every run must have. */
static bool check_run(json_t *run, size_t number, struct error *error)
{
    if (!json_is_object(run) || !*document_text(run, "strategy"))
        return error_fail(error, "runs[%zu] has no strategy", number);
    if (!is_sane(run))
        return error_fail(error, "runs[%zu] has a figure beyond 10^15", number);
    return answers_can_draw(run) ||
           error_fail(error, "runs[%zu]: its timeline cannot be read", number);
}

/* Of all pairs of values, since which of them is the best is not known beforehand. */
static void set_apart(struct document *document)
{
    double *p = memory_take((document->count * document->count + 1) * sizeof *p);
    size_t pairs = 0;
    int more;
    for (size_t i = 0; i < document->count; i++)
        for (size_t j = 0; j < i; j++) {
            const struct line *one = &document->lines[i], *other = &document->lines[j];
            if (strcmp(one->strategy, other->strategy) == 0 && strcmp(one->body, other->body) == 0)
                p[pairs++] = apart_p(&one->rounds_of[LINE_COMMITTED],
                                     &other->rounds_of[LINE_COMMITTED], &more);
        }
    document->apart = apart_limit(p, pairs);
    free(p);
}

/* `lines` has room for one of each run. */
static bool gather_all(struct document *document, struct error *error)
{
    for (size_t i = 0; i < json_array_size(document->runs); i++) {
        json_t *run = json_array_get(document->runs, i);
        if (!check_run(run, i, error))
            return false;
        struct line line = line_of(run);
        if (document_same(document, &line))
            continue;
        if (!document->over)
            document->over = json_string_value(json_object_get(run, "over"));
        struct line *kept = &document->lines[document->count];
        *kept = line;
        kept->number = document->count++;
        if (!gather(document->runs, kept, error))
            return false;
    }
    for (size_t i = 0; i < document->count; i++)
        document->lines[i].best = best_rate(document, document->lines[i].strategy);
    qsort(document->lines, document->count, sizeof *document->lines, by_rate);
    if (document->over)
        set_apart(document);
    return true;
}

bool document_take(json_t *json, struct document *out, struct error *error)
{
    const json_t *runs = json_object_get(json, "runs");
    size_t room = json_array_size(runs);

    *out = (struct document){.json = json, .runs = runs};
    out->lines = memory_take((room + 1) * sizeof *out->lines);
    if (room > 0 ? gather_all(out, error) : error_fail(error, "it has no runs"))
        return true;
    document_free(out);
    return false;
}

bool document_write(const char *folder, json_t *json, struct document *out, struct error *error)
{
    struct error ignored;
    char *text = json ? json_dumps(json, FILES_JSON) : NULL;
    json_t *read = text ? json_loads(text, 0, NULL) : NULL;

    json_decref(json);
    free(text);
    *out = (struct document){.json = NULL};
    if (!read)
        return error_fail(error, "results.json: out of memory");
    bool written = files_write_json(folder, "results.json", json_incref(read), error);
    return document_take(read, out, written ? error : &ignored) && written;
}

bool document_read(const char *path, struct document *out, struct error *error)
{
    char file[FILES_PATH_MAX];
    json_t *document = files_read_json(path, "results.json", file, error);

    if (!document)
        return false;
    if (document_take(document, out, error))
        return true;
    return error_prefix(error, "%s", file);
}

void document_free(struct document *document)
{
    json_decref(document->json);
    for (size_t i = 0; i < document->count; i++)
        free(document->lines[i].answers);
    free(document->lines);
    *document = (struct document){0};
}

static bool is_chosen(const struct line *line, const struct option_list *strategies)
{
    for (size_t i = 0; i < strategies->count; i++)
        if (strcmp(line->strategy, strategies->items[i]) == 0)
            return true;
    return false;
}

bool document_choose(struct document *document, const struct option_list *strategies,
                     struct error *error)
{
    size_t kept = 0;
    for (size_t i = 0; i < strategies->count; i++)
        if (best_rate(document, strategies->items[i]) < 0)
            return error_fail(error, "--strategies: there is no run of '%s'", strategies->items[i]);
    for (size_t i = 0; i < document->count; i++) {
        if (is_chosen(&document->lines[i], strategies))
            document->lines[kept++] = document->lines[i];
        else
            free(document->lines[i].answers);
    }
    document->count = kept;
    return true;
}

enum line_class line_verdict_class(const struct line *line, enum verdict verdict)
{
    if (verdict == VERDICT_KEPT)
        return line->class == LINE_SAFE ? LINE_SAFE : LINE_CARE;
    return verdict == VERDICT_UNSAFE || verdict == VERDICT_BROKEN ? LINE_BAD : LINE_CARE;
}

const char *line_verdict_text(const struct line *line, enum verdict verdict)
{
    if (verdict != VERDICT_UNSAFE)
        return verdict_in_words(verdict, &line->promise);
    return line->oversold > 0 ? "oversold" : line->lost_updates > 0 ? "lost updates" : "wrong";
}

const char *line_class_name(enum line_class class)
{
    static const char *const names[] = {
        [LINE_SAFE] = "safe", [LINE_CARE] = "care", [LINE_BAD] = "bad"};
    return names[class];
}
