/* See findings.h. */
#include "loadtest/judge/claims/findings.h"

#include "loadtest/base/pool.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

static const struct {
    const char *invariant, *name, *meaning;
} kinds[FINDING_KIND_COUNT] = {
#define CLAIM(id, number, wrong, means, name, needs, find, tested) {number, wrong, means},
#include "loadtest/judge/claims/claims.def"
#undef CLAIM
};

const char *finding_invariant(enum finding_kind kind)
{
    return kinds[kind].invariant;
}

const char *finding_name(enum finding_kind kind)
{
    return kinds[kind].name;
}

void findings_fini(struct findings *findings)
{
    free(findings->items);
    *findings = (struct findings){0};
}

/* A ledger may be anybody's: no control character of it reaches the terminal. */
static void make_plain(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
    }
}

struct finding *findings_add(struct findings *findings, enum finding_kind kind, int64_t product,
                             int64_t units, const char *format, ...)
{
    struct finding *finding = array_add(&findings->items, &findings->count, sizeof *finding);
    va_list arguments;
    *finding = (struct finding){.kind = kind, .product = product, .units = units};
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
    make_plain(finding->text);
    findings->counts[kind]++;
    findings->units[kind] += llabs(units);
    if (kind == FINDING_CONSERVATION && units < 0)
        findings->gone -= units;
    return finding;
}

void finding_show(struct finding *finding, const struct ledger_op *op)
{
    if (!op)
        return;
    if (finding->ops_count < FINDING_OPS_MAX)
        finding->ops[finding->ops_count] = op;
    finding->ops_count++;
}

static int by_size(const void *a, const void *b)
{
    const struct finding *left = a, *right = b;
    if (left->kind != right->kind)
        return (left->kind > right->kind) - (left->kind < right->kind);
    if (left->ops_count != right->ops_count)
        return (left->ops_count > right->ops_count) - (left->ops_count < right->ops_count);
    if (left->units != right->units)
        return (left->units > right->units) - (left->units < right->units);
    int64_t first = left->ops_count ? left->ops[0]->number : 0;
    int64_t second = right->ops_count ? right->ops[0]->number : 0;
    return (first > second) - (first < second);
}

void findings_sort(struct findings *findings)
{
    if (findings->count > 1)
        qsort(findings->items, findings->count, sizeof *findings->items, by_size);
}

static void print_text(FILE *to, const char *before, const char *text)
{
    char plain[FINDING_TEXT_SIZE];
    if (!text || !*text)
        return;
    snprintf(plain, sizeof plain, "%s", text);
    make_plain(plain);
    fprintf(to, "%s%s", before, plain);
}

static void print_op(FILE *to, const struct ledger_op *op)
{
    fprintf(to, "      op %" PRId64 " [%" PRId64 " .. ", op->number, op->start_us);
    if (op->end_us == LEDGER_NEVER)
        fputs("never answered]", to);
    else
        fprintf(to, "%" PRId64 "]", op->end_us);
    fprintf(to, " %s", ledger_kind_name(op->kind));
    print_text(to, " user ", op->user);
    if (op->quantity)
        fprintf(to, " x %" PRId64, op->quantity);
    print_text(to, " key ", op->key);
    if (op->end_us != LEDGER_NEVER)
        fprintf(to, ": %s %d", ledger_result_name(op->result), op->status);
    print_text(to, " ", op->code);
    print_text(to, " order ", op->order);
    print_text(to, " ", ledger_state_name(op->state));
    putc('\n', to);
}

static void print_finding(FILE *to, const struct finding *finding)
{
    fputs("    ", to);
    if (finding->product)
        fprintf(to, "product %" PRId64 ": ", finding->product);
    fprintf(to, "%s\n", finding->text);
    for (size_t i = 0; i < finding->ops_count && i < FINDING_OPS_MAX; i++)
        print_op(to, finding->ops[i]);
    if (finding->ops_count > FINDING_OPS_MAX)
        fprintf(to, "      and %zu more operations\n", finding->ops_count - FINDING_OPS_MAX);
}

static int say(char *out, size_t size, int64_t number, const char *noun, const char *means)
{
    return snprintf(out, size, "%" PRId64 " %s%s: %s", number, noun, number == 1 ? "" : "s", means);
}

void findings_say(const struct findings *findings, enum finding_kind kind, char *out, size_t size)
{
    int64_t gone = kind == FINDING_CONSERVATION ? findings->gone : 0;
    int64_t units = findings->units[kind] - gone;
    int used = 0;
    if (units > 0)
        used = say(out, size, units, "unit", kinds[kind].meaning);
    else if (gone == 0)
        say(out, size, (int64_t)findings->counts[kind], "time", kinds[kind].meaning);
    if (units > 0 && gone > 0)
        used += snprintf(out + used, size - (size_t)used, "; ");
    if (gone > 0)
        say(out + used, size - (size_t)used, gone, "unit", "gone that nobody bought");
}

void findings_print(FILE *to, const struct findings *findings, size_t most)
{
    char said[FINDING_TEXT_SIZE];
    size_t shown = 0;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        enum finding_kind kind = finding->kind;
        if (i == 0 || findings->items[i - 1].kind != kind) {
            shown = 0;
            findings_say(findings, kind, said, sizeof said);
            fprintf(to, "  %s (%s %s: %zu)\n", said, kinds[kind].invariant, kinds[kind].name,
                    findings->counts[kind]);
        }
        if (shown++ < most)
            print_finding(to, finding);
        else if (shown == most + 1)
            fprintf(to, "    and %zu more\n", findings->counts[kind] - most);
    }
}
