/* See claims.h. */
#include "loadtest/judge/claims/claims.h"

#include "loadtest/judge/claims/checks.h"
#include "loadtest/judge/exact/exact.h"

#include <stdio.h>

static const struct claim {
    const char *name;
    unsigned needs;
    void (*find)(struct view *view);
    void (*tested)(const struct view *view, struct claim_finding *out);
} claims[FINDING_KIND_COUNT] = {
#define CLAIM(id, number, wrong, means, name, needs, find, tested) {name, needs, find, tested},
#include "loadtest/judge/claims/claims.def"
#undef CLAIM
};

const char *claim_name(enum finding_kind kind)
{
    return claims[kind].name;
}

/* A function finds what several rows are about, and is called for the first of them. */
static bool is_first(const struct view *view, size_t row)
{
    for (size_t i = 0; i < row; i++) {
        if (claims[i].find == claims[row].find && !(view->people && (claims[i].needs & NEED_OURS)))
            return false;
    }
    return true;
}

void claims_find(struct view *view)
{
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++) {
        if (!(view->people && (claims[i].needs & NEED_OURS)) && is_first(view, i))
            claims[i].find(view);
    }
}

/* What a shop's evidence lacks; NULL: nothing. */
static const char *lacks(const struct view *view, unsigned needs)
{
    if ((needs & NEED_LIMIT) && view->ledger->products[0].limit == 0)
        return "the target has no limit";
    if ((needs & NEED_LEFT) && !view->rows->has_left)
        return "the audit names no stock that is left";
    if ((needs & NEED_ORDERS) && !view->rows->has_orders)
        return "the audit names no orders";
    if ((needs & NEED_USERS) && !view->people->rows_have_users)
        return "the audit does not name the orders' users";
    if ((needs & NEED_REPEATS) && view->people->repeats == 0)
        return "no key was sent twice: give the target repeats";
    return NULL;
}

static void say_broken(enum finding_kind kind, const struct view *view, struct claim_finding *out)
{
    const struct findings *findings = view->findings;
    size_t first = 0, more = findings->counts[kind] - 1;
    while (findings->items[first].kind != kind)
        first++;
    out->result = CLAIM_BROKEN;
    if (more > 0)
        snprintf(out->text, sizeof out->text, "%.360s; and %zu more", findings->items[first].text,
                 more);
    else
        snprintf(out->text, sizeof out->text, "%s", findings->items[first].text);
}

void claims_say(enum finding_kind kind, const struct view *view, struct claim_finding *out)
{
    const char *lacking = lacks(view, claims[kind].needs);
    if (view->findings->counts[kind] > 0) {
        say_broken(kind, view, out);
    } else if (lacking) {
        out->result = CLAIM_NOT_CHECKED;
        snprintf(out->text, sizeof out->text, "%s", lacking);
    } else {
        claims[kind].tested(view, out);
    }
}
