/* See crowd.h. Two connections are one buyer's: what it asks goes over whichever is free first. */
#include "loadtest/crowd/crowd.h"

#include "base/clock.h"
#include "loadtest/engine/plain.h"

#include <stdlib.h>

enum { EACH = 2, REST_US = 50000, TICK_US = 250000, FIRST_USER = 1000001 };

/* Where one buyer after the other stands. Of a step it sends one request, or the same twice at
 * once; it goes on when all of them are over. */
struct place {
    struct buyer buyer;
    bool taken;
    int64_t rest_until_us;
    size_t presses, sent, over; /* of the step; presses 0: none is under way */
    size_t press_of[EACH];      /* by connection */
    struct buyer_reply replies[EACH];
};

struct crowd {
    const struct crowd_plan *plan; /* borrowed, as the two below */
    struct hall *hall;
    struct crowd_tally *tally;
    struct place *places; /* owned */
    size_t taken;
    struct random random;
    int64_t arrived, late_left;
    int64_t answered_us, ticked_us; /* answered_us 0: it has not begun */
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

/* Whether the place has a step to begin. */
static bool begin_step(struct crowd *crowd, struct place *place, int64_t now_us)
{
    if (place->rest_until_us > now_us)
        return false;
    if (!place->taken)
        let_in(crowd, place);
    if (!place->taken)
        return false;
    bool twice = place->buyer.step == BUYER_BUYS && place->buyer.presses_twice;
    place->presses = twice ? 2 : 1;
    place->sent = place->over = 0;
    return true;
}

static enum engine_next next(void *self, size_t connection, int64_t now_us,
                             struct http_request *request)
{
    struct crowd *crowd = self;
    struct place *place = &crowd->places[connection / EACH];
    if (place->presses == 0 && !begin_step(crowd, place, now_us))
        return ENGINE_PASSES;
    if (place->sent == place->presses)
        return ENGINE_PASSES;
    place->press_of[connection % EACH] = place->sent++;
    buyer_ask(&place->buyer, crowd->plan->strategy, crowd->plan->query, request);
    return ENGINE_ASKS;
}

static void learn(struct crowd *crowd, struct place *place, int64_t now_us)
{
    bool again = !buyer_learn(&place->buyer, crowd->hall, crowd->tally, &place->replies[0],
                              place->presses == 2 ? &place->replies[1] : NULL, &crowd->random);
    place->presses = 0;
    if (again)
        place->rest_until_us = now_us + REST_US;
    if (crowd->hall->open_count == 0 && crowd->tally->emptied_us == 0)
        crowd->tally->emptied_us = now_us;
    if (place->buyer.step == BUYER_GOES) {
        place->taken = false;
        crowd->taken--;
    }
}

static void answered(void *self, size_t connection, int64_t now_us, const struct answer *answer)
{
    struct crowd *crowd = self;
    struct place *place = &crowd->places[connection / EACH];
    struct buyer_reply *reply = &place->replies[place->press_of[connection % EACH]];
    *reply = (struct buyer_reply){.status = 0};
    if (answer->status) {
        buyer_read(reply, answer);
        crowd->answered_us = now_us;
    }
    if (++place->over == place->presses)
        learn(crowd, place, now_us);
}

static bool tick(void *self, int64_t now_us, struct error *error)
{
    struct crowd *crowd = self;
    if (crowd->answered_us == 0 || now_us - crowd->ticked_us < TICK_US)
        return true;
    crowd->ticked_us = now_us;
    if (now_us - crowd->answered_us > ENGINE_ANSWER_LIMIT_US)
        return error_fail(error, "no server has answered for %d s",
                          ENGINE_ANSWER_LIMIT_US / (int)CLOCK_US_PER_S);
    return crowd->plan->tick(crowd->plan->context, crowd->tally, error);
}

static bool begin(void *self, int64_t now_us, struct error *error)
{
    struct crowd *crowd = self;
    (void)error;
    crowd->answered_us = now_us;
    crowd->tally->began_us = now_us;
    return true;
}

static bool is_over(void *self, size_t busy, int64_t now_us)
{
    const struct crowd *crowd = self;
    (void)busy, (void)now_us;
    return crowd->taken == 0 && crowd->hall->open_count == 0 && crowd->late_left <= 0;
}

static size_t place_of(size_t connection)
{
    return connection / EACH;
}

bool crowd_run(const struct crowd_plan *plan, struct hall *hall, struct crowd_tally *tally,
               struct error *error)
{
    static const struct behaviour behaviour = {
        .next = next, .answered = answered, .is_over = is_over, .begin = begin, .tick = tick};
    struct crowd crowd = {.plan = plan,
                          .hall = hall,
                          .tally = tally,
                          .late_left = plan->late,
                          .random = random_begin(plan->seed, 0)};
    const struct plain_plan plain = {.servers = plan->targets,
                                     .servers_count = plan->targets_count,
                                     .server_of = place_of,
                                     .moves_on = true};
    struct engine_plan engine = {
        .behaviour = &behaviour, .self = &crowd, .connections = EACH * (size_t)plan->buyers};
    *tally = (struct crowd_tally){0};
    crowd.places = calloc((size_t)plan->buyers, sizeof *crowd.places);
    bool made =
        crowd.places ? plain_run(&plain, &engine, error) : error_fail(error, "out of memory");
    crowd.ticked_us = 0; /* once more, with all that was sold */
    made = made && tick(&crowd, clock_mono_us(), error);
    free(crowd.places);
    return made;
}
