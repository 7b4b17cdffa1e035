/*
 * What the Idempotency-Keys of a sale are worth when its load is over and everything is decided.
 *
 * Happy path: each sold order's row has a key; a hundred of these orders, chosen by the ends of
 * their ids, are sent once more with their key and body, to one instance after the other, and each
 * is answered 200 with the order of the row.
 *
 * Failure modes: a row without a key, another order, and a final no are violations. A server that
 * does not answer, or sheds an order for two seconds though nothing is under way, leaves it
 * unknown: the phase is no run. (A second row of one key is the audit's to find.)
 */
#include "loadtest/phase/phase.h"

#include "loadtest/engine/http_request.h"

#include <stdio.h>
#include <string.h>

enum { ASKED = 100, TRIES = 20, PAUSE_MS = 100, LINES_BYTES = HEADERS_SIZE + 320 };

struct asking {
    const struct fleet *fleet;
    const struct phase_plan *plan;
    const char *path;
    size_t asked;
    int64_t broken;
    struct error *error;
};

/* An order that was shed may be sent again. */
static bool buy_again(struct asking *asking, const char *server, const struct api_order *order,
                      struct api_answer *answer)
{
    for (int tries = 0; tries < TRIES; tries++) {
        if (!api_buy(asking->fleet->api, server, order, answer, asking->error))
            return false;
        if (answer->status < 500)
            return true;
        if (!process_sleep_ms(PAUSE_MS))
            return error_fail(asking->error, "interrupted");
    }
    return error_fail(asking->error,
                      "%s answers the repeat of an order with %ld %s, though nothing is under way",
                      server, answer->status, answer->says.code);
}

static bool ask_again(void *context, const struct witness_order *order)
{
    struct asking *asking = context;
    const struct fleet *fleet = asking->fleet;
    const char *server = fleet_targets(fleet)[asking->asked++ % fleet_targets_count(fleet)];
    const char *headers = asking->plan->load.headers;
    char body[REQUEST_BODY_SIZE], lines[LINES_BYTES];
    struct api_answer answer;
    http_request_order_body(body, &(struct http_order){.product = order->product,
                                                       .user = order->user,
                                                       .quantity = order->quantity});
    snprintf(lines, sizeof lines, "%sIdempotency-Key: %s\r\n", headers ? headers : "", order->key);
    if (!buy_again(asking, server, &(struct api_order){asking->path, body, lines}, &answer))
        return false;
    asking->broken += answer.status != 200 || strcmp(answer.says.id, order->id) != 0;
    return true;
}

bool repeats_check(const struct fleet *fleet, const struct phase_plan *plan, const char *path,
                   struct books *audit, struct error *error)
{
    struct asking asking = {.fleet = fleet, .plan = plan, .path = path, .error = error};
    const struct witness_sample sample = {
        .first = plan->load.first_product, .last = phase_last_product(plan), .most = ASKED};
    int64_t without_key = 0;
    if (!witness_count_keyless(fleet->witness, sample.first, sample.last, &without_key, error) ||
        !witness_keyed(fleet->witness, &sample, ask_again, &asking, error))
        return false;
    audit->unrepeatable += without_key + asking.broken;
    return true;
}
