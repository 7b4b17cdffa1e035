/*
 * `oasis`: a sale as great as that of Oasis' seventeen nights, to its end, and then the rows.
 *
 * Happy path: the nights are put on sale, a crowd buys them out while a line shows the hall
 * emptying, what was accepted is decided, the servers stop, and the witness counts. Ctrl-C, a
 * server that dies, and one that does not answer end the sale; what the rows say so far is said
 * then too, once the servers have ended what they had accepted.
 *
 * The crowd: so many buyers at once, each with a connection of its own and a second one to press
 * the button twice; what it asks goes over whichever is free first. A buyer arrives as soon as
 * another has gone, until every night is gone, and for a while longer, when all who come are
 * refused. An answer that does not come is asked for again of the next server, and one that says
 * that nothing was done of the same, both with the same key; when no server has answered for longer
 * than an order may take, the sale ends.
 */
#include "loadtest/commands/line/command_line.h"

#include "loadtest/base/pool.h"
#include "loadtest/base/terminal.h"
#include "loadtest/commands/harness.h"
#include "loadtest/crowd/crowd.h"
#include "loadtest/engine/engine.h"
#include "loadtest/report/files.h"

#include <stdlib.h>

/* So many of the tickets' number of buyers come when all is gone. */
enum { LATE_SHARE = 20, TENTHS = 10 };
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

struct oasis {
    const struct oasis_options *options; /* borrowed */
    struct harness harness;
    struct hall hall;
    int64_t first, last;            /* the products of its nights */
    struct crowd_tally tally;       /* what the crowd was told */
    char query[REQUEST_QUERY_SIZE]; /* behind "strategy=NAME" */
    struct place *places;           /* owned */
    size_t taken;
    struct random random;
    int64_t arrived, late_left;
    int64_t answered_us, ticked_us;   /* answered_us 0: the crowd has not begun */
    int64_t looked_us, looked_orders; /* when the rate was last taken, and the orders then */
    double per_s;
    int64_t tenths; /* of the tickets whose sale was said, where there is no terminal */

    /* Once the servers have ended. The rows are the witness's; nothing there asks the servers. */
    size_t instances;
    bool ended_early;  /* tickets may be left, and orders be under way whose answer nobody has */
    struct books rows; /* of all nights together */
    struct witness_holdings holdings;
};

static bool put_on_sale(struct oasis *oasis, struct error *error)
{
    const struct hall *hall = &oasis->hall;
    const struct fleet *fleet = &oasis->harness.fleet;
    int64_t epoch = 0;
    for (size_t i = 0; i < hall->count; i++) {
        char name[64];
        const struct night *night = &hall->nights[i];
        struct api_sale sale = {.first = night->product,
                                .count = 1,
                                .stock = night->tickets,
                                .limit = BUYER_LIMIT,
                                .name = name,
                                .epoch = &epoch};
        hall_name(hall, night, name, sizeof name);
        if (!api_put_products(oasis->harness.api, fleet->urls[0], &sale, error))
            return false;
    }
    return witness_remember(fleet->witness, oasis->first, oasis->last, epoch, error) &&
           phase_wait_clean(fleet, oasis->first, oasis->last, error);
}

/* Rewritten on a terminal; else a line when a tenth more is sold. */
static void show(struct oasis *oasis, int64_t now_us)
{
    char text[200];
    const struct hall *hall = &oasis->hall;
    bool terminal = oasis->harness.fleet.progress != NULL;
    int64_t tenths = hall->sold * TENTHS / hall->tickets;
    int64_t seconds = (now_us - oasis->tally.began_us) / CLOCK_US_PER_S;
    hall_line(hall, oasis->per_s, seconds, text, sizeof text);
    if (terminal)
        fprintf(stderr, "\r\033[K%.*s", terminal_columns(stderr) - 1, text);
    else if (tenths > oasis->tenths)
        fprintf(stderr, "%s\n", text);
    fflush(stderr);
    oasis->tenths = tenths;
}

