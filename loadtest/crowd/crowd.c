/* See crowd.h. One thread and one epoll. */
#include "loadtest/crowd/crowd.h"

#include "base/clock.h"
#include "loadtest/base/process.h"
#include "loadtest/engine/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS_MAX = 256, TURN_MS = 5, REST_US = 50000, TICK_US = 250000 };
enum { FIRST_USER = 1000001 };
enum { ANSWER_LIMIT_US = 70000000 }; /* longer than any order may take */

/* A connection, and what its last request was answered. */
struct tab {
    struct client client; /* the first: an event names it, and so the tab */
    struct place *place;  /* borrowed */
    int64_t due_us;
    bool busy;
    struct buyer_reply reply;
};

/* Where one buyer after the other stands. */
struct place {
    struct buyer buyer;
    struct tab tabs[2];
    bool taken, pressed_twice;
    int64_t rest_until_us;
};

struct crowd {
    const struct crowd_plan *plan; /* borrowed, as the two below */
    struct hall *hall;
    struct crowd_tally *tally;
    int epoll_fd;
    struct client_target targets[CROWD_TARGETS_MAX];
    struct place *places; /* owned */
    size_t count, taken;
    struct random random;
    int64_t arrived, late_left;
    int64_t answered_us, ticked_us;
};

/* The place is free: the next buyer, while there is something to sell or to refuse. */
static void let_in(struct crowd *crowd, struct place *place)
{
    bool late = crowd->hall->open_count == 0;
    if (late && crowd->late_left <= 0)
        return;
    crowd->late_left -= late;
    buyer_arrive(&place->buyer, crowd->hall, FIRST_USER + crowd->arrived++, &crowd->random);
    place->taken = true;
    crowd->taken++;
}

static void learn(struct crowd *crowd, struct place *place)
{
    bool again = !buyer_learn(&place->buyer, crowd->hall, crowd->tally, &place->tabs[0].reply,
                              place->pressed_twice ? &place->tabs[1].reply : NULL, &crowd->random);
    int64_t now_us = clock_mono_us();
    place->pressed_twice = false;
    if (again)
        place->rest_until_us = now_us + REST_US;
    if (crowd->hall->open_count == 0 && crowd->tally->emptied_us == 0)
        crowd->tally->emptied_us = now_us;
    if (place->buyer.step == BUYER_GOES) {
        place->taken = false;
        crowd->taken--;
    }
}

/* The tab's request is over, with the reply that stands in it. A buyer who has pressed twice waits
 * for both. */
static void end(struct crowd *crowd, struct tab *tab)
{
    struct place *place = tab->place;
    tab->busy = false;
    if (!place->tabs[0].busy && !place->tabs[1].busy)
        learn(crowd, place);
}

/* It is asked again of the next server. */
static void lose(struct crowd *crowd, struct tab *tab)
{
    size_t server = (size_t)(tab->client.target - crowd->targets);
    tab->client.target = &crowd->targets[(server + 1) % crowd->plan->targets_count];
    tab->reply = (struct buyer_reply){.status = 0};
    end(crowd, tab);
}

static void send_on(struct crowd *crowd, struct tab *tab, int64_t now_us)
{
    struct http_request asked;
    char request[REQUEST_BYTES];
    buyer_ask(&tab->place->buyer, crowd->plan->strategy, crowd->plan->query, &asked);
    size_t length = http_request_write(&asked, tab->client.target->authority, request);
    tab->busy = true;
    tab->due_us = now_us + ANSWER_LIMIT_US;
    tab->reply = (struct buyer_reply){.status = 0};
    if (!client_send(&tab->client, crowd->epoll_fd, request, length))
        tab->due_us = 0; /* drop_late tells, when nothing else is being done with the place */
}

static void act(struct crowd *crowd, struct place *place, int64_t now_us)
{
    if (place->tabs[0].busy || place->tabs[1].busy || place->rest_until_us > now_us)
        return;
    if (!place->taken)
        let_in(crowd, place);
    if (!place->taken)
        return;
    place->pressed_twice = place->buyer.step == BUYER_BUYS && place->buyer.presses_twice;
    send_on(crowd, &place->tabs[0], now_us);
    if (place->pressed_twice)
        send_on(crowd, &place->tabs[1], now_us);
}

