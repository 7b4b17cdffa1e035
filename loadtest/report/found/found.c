/* See found.h. */
#include "loadtest/report/found/found.h"

#include "loadtest/load/usage.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ROUNDS_MAX = 1000, FIGURES = 5 };

/* Of one line, while it is gathered. */
struct values {
    double of[FIGURES][ROUNDS_MAX];
};

/* "": it has none. */
static const char *text_of(const json_t *run, const char *name)
{
    const char *text = json_string_value(json_object_get(run, name));
    return text ? text : "";
}

static int64_t integer_of(const json_t *object, const char *name)
{
    return (int64_t)json_number_value(json_object_get(object, name));
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

static enum verdict verdict_read(const char *name)
{
    for (int verdict = VERDICT_KEPT; verdict <= VERDICT_BROKEN; verdict++)
        if (strcmp(name, verdict_name((enum verdict)verdict)) == 0)
            return (enum verdict)verdict;
    return VERDICT_NO_RUN;
}

static struct found_line line_of(const json_t *run)
{
    return (struct found_line){.strategy = text_of(run, "strategy"),
                               .body = text_of(run, "body"),
                               .instances = (int)integer_of(run, "instances"),
                               .value = integer_of(run, "value")};
}

static bool is_same(const struct found_line *a, const struct found_line *b)
{
    return a->strategy && b->strategy && strcmp(a->strategy, b->strategy) == 0 &&
           strcmp(a->body, b->body) == 0 && a->instances == b->instances && a->value == b->value;
}

/* A phase with a limited stock says what the strategy is worth; the others how fast it is. */
static void take_stock(const json_t *run, struct found_line *line)
{
    const json_t *audit = json_object_get(run, "audit");
    int64_t oversold = integer_of(audit, "oversold");
    int64_t lost = integer_of(audit, "lost_updates");

    if (lost > line->lost_updates)
        line->lost_updates = lost;
    if (strcmp(text_of(run, "phase"), "speed") == 0 ||
        (line->sold_out && oversold <= line->oversold))
        return;
    line->sold_out = true;
    line->stock = integer_of(run, "stock");
    line->sold = integer_of(audit, "sold");
    line->oversold = oversold;
}

/* False: a text that is none, or out of memory. */
static bool take_answers(const json_t *run, struct found_line *line)
{
    struct answers *answers = line->answers ? line->answers : calloc(1, sizeof *answers);
    int64_t sum = 0;
    if (!answers || !answers_take(run, answers)) {
        line->answers = answers;
        return false;
    }
    for (int kind = 0; kind < ANSWERS_KINDS; kind++)
        sum += answers->kinds[kind].count;
    line->answers = sum > 0 ? answers : NULL;
    if (sum == 0)
        free(answers);
    return true;
}

static void add_round(struct apart_rounds *rounds, double value)
{
    if (rounds->count < APART_ROUNDS)
        rounds->values[rounds->count++] = value;
}

static bool take_figures(const json_t *run, struct found_line *line, struct values *values)
{
    const json_t *latency = json_object_get(run, "latency_us");
    const double figures[FIGURES] = {
        json_number_value(json_object_get(run, "committed_per_s")),
        json_number_value(json_object_get(latency, "p50")) / 1000,
        json_number_value(json_object_get(latency, "p90")) / 1000,
        json_number_value(json_object_get(latency, "p99")) / 1000,
        json_number_value(json_object_get(latency, "max")) / 1000,
    };

    if (strcmp(text_of(run, "phase"), "truth") == 0 || line->rounds == ROUNDS_MAX)
        return true;
    if (strcmp(text_of(run, "limit"), usage_limit_name(USAGE_GENERATOR)) == 0) {
        line->error = "a round without figures: wrk was never idle and the servers were";
        return true;
    }
    for (int i = 0; i < FIGURES; i++)
        values->of[i][line->rounds] = figures[i];
    add_round(&line->committed_rounds, figures[0]);
    add_round(&line->p99_rounds, figures[3]);
    line->rounds++;
    return take_answers(run, line);
}

static bool take_run(const json_t *run, struct found_line *line, struct values *values)
{
    const char *error = json_string_value(json_object_get(run, "error"));

    line->verdict = verdict_merge(line->verdict, verdict_read(text_of(run, "verdict")));
    if (error) {
        line->error = error;
        return true;
    }
    take_stock(run, line);
    if (!promises(run, "paused_holder") || !promises(run, "redis_failover"))
        line->class = FOUND_CARE;
    return take_figures(run, line, values);
}

static bool gather(const json_t *runs, struct found_line *line, struct values *values,
                   struct error *error)
{
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        const struct found_line its = line_of(run);
        if (is_same(&its, line) && !take_run(run, line, values))
            return error_fail(error, "runs[%zu]: its latencies (steps) cannot be read", i);
    }
    struct span *const spans[FIGURES] = {&line->committed_per_s, &line->p50_ms, &line->p90_ms,
                                         &line->p99_ms, &line->max_ms};
    for (int i = 0; i < FIGURES; i++)
        *spans[i] = span_of(values->of[i], line->rounds);
    if (line->oversold > 0 || line->lost_updates > 0 || line->verdict == VERDICT_BROKEN)
        line->class = FOUND_BAD;
    return true;
}