/* The place is free: the next buyer, while there is something to sell or to refuse. */
static void let_in(struct oasis *oasis, struct place *place)
{
    bool late = oasis->hall.open_count == 0;
    if (late && oasis->late_left <= 0)
        return;
    oasis->late_left -= late;
    buyer_arrive(&place->buyer, &oasis->hall, FIRST_USER + oasis->arrived++, &oasis->random);
    place->taken = true;
    oasis->taken++;
}

/* Whether the place has a step to begin. */
static bool begin_step(struct oasis *oasis, struct place *place, int64_t now_us)
{
    if (place->rest_until_us > now_us)
        return false;
    if (!place->taken)
        let_in(oasis, place);
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
    struct oasis *oasis = self;
    struct place *place = &oasis->places[connection / EACH];
    if (place->presses == 0 && !begin_step(oasis, place, now_us))
        return ENGINE_PASSES;
    if (place->sent == place->presses)
        return ENGINE_PASSES;
    place->press_of[connection % EACH] = place->sent++;
    buyer_ask(&place->buyer, oasis->options->strategy, oasis->query, request);
    return ENGINE_ASKS;
}

static void learn(struct oasis *oasis, struct place *place, int64_t now_us)
{
    bool again = !buyer_learn(&place->buyer, &oasis->hall, &oasis->tally, &place->replies[0],
                              place->presses == 2 ? &place->replies[1] : NULL, &oasis->random);
    place->presses = 0;
    if (again)
        place->rest_until_us = now_us + REST_US;
    if (oasis->hall.open_count == 0 && oasis->tally.emptied_us == 0)
        oasis->tally.emptied_us = now_us;
    if (place->buyer.step == BUYER_GOES) {
        place->taken = false;
        oasis->taken--;
    }
}

static void answered(void *self, size_t connection, int64_t now_us, const struct answer *answer)
{
    struct oasis *oasis = self;
    struct place *place = &oasis->places[connection / EACH];
    struct buyer_reply *reply = &place->replies[place->press_of[connection % EACH]];
    *reply = (struct buyer_reply){.status = 0};
    if (answer->status) {
        buyer_read(reply, answer);
        oasis->answered_us = now_us;
    }
    if (++place->over == place->presses)
        learn(oasis, place, now_us);
}

/* The first rate is shown while its second goes on. */
static void take_rate(struct oasis *oasis, int64_t now_us)
{
    int64_t bought = oasis->tally.bought;
    bool second = now_us - oasis->looked_us >= CLOCK_US_PER_S;
    if (second || oasis->looked_orders == 0)
        oasis->per_s = (double)(bought - oasis->looked_orders) * CLOCK_US_PER_S /
                       (double)(now_us - oasis->looked_us);
    if (second) {
        oasis->looked_us = now_us;
        oasis->looked_orders = bought;
    }
}

static bool tick(void *self, int64_t now_us, struct error *error)
{
    struct oasis *oasis = self;
    const struct fleet *fleet = &oasis->harness.fleet;
    if (oasis->answered_us == 0 || now_us - oasis->ticked_us < TICK_US)
        return true;
    oasis->ticked_us = now_us;
    if (now_us - oasis->answered_us > ENGINE_ANSWER_LIMIT_US)
        return error_fail(error, "no server has answered for %d s",
                          ENGINE_ANSWER_LIMIT_US / (int)CLOCK_US_PER_S);
    take_rate(oasis, now_us);
    show(oasis, now_us);
    return !fleet->instances || instance_all_alive(fleet->instances, fleet->count, error);
}

static bool begin(void *self, int64_t now_us, struct error *error)
{
    struct oasis *oasis = self;
    (void)error;
    oasis->answered_us = now_us;
    oasis->tally.began_us = now_us;
    return true;
}

