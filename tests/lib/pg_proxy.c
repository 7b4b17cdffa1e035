#include "lib/t.h"

#include "lib/pg_proxy.h"

#include "base/clock.h"
#include "loadtest/relay/relay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POLL_US = 1000 };

struct pg_proxy {
    const char *folder;
    struct relay *relay;
    enum relay_type armed;
    int64_t bitten;   /* by that type, before it was armed */
    int64_t answered; /* before something was released */
    bool refuse_after_fault;
};

struct pg_proxy *pg_proxy_create(const char *folder)
{
    struct pg_proxy *proxy = calloc(1, sizeof *proxy);
    char own[108], real[108];
    struct error error;

    assert_non_null(proxy);
    proxy->folder = t_folder();
    snprintf(own, sizeof own, "%s/.s.PGSQL.5432", proxy->folder);
    snprintf(real, sizeof real, "%s/.s.PGSQL.5432", folder);
    proxy->relay = relay_start(RELAY_POSTGRES, own, real, &error);
    if (!proxy->relay)
        fail_msg("%s", error.text);
    return proxy;
}

void pg_proxy_destroy(struct pg_proxy *proxy)
{
    if (!proxy)
        return;
    relay_stop(proxy->relay);
    free(proxy);
}

const char *pg_proxy_folder(const struct pg_proxy *proxy)
{
    return proxy->folder;
}

int64_t pg_proxy_bytes(struct pg_proxy *proxy)
{
    struct relay_counts counts = relay_count(proxy->relay);

    return counts.bytes[RELAY_UPSTREAM] + counts.bytes[RELAY_DOWNSTREAM];
}

void pg_proxy_far_away(struct pg_proxy *proxy, int64_t round_trip_us)
{
    struct relay_toxic latency = {
        .type = RELAY_LATENCY, .stream = RELAY_DOWNSTREAM, .amount = round_trip_us};
    struct error error;

    if (!relay_set(proxy->relay, &latency, &error))
        fail_msg("%s", error.text);
}

void pg_proxy_arm_later(struct pg_proxy *proxy, const char *statement, int passing,
                        enum pg_fault fault)
{
    static const enum relay_type types[] = {[PG_FAULT_LOSE_REQUEST] = RELAY_LOSE_REQUEST,
                                            [PG_FAULT_LOSE_REPLY] = RELAY_SWALLOW_REPLY,
                                            [PG_FAULT_DELAY] = RELAY_HOLD_REQUEST,
                                            [PG_FAULT_HOLD] = RELAY_HOLD_REQUEST};
    struct relay_toxic toxic = {.type = types[fault],
                                .what = statement,
                                .nth = passing + 1,
                                .amount = fault == PG_FAULT_DELAY,
                                .then_refuse = proxy->refuse_after_fault};
    struct error error;

    proxy->armed = toxic.type;
    proxy->bitten = relay_count(proxy->relay).bitten[toxic.type];
    if (!relay_set(proxy->relay, &toxic, &error))
        fail_msg("%s", error.text);
}

void pg_proxy_wait_fault(struct pg_proxy *proxy)
{
    if (!relay_wait(proxy->relay, proxy->armed, proxy->bitten + 1, t_patience_us()))
        fail_msg("the proxy waited in vain: nobody sent the statement");
}

bool pg_proxy_has_bitten(struct pg_proxy *proxy)
{
    return relay_count(proxy->relay).bitten[proxy->armed] > proxy->bitten;
}

void pg_proxy_release(struct pg_proxy *proxy)
{
    proxy->answered = relay_count(proxy->relay).answered;
    relay_clear(proxy->relay, RELAY_HOLD_REQUEST);
}

void pg_proxy_wait_answered(struct pg_proxy *proxy)
{
    int64_t until_us = clock_mono_us() + t_patience_us();

    while (relay_count(proxy->relay).answered == proxy->answered && clock_mono_us() < until_us)
        clock_sleep_until(clock_mono_us() + POLL_US);
    if (relay_count(proxy->relay).answered == proxy->answered)
        fail_msg("the proxy waited in vain: PostgreSQL did not answer what was released");
}

void pg_proxy_refuse_after_fault(struct pg_proxy *proxy, bool refuse)
{
    proxy->refuse_after_fault = refuse;
    if (!refuse)
        relay_clear(proxy->relay, RELAY_REFUSE);
}