static void take_events(struct crowd *crowd)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(crowd->epoll_fd, events, EVENTS_MAX, TURN_MS);
    for (int i = 0; i < count; i++) {
        struct tab *tab = events[i].data.ptr;
        struct answer answer;
        enum client_event event = client_turn(&tab->client, crowd->epoll_fd, &answer);
        if (event == CLIENT_ANSWERS) {
            buyer_read(&tab->reply, &answer);
            crowd->answered_us = clock_mono_us();
            end(crowd, tab);
        } else if (event == CLIENT_FAILS) {
            lose(crowd, tab);
        }
    }
}

static void drop_late(struct crowd *crowd, struct place *place, int64_t now_us)
{
    for (size_t i = 0; i < 2; i++) {
        struct tab *tab = &place->tabs[i];
        if (!tab->busy || tab->due_us > now_us)
            continue;
        client_close(&tab->client);
        lose(crowd, tab);
    }
}

static bool tick(struct crowd *crowd, int64_t now_us, struct error *error)
{
    if (process_interrupted())
        return error_fail(error, "interrupted");
    if (now_us - crowd->ticked_us < TICK_US)
        return true;
    crowd->ticked_us = now_us;
    if (now_us - crowd->answered_us > ANSWER_LIMIT_US)
        return error_fail(error, "no server has answered for %d s",
                          ANSWER_LIMIT_US / (int)CLOCK_US_PER_S);
    return crowd->plan->tick(crowd->plan->context, crowd->tally, error);
}

static bool drive(struct crowd *crowd, struct error *error)
{
    int64_t now_us = clock_mono_us();
    crowd->answered_us = now_us;
    crowd->tally->began_us = now_us;
    while (crowd->taken > 0 || crowd->hall->open_count > 0 || crowd->late_left > 0) {
        for (size_t i = 0; i < crowd->count; i++) {
            drop_late(crowd, &crowd->places[i], now_us);
            act(crowd, &crowd->places[i], now_us);
        }
        take_events(crowd);
        now_us = clock_mono_us();
        if (!tick(crowd, now_us, error))
            return false;
    }
    crowd->ticked_us = 0; /* once more, with all that was sold */
    return tick(crowd, now_us, error);
}

static bool open_place(struct crowd *crowd, struct place *place, struct error *error)
{
    const struct client_target *target = &crowd->targets[crowd->count % crowd->plan->targets_count];
    crowd->count++; /* from here on it is closed at the end */
    for (size_t i = 0; i < 2; i++) {
        place->tabs[i].place = place;
        client_init(&place->tabs[i].client, target);
    }
    return client_open(&place->tabs[0].client, crowd->epoll_fd, error) &&
           client_open(&place->tabs[1].client, crowd->epoll_fd, error);
}

static bool prepare(struct crowd *crowd, struct error *error)
{
    const struct crowd_plan *plan = crowd->plan;
    if (plan->targets_count == 0 || plan->targets_count > CROWD_TARGETS_MAX)
        return error_fail(error, "no servers, or more than %d", CROWD_TARGETS_MAX);
    crowd->places = calloc((size_t)plan->buyers, sizeof *crowd->places);
    crowd->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (!crowd->places || crowd->epoll_fd < 0)
        return error_fail(error, "no resources for the crowd: %s", strerror(errno));
    if (!client_allow(2 * plan->buyers, error))
        return false;
    for (size_t i = 0; i < plan->targets_count; i++) {
        if (!client_resolve(&crowd->targets[i], plan->targets[i], error))
            return false;
    }
    while (crowd->count < (size_t)plan->buyers) {
        if (process_interrupted())
            return error_fail(error, "interrupted");
        if (!open_place(crowd, &crowd->places[crowd->count], error))
            return false;
    }
    return true;
}

bool crowd_run(const struct crowd_plan *plan, struct hall *hall, struct crowd_tally *tally,
               struct error *error)
{
    struct crowd crowd = {.plan = plan,
                          .hall = hall,
                          .tally = tally,
                          .epoll_fd = -1,
                          .late_left = plan->late,
                          .random = random_begin(plan->seed, 0)};
    *tally = (struct crowd_tally){0};
    bool made = prepare(&crowd, error) && drive(&crowd, error);
    for (size_t i = 0; i < crowd.count; i++) {
        client_close(&crowd.places[i].tabs[0].client);
        client_close(&crowd.places[i].tabs[1].client);
    }
    if (crowd.epoll_fd >= 0)
        close(crowd.epoll_fd);
    free(crowd.places);
    return made;
}