static bool is_over(void *self, size_t busy, int64_t now_us)
{
    const struct oasis *oasis = self;
    (void)busy, (void)now_us;
    return oasis->taken == 0 && oasis->hall.open_count == 0 && oasis->late_left <= 0;
}

static size_t place_of(size_t connection)
{
    return connection / EACH;
}

static bool let_them_buy(struct oasis *oasis, struct error *error)
{
    static const struct behaviour behaviour = {
        .next = next, .answered = answered, .is_over = is_over, .begin = begin, .tick = tick};
    const struct options *options = &oasis->options->shared;
    const struct plain_plan plan = {.behaviour = &behaviour,
                                    .self = oasis,
                                    .connections = EACH * (size_t)options->connections,
                                    .servers = oasis->harness.fleet.urls,
                                    .servers_count = oasis->harness.fleet.count,
                                    .server_of = place_of,
                                    .moves_on = true};
    oasis->late_left = oasis->hall.tickets / LATE_SHARE;
    oasis->random = random_begin(options->seed, 0);
    http_request_query(oasis->query, options->wait_ms, options->body, NULL);
    oasis->places = memory_take((size_t)options->connections * sizeof *oasis->places);
    bool made = plain_run(&plan, error);
    oasis->ticked_us = 0; /* once more, with all that was sold */
    made = made && tick(oasis, clock_mono_us(), error);
    free(oasis->places);
    return made;
}

static bool sell(struct oasis *oasis, struct error *error)
{
    const struct fleet *fleet = &oasis->harness.fleet;
    char tickets[HALL_FIGURE_SIZE];
    printf("%s tickets for %zu nights, at most %d a buyer. The hall empties on the page at %s/\n",
           hall_figure(oasis->hall.tickets, tickets), oasis->hall.count, BUYER_LIMIT,
           fleet->urls[0]);
    fflush(stdout);
    oasis->looked_us = clock_mono_us();
    bool made = let_them_buy(oasis, error);
    harness_clear_progress(&oasis->harness);
    return made && phase_wait_settled(fleet, oasis->first, oasis->last, error);
}

/* --- what the rows say, beside what the crowd was told, and what does not agree --- */

/* 1.4 million tickets over six hours: https://renerocks.ai/blog/2025-11-02--tigerfans/, which gives
 * it as the rate to beat, 65 tickets a second. */
static const double real_tickets = 1400000, real_seconds = 6 * 3600;
#define REAL_SOURCE "https://renerocks.ai/blog/2025-11-02--tigerfans/"

/* One line when there are any. */
static size_t fault(FILE *to, int64_t count, const char *what)
{
    char figure[HALL_FIGURE_SIZE];
    if (count == 0)
        return 0;
    fprintf(to, "  ! %s: %s\n", what, hall_figure(count, figure));
    return 1;
}

static int64_t or_zero(int64_t figure)
{
    return figure > 0 ? figure : 0;
}

/* Tickets that buyers were told of and that are not in the rows. With failed rows the figures say
 * nothing: those orders were accepted, and refused later. */
static int64_t missing(const struct oasis *oasis)
{
    return oasis->rows.failed_rows > 0 ? 0 : or_zero(oasis->hall.sold - oasis->rows.sold);
}

/* Tickets in the rows that no buyer was told of. */
static int64_t untold(const struct oasis *oasis)
{
    return oasis->ended_early ? 0 : or_zero(oasis->rows.sold - oasis->hall.sold);
}