static const struct found_line *find(const struct found_line *lines, size_t count,
                                     const struct found_line *line)
{
    for (size_t i = 0; i < count; i++)
        if (is_same(&lines[i], line))
            return &lines[i];
    return NULL;
}

const char *found_body_text(const struct found_line *line)
{
    return strcmp(line->body, "guarded") == 0 ? " (guarded)" : "";
}

const struct found_line *found_same(const struct found *found, const struct found_line *line)
{
    return find(found->lines, found->count, line);
}

/* Below 0: it has no line. */
static double best_rate(const struct found *found, const char *strategy)
{
    double best = -1;
    for (size_t i = 0; i < found->count; i++)
        if (strcmp(found->lines[i].strategy, strategy) == 0 &&
            found->lines[i].committed_per_s.median > best)
            best = found->lines[i].committed_per_s.median;
    return best;
}

static bool comes_before(const struct found *found, const struct found_line *a,
                         const struct found_line *b)
{
    double left = best_rate(found, a->strategy);
    double right = best_rate(found, b->strategy);
    int order = strcmp(a->strategy, b->strategy);

    if (left != right)
        return left > right;
    if (order != 0)
        return order < 0;
    order = strcmp(a->body, b->body);
    if (order != 0 || a->instances != b->instances)
        return order != 0 ? order < 0 : a->instances < b->instances;
    return a->value < b->value;
}

static void sort(struct found *found)
{
    for (size_t i = 1; i < found->count; i++)
        for (size_t j = i; j > 0 && comes_before(found, &found->lines[j], &found->lines[j - 1]);
             j--) {
            struct found_line line = found->lines[j];
            found->lines[j] = found->lines[j - 1];
            found->lines[j - 1] = line;
        }
}

const struct found_line *found_of(const struct found *found, const json_t *run)
{
    const struct found_line line = line_of(run);
    return found_same(found, &line);
}

bool found_has_open_loop(const struct found *found)
{
    const json_t *runs = json_object_get(found->document, "runs");
    for (size_t i = 0; i < json_array_size(runs); i++)
        if (json_object_get(json_array_get(runs, i), "open_loop"))
            return true;
    return false;
}

bool found_begins(const struct found *found, size_t line)
{
    const struct found_line *its = &found->lines[line];
    return line == 0 || strcmp(its->strategy, its[-1].strategy) != 0 ||
           strcmp(its->body, its[-1].body) != 0;
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
    struct timeline timeline;
    if (!json_is_object(run) || !*text_of(run, "strategy"))
        return error_fail(error, "runs[%zu] has no strategy", number);
    if (!is_sane(run))
        return error_fail(error, "runs[%zu] has a figure beyond 10^15", number);
    return answers_timeline(run, &timeline) ||
           error_fail(error, "runs[%zu]: its timeline cannot be read", number);
}

