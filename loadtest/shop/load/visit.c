/* See visit.h. */
#include "loadtest/shop/load/visit.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

bool visit_fields_set(struct visit_fields *fields, const char *name, const char *value)
{
    size_t at = 0;
    while (at < fields->count && strcmp(fields->names[at], name) != 0)
        at++;
    char *kept = at < VISIT_FIELDS_MAX ? strdup(value) : NULL;
    if (!kept)
        return false;
    free(fields->values[at]);
    fields->names[at] = name;
    fields->values[at] = kept;
    fields->count += at == fields->count;
    return true;
}

bool visit_fields_copy(struct visit_fields *to, const struct visit_fields *from)
{
    for (size_t i = 0; i < from->count; i++) {
        if (!visit_fields_set(to, from->names[i], from->values[i]))
            return false;
    }
    return true;
}

void visit_fields_drop(struct visit_fields *fields)
{
    for (size_t i = 0; i < fields->count; i++)
        free(fields->values[i]);
    curl_slist_free_all(fields->cookies);
    *fields = (struct visit_fields){.count = 0};
}

static bool prepare(struct visit *visit, const struct shop_request *request, enum visit_state state,
                    struct error *error)
{
    struct fill_field fields[VISIT_FIELDS_MAX];
    for (size_t i = 0; i < visit->fields.count; i++)
        fields[i] = (struct fill_field){visit->fields.names[i], visit->fields.values[i]};
    bool made = call_prepare(&visit->call, request, fields, visit->fields.count, error);
    visit->ready = made;
    visit->state = made ? state : VISIT_IDLE;
    return made;
}

static bool prepare_purchase(struct visit *visit, const struct target *target,
                             struct ledger_op *purchase, struct error *error)
{
    bool made = prepare(visit, &target->purchase, VISIT_BUYING, error);
    purchase->unasked = !made;
    if (made)
        purchase->start_us = clock_mono_us();
    return made;
}

bool visit_begin(struct visit *visit, const struct target *target, struct ledger_op *purchase,
                 struct error *error)
{
    call_forget_cookies(&visit->call);
    for (const struct curl_slist *at = visit->fields.cookies; at; at = at->next)
        curl_easy_setopt(visit->call.easy, CURLOPT_COOKIELIST, at->data);
    visit->step = 0;
    /* A repeat has what the steps of the first have taken. */
    if (purchase->repeat || target->step_count == 0)
        return prepare_purchase(visit, target, purchase, error);
    return prepare(visit, &target->steps[0], VISIT_STEP, error);
}

/* A step that says no has answered for the purchase, which is then never sent. */
static bool says_no(const struct shop_request *step, struct ledger_op *purchase,
                    const struct shop_answer *answer)
{
    char *order = NULL; /* a no has none */
    enum shop_meaning meaning = meaning_of(step, answer, &order);
    if (meaning == SHOP_UNKNOWN)
        return false;
    ledger_op_means(purchase, meaning);
    purchase->status = answer->status;
    purchase->end_us = clock_mono_us();
    return true;
}

static void end_step(struct visit *visit, const struct target *target, struct ledger_op *purchase,
                     const struct shop_answer *answer, struct error *error)
{
    const struct shop_request *step = &target->steps[visit->step];
    if (says_no(step, purchase, answer))
        return;
    bool wanted = step->expect ? answer->status == step->expect
                               : answer->status >= 200 && answer->status < 300;
    if (!wanted) {
        error_fail(error, "step %zu (%.200s) was answered with status %d", visit->step + 1,
                   step->url, answer->status);
        return;
    }
    for (size_t i = 0; i < step->take_count; i++) {
        char *value = call_take(&visit->call, answer, &step->takes[i]);
        bool taken = value && visit_fields_set(&visit->fields, step->takes[i].name, value);
        free(value);
        if (!taken) {
            error_fail(error, "step %zu (%.200s): its answer has nothing at %s", visit->step + 1,
                       step->url, step->takes[i].at);
            return;
        }
    }
    visit->step++;
    if (visit->step < target->step_count)
        prepare(visit, &target->steps[visit->step], VISIT_STEP, error);
    else
        prepare_purchase(visit, target, purchase, error);
}

static void rest(struct visit *visit, const struct target *target)
{
    visit->state = VISIT_RESTING;
    visit->rest_until_us = clock_mono_us() + target->poll.every_us;
}

static void end_purchase(struct visit *visit, const struct target *target,
                         struct ledger_op *purchase, const struct shop_answer *answer)
{
    purchase->end_us = clock_mono_us();
    purchase->status = answer->status;
    ledger_op_means(purchase, meaning_of(&target->purchase, answer, &purchase->order));
    if (purchase->order && !visit_fields_set(&visit->fields, "order", purchase->order))
        return;
    if (purchase->first != SHOP_ACCEPTED || !target->poll.method)
        return;
    visit->give_up_us = clock_mono_us() + target->poll.within_us;
    rest(visit, target);
}

/* An answer that says nothing yet is asked for again, until its time is over. */
static void end_question(struct visit *visit, const struct target *target,
                         struct ledger_op *purchase, const struct shop_answer *answer)
{
    char *order = NULL;
    enum shop_meaning meaning = meaning_of(&target->poll, answer, &order);
    if (order && !purchase->order)
        purchase->order = order;
    else
        free(order);
    if (meaning != SHOP_UNKNOWN && meaning != SHOP_ACCEPTED && meaning != SHOP_SHED) {
        purchase->last = meaning;
        return;
    }
    if (clock_mono_us() >= visit->give_up_us)
        return;
    rest(visit, target);
}

void visit_answered(struct visit *visit, const struct target *target, struct ledger_op *purchase,
                    CURLcode result, struct error *error)
{
    const struct shop_answer answer = call_answer(&visit->call, result);
    enum visit_state state = visit->state;

    call_explain(&visit->call, result, error);
    visit->state = VISIT_IDLE; /* unless something is to come */
    if (state == VISIT_BUYING)
        end_purchase(visit, target, purchase, &answer);
    else if (state != VISIT_STEP)
        end_question(visit, target, purchase, &answer);
    else if (result == CURLE_OK)
        end_step(visit, target, purchase, &answer, error);
}

bool visit_ask(struct visit *visit, const struct target *target, struct error *error)
{
    return prepare(visit, &target->poll, VISIT_ASKING, error);
}