/* A line for each thing that is wrong; how many. */
static size_t print_faults(const struct oasis *oasis, FILE *to)
{
    const struct crowd_tally *told = &oasis->tally;
    const struct books *rows = &oasis->rows;
    int64_t left = oasis->ended_early ? 0 : or_zero(rows->stock);
    return fault(to, rows->oversold, "OVERSOLD, tickets more than there were") +
           fault(to, rows->lost_updates, "tickets that the stock does not account for") +
           fault(to, rows->duplicate_orders, "orders sold twice for one key") +
           fault(to, rows->limit_violations, "buyers with more than four tickets") +
           fault(to, oasis->holdings.most > BUYER_LIMIT ? oasis->holdings.most : 0,
                 "tickets that one buyer has") +
           fault(to, rows->queued, "tickets accepted and not decided") +
           fault(to, left, "tickets left though buyers were told that there were none") +
           fault(to, missing(oasis), "tickets that buyers were told they had, and no row says so") +
           fault(to, untold(oasis), "tickets sold that no buyer was told of") +
           fault(to, told->repeated_wrongly, "repeats of a key that got another answer") +
           fault(to, told->over_limit, "buyers who came back for a fifth ticket and got it") +
           fault(to, told->late_sold, "buyers who got a ticket after \"sold out\"") +
           fault(to, told->unexpected, "answers that make no sense");
}

static double seconds_of(const struct crowd_tally *tally)
{
    int64_t end_us = tally->emptied_us > 0 ? tally->emptied_us : clock_mono_us();
    int64_t took_us = tally->began_us > 0 ? end_us - tally->began_us : 0;
    return took_us > 0 ? (double)took_us / CLOCK_US_PER_S : 1e-6;
}

static void line(FILE *to, const char *name, int64_t figure, const char *more)
{
    char text[HALL_FIGURE_SIZE];
    fprintf(to, "  %-24s %12s%s\n", name, hall_figure(figure, text), more);
}

static void print_rows(const struct oasis *oasis, FILE *to)
{
    char of[HALL_FIGURE_SIZE + 8], all[HALL_FIGURE_SIZE];
    snprintf(of, sizeof of, " of %s", hall_figure(oasis->hall.tickets, all));
    fputs("What the rows say\n", to);
    line(to, "tickets sold", oasis->rows.sold, of);
    line(to, "oversold", oasis->rows.oversold, "");
    line(to, "orders", oasis->holdings.orders, "");
    line(to, "buyers", oasis->holdings.buyers, "");
    line(to, "most of one buyer", oasis->holdings.most, ", of four at most");
    line(to, "sold twice for one key", oasis->rows.duplicate_orders, "");
}

static void print_answers(const struct crowd_tally *tally, FILE *to)
{
    fputs("What the buyers were told\n", to);
    line(to, "pages looked at", tally->looks, "");
    line(to, "keys sent twice", tally->repeated,
         tally->repeated_wrongly == 0 ? ", each answered as the first time" : "");
    line(to, "came back for more", tally->came_back, tally->over_limit == 0 ? ", all refused" : "");
    line(to, "\"sold out\"", tally->sold_out, "");
    line(to, "came too late", tally->late, tally->late_sold == 0 ? ", all refused" : "");
    line(to, "asked again", tally->sent_again, ", when nothing had been done");
}

static void print_books(const struct oasis *oasis, FILE *to)
{
    double seconds = seconds_of(&oasis->tally);
    double rate = (double)oasis->rows.sold / seconds;
    char sold[HALL_FIGURE_SIZE], per_s[HALL_FIGURE_SIZE], orders[HALL_FIGURE_SIZE];
    fprintf(to, "\n%s: %s tickets in %.1f s, %s tickets and %s orders a second, by %s in %zu %s\n",
            oasis->ended_early ? "Ended early" : "The hall is empty",
            hall_figure(oasis->rows.sold, sold), seconds, hall_figure((int64_t)rate, per_s),
            hall_figure((int64_t)((double)oasis->holdings.orders / seconds), orders),
            oasis->options->strategy, oasis->instances,
            oasis->instances == 1 ? "instance" : "instances");
    print_rows(oasis, to);
    print_answers(&oasis->tally, to);
    fprintf(to,
            "The real sale took about six hours for its 1,400,000, 65 a second (%s): this one went "
            "%.0f times as fast.\n",
            REAL_SOURCE, rate / (real_tickets / real_seconds));
}