/* Of all pairs of values, since which of them is the best is not known beforehand. */
static bool set_apart(struct found *found, struct error *error)
{
    double *p = calloc(found->count * found->count + 1, sizeof *p);
    size_t pairs = 0;
    int more;
    for (size_t i = 0; p && i < found->count; i++)
        for (size_t j = 0; j < i; j++) {
            const struct found_line *one = &found->lines[i], *other = &found->lines[j];
            if (strcmp(one->strategy, other->strategy) == 0 && strcmp(one->body, other->body) == 0)
                p[pairs++] = apart_p(&one->committed_rounds, &other->committed_rounds, &more);
        }
    found->apart = p ? apart_limit(p, pairs) : -1;
    free(p);
    return p || error_fail(error, "out of memory");
}

/* `lines` has room for one of each run. */
static bool gather_all(struct found *found, struct values *values, struct error *error)
{
    const json_t *runs = json_object_get(found->document, "runs");

    for (size_t i = 0; i < json_array_size(runs); i++) {
        json_t *run = json_array_get(runs, i);
        if (!check_run(run, i, error))
            return false;
        struct found_line line = line_of(run);
        if (found_same(found, &line))
            continue;
        if (!found->over)
            found->over = json_string_value(json_object_get(run, "over"));
        struct found_line *kept = &found->lines[found->count++];
        *kept = line;
        if (!gather(runs, kept, values, error))
            return false;
    }
    sort(found);
    return !found->over || set_apart(found, error);
}

bool found_take(json_t *document, struct found *out, struct error *error)
{
    size_t room = json_array_size(json_object_get(document, "runs"));
    struct values *values = malloc(sizeof *values);

    *out = (struct found){.document = document};
    out->lines = room > 0 ? calloc(room, sizeof *out->lines) : NULL;
    bool taken = out->lines && values;
    if (taken)
        taken = gather_all(out, values, error);
    else
        error_fail(error, room > 0 ? "out of memory" : "it has no runs");
    free(values);
    if (!taken)
        found_free(out);
    return taken;
}

bool found_read(const char *path, struct found *out, struct error *error)
{
    char file[1200];
    struct stat about;
    json_error_t wrong;

    bool folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
    snprintf(file, sizeof file, "%s%s", path, folder ? "/results.json" : "");
    if (stat(file, &about) != 0)
        return error_fail(error, "%s: %s", file, strerror(errno));
    json_t *document = json_load_file(file, 0, &wrong);
    if (!document)
        return error_fail(error, "%s: line %d: %s", file, wrong.line, wrong.text);
    if (found_take(document, out, error))
        return true;
    return error_prefix(error, "%s", file);
}

void found_free(struct found *found)
{
    json_decref(found->document);
    for (size_t i = 0; i < found->count; i++)
        free(found->lines[i].answers);
    free(found->lines);
    *found = (struct found){0};
}

static bool is_chosen(const struct found_line *line, const struct option_list *strategies)
{
    for (size_t i = 0; i < strategies->count; i++)
        if (strcmp(line->strategy, strategies->items[i]) == 0)
            return true;
    return false;
}

bool found_choose(struct found *found, const struct option_list *strategies, struct error *error)
{
    size_t kept = 0;
    for (size_t i = 0; i < strategies->count; i++)
        if (best_rate(found, strategies->items[i]) < 0)
            return error_fail(error, "--strategies: there is no run of '%s'", strategies->items[i]);
    for (size_t i = 0; i < found->count; i++) {
        if (is_chosen(&found->lines[i], strategies))
            found->lines[kept++] = found->lines[i];
        else
            free(found->lines[i].answers);
    }
    found->count = kept;
    return true;
}

const char *found_class_name(enum found_class class)
{
    static const char *const names[] = {
        [FOUND_SAFE] = "safe", [FOUND_CARE] = "care", [FOUND_BAD] = "bad"};
    return names[class];
}
