/* See sale_books.h. */
#include "loadtest/commands/oasis/sale_books.h"

#include "base/clock.h"

/* 1.4 million tickets over six hours: https://renerocks.ai/blog/2025-11-02--tigerfans/, which gives
 * it as the rate to beat, 65 tickets a second. */
static const double real_tickets = 1400000, real_seconds = 6 * 3600;
#define REAL_SOURCE "https://renerocks.ai/blog/2025-11-02--tigerfans/"

static void add(void *context, const struct witness_product *product)
{
    books_add(context, &product->audit);
}

bool sale_books_audit(struct sale_books *books, struct witness *witness, struct error *error)
{
    int64_t first = books->hall->nights[0].product;
    int64_t last = books->hall->nights[books->hall->count - 1].product;
    books->rows = (struct books){0};
    return witness_audit(witness, first, last, add, &books->rows, error) &&
           witness_hold(witness, first, last, &books->holdings, error);
}

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
static int64_t missing(const struct sale_books *books)
{
    return books->rows.failed_rows > 0 ? 0 : or_zero(books->hall->sold - books->rows.sold);
}

/* Tickets in the rows that no buyer was told of. */
static int64_t untold(const struct sale_books *books)
{
    return books->ended_early ? 0 : or_zero(books->rows.sold - books->hall->sold);
}

size_t sale_books_faults(const struct sale_books *books, FILE *to)
{
    const struct crowd_tally *told = books->tally;
    const struct books *rows = &books->rows;
    int64_t left = books->ended_early ? 0 : or_zero(rows->stock);
    return fault(to, rows->oversold, "OVERSOLD, tickets more than there were") +
           fault(to, rows->lost_updates, "tickets that the stock does not account for") +
           fault(to, rows->duplicate_orders, "orders sold twice for one key") +
           fault(to, rows->limit_violations, "buyers with more than four tickets") +
           fault(to, books->holdings.most > BUYER_LIMIT ? books->holdings.most : 0,
                 "tickets that one buyer has") +
           fault(to, rows->queued, "tickets accepted and not decided") +
           fault(to, left, "tickets left though buyers were told that there were none") +
           fault(to, missing(books), "tickets that buyers were told they had, and no row says so") +
           fault(to, untold(books), "tickets sold that no buyer was told of") +
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

static void print_rows(const struct sale_books *books, FILE *to)
{
    char of[HALL_FIGURE_SIZE + 8], all[HALL_FIGURE_SIZE];
    snprintf(of, sizeof of, " of %s", hall_figure(books->hall->tickets, all));
    fputs("What the rows say\n", to);
    line(to, "tickets sold", books->rows.sold, of);
    line(to, "oversold", books->rows.oversold, "");
    line(to, "orders", books->holdings.orders, "");
    line(to, "buyers", books->holdings.buyers, "");
    line(to, "most of one buyer", books->holdings.most, ", of four at most");
    line(to, "sold twice for one key", books->rows.duplicate_orders, "");
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

void sale_books_print(const struct sale_books *books, FILE *to)
{
    double seconds = seconds_of(books->tally);
    double rate = (double)books->rows.sold / seconds;
    char sold[HALL_FIGURE_SIZE], per_s[HALL_FIGURE_SIZE], orders[HALL_FIGURE_SIZE];
    fprintf(to, "\n%s: %s tickets in %.1f s, %s tickets and %s orders a second, by %s in %zu %s\n",
            books->ended_early ? "Ended early" : "The hall is empty",
            hall_figure(books->rows.sold, sold), seconds, hall_figure((int64_t)rate, per_s),
            hall_figure((int64_t)((double)books->holdings.orders / seconds), orders),
            books->strategy, books->instances, books->instances == 1 ? "instance" : "instances");
    print_rows(books, to);
    print_answers(books->tally, to);
    fprintf(to,
            "The real sale took about six hours for its 1,400,000, 65 a second (%s): this one went "
            "%.0f times as fast.\n",
            REAL_SOURCE, rate / (real_tickets / real_seconds));
}

json_t *sale_books_json(const struct sale_books *books)
{
    const struct crowd_tally *told = books->tally;
    const struct books *rows = &books->rows;
    json_t *counted =
        json_pack("{sI sI sI sI sI sI sI sI sI sI}", "sold", rows->sold, "stock", rows->stock,
                  "oversold", rows->oversold, "lost_updates", rows->lost_updates,
                  "duplicate_orders", rows->duplicate_orders, "limit_violations",
                  rows->limit_violations, "queued", rows->queued, "orders", books->holdings.orders,
                  "buyers", books->holdings.buyers, "most_of_one_buyer", books->holdings.most);
    json_t *answers = json_pack(
        "{sI sI sI sI sI sI sI sI sI sI sI sI}", "tickets", books->hall->sold, "orders",
        told->bought, "pages", told->looks, "repeated", told->repeated, "repeated_wrongly",
        told->repeated_wrongly, "came_back", told->came_back, "over_limit", told->over_limit,
        "sold_out", told->sold_out, "late", told->late, "late_sold", told->late_sold, "sent_again",
        told->sent_again, "unexpected", told->unexpected);
    return json_pack("{sI sI ss sI sf so so}", "tickets", books->hall->tickets, "nights",
                     (json_int_t)books->hall->count, "strategy", books->strategy, "instances",
                     (json_int_t)books->instances, "duration_s", seconds_of(told), "rows", counted,
                     "answers", answers);
}