static json_t *json_books(const struct oasis *oasis)
{
    const struct crowd_tally *told = &oasis->tally;
    const struct books *rows = &oasis->rows;
    json_t *counted =
        json_pack("{sI sI sI sI sI sI sI sI sI sI}", "sold", rows->sold, "stock", rows->stock,
                  "oversold", rows->oversold, "lost_updates", rows->lost_updates,
                  "duplicate_orders", rows->duplicate_orders, "limit_violations",
                  rows->limit_violations, "queued", rows->queued, "orders", oasis->holdings.orders,
                  "buyers", oasis->holdings.buyers, "most_of_one_buyer", oasis->holdings.most);
    json_t *answers = json_pack(
        "{sI sI sI sI sI sI sI sI sI sI sI sI}", "tickets", oasis->hall.sold, "orders",
        told->bought, "pages", told->looks, "repeated", told->repeated, "repeated_wrongly",
        told->repeated_wrongly, "came_back", told->came_back, "over_limit", told->over_limit,
        "sold_out", told->sold_out, "late", told->late, "late_sold", told->late_sold, "sent_again",
        told->sent_again, "unexpected", told->unexpected);
    return json_pack("{sI sI ss sI sf so so}", "tickets", oasis->hall.tickets, "nights",
                     (json_int_t)oasis->hall.count, "strategy", oasis->options->strategy,
                     "instances", (json_int_t)oasis->instances, "duration_s", seconds_of(told),
                     "rows", counted, "answers", answers);
}

/* The exit status. */
static int judge(struct oasis *oasis, struct error *error)
{
    struct witness *witness = oasis->harness.witness;
    if (!witness_sum(witness, oasis->first, oasis->last, &oasis->rows, error) ||
        !witness_holds(witness, oasis->first, oasis->last, &oasis->holdings, error) ||
        !witness_same_sales(witness, error))
        return process_fail(error->text);
    print_books(oasis, stdout);
    machine_print(stdout, &oasis->harness.machine);
    size_t faults = print_faults(oasis, stdout);
    if (faults == 0)
        puts(oasis->ended_early ? "The books agree so far." : "The audit is clean.");
    if (!files_write_json(oasis->harness.folder, "oasis.json", json_books(oasis), error))
        return process_fail(error->text);
    printf("Files: %s/oasis.json\n", oasis->harness.folder);
    return faults > 0 ? 1 : oasis->ended_early ? 2 : 0;
}

static bool open_sale(struct oasis *oasis, struct error *error)
{
    const struct options *options = &oasis->options->shared;
    struct harness *harness = &oasis->harness;
    hall_init(&oasis->hall, options->first_product, (size_t)options->products,
              oasis->options->tickets);
    oasis->first = options->first_product;
    oasis->last = options->first_product + options->products - 1;
    return harness_init(harness, options, error) &&
           harness_open_fleet(harness, options->instances.items[0], error) &&
           harness_choose(harness, oasis->options->strategy, error) &&
           harness_may_reset(harness, options->products, error) && put_on_sale(oasis, error);
}

int command_oasis(const struct oasis_options *options)
{
    struct error error = {.text = ""}, ending = {.text = ""};
    struct oasis oasis = {.options = options};
    bool opened = open_sale(&oasis, &error);
    bool made = opened && sell(&oasis, &error);
    oasis.instances = oasis.harness.fleet.count;
    oasis.ended_early = !made;
    if (opened && !made)
        process_fail(error.text);
    /* What they had accepted is in the rows when they have ended. */
    bool ended = harness_close_fleet(&oasis.harness, &ending);
    int status = opened ? judge(&oasis, &error) : process_fail(error.text);
    if (opened && made && !ended)
        status = process_fail(ending.text);
    harness_fini(&oasis.harness);
    return status;
}
