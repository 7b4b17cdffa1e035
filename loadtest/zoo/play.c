/* See play.h. */
#include "loadtest/zoo/play.h"

#include "loadtest/base/process.h"
#include "loadtest/zoo/send.h"

#include <stdio.h>
#include <string.h>

static struct zoo_line *add_line(struct zoo_row *row, enum zoo_line_kind kind, const char *text)
{
    struct zoo_line *line = &row->lines[row->count++];
    line->kind = kind;
    snprintf(line->text, sizeof line->text, "%s", text);
    return line;
}

/* The verbs from `at` on. False: an error, or another than the one that has to waits. */
static bool run_verbs(struct zoo_stage *stage, struct zoo_buyer *buyer, const struct zoo_step *step,
                      size_t at, struct zoo_row *row, struct error *error)
{
    for (; at < step->count; at++) {
        struct zoo_line *line = add_line(row, ZOO_SENT, "");
        enum zoo_sent sent = zoo_send(stage, buyer, step->verbs[at], line, error);
        bool has_to_wait = at + 1 == step->waits;
        if (sent == ZOO_FAILED)
            return false;
        if (sent == ZOO_DONE && has_to_wait)
            return error_fail(error, "it does not wait for another buyer");
        if (sent == ZOO_DONE)
            continue;
        snprintf(line->came, sizeof line->came, "waits");
        buyer->waited = step;
        return has_to_wait || error_fail(error, "'%s' waits for another buyer", line->text);
    }
    return true;
}

static bool resume(struct zoo_stage *stage, struct zoo_buyer *buyer, struct zoo_row *row,
                   struct error *error)
{
    const struct zoo_step *waited = buyer->waited;
    struct zoo_line *line = add_line(row, ZOO_SENT, "… goes on");
    if (!waited)
        return error_fail(error, "nothing waits that could go on");
    buyer->waited = NULL;
    return zoo_send_resume(stage, buyer, waited->verbs[waited->waits - 1], line, error) &&
           run_verbs(stage, buyer, waited, waited->waits, row, error);
}

static bool is_yes(const char *answer)
{
    return answer && strncmp(answer, "20", 2) == 0;
}

static bool tell(const struct zoo_buyer *buyer, const char *answer, struct zoo_record *record,
                 struct zoo_row *row, struct error *error)
{
    if (!answer)
        return true;
    if (is_yes(answer) != buyer->sold)
        return error_fail(error, "the buyer cannot be told %s: it was %s", answer,
                          buyer->sold ? "sold a unit" : "sold nothing");
    add_line(row, ZOO_ANSWER, answer);
    record->books.told += is_yes(answer);
    return true;
}

static bool play_step(struct zoo_stage *stage, const struct zoo_step *step,
                      struct zoo_record *record, struct zoo_row *row, struct error *error)
{
    struct zoo_buyer *buyer = &stage->buyers[step->who];
    if (process_interrupted())
        return error_fail(error, "interrupted");
    if (step->note)
        add_line(row, ZOO_NOTE, step->note)->zh = step->note_zh;
    bool done = step->resumes ? resume(stage, buyer, row, error)
                              : run_verbs(stage, buyer, step, 0, row, error);
    return done && tell(buyer, step->answer, record, row, error);
}

enum zoo_end zoo_end_of(const struct zoo_books *books)
{
    if (books->sold > books->stock)
        return ZOO_OVERSOLD;
    if (books->told > books->sold)
        return ZOO_LOST;
    return books->sold == 0 && books->stuck ? ZOO_STUCK : ZOO_KEPT;
}

static bool judge(struct zoo_record *record, struct error *error)
{
    static const char *const ends[ZOO_ENDS] = {
        [ZOO_KEPT] = "nothing wrong",
        [ZOO_OVERSOLD] = "it oversold",
        [ZOO_LOST] = "an order that was accepted is lost",
        [ZOO_STUCK] = "it is locked for ever",
    };
    enum zoo_end wanted = record->act->end, end = zoo_end_of(&record->books);
    return end == wanted ||
           error_fail(error, "it had to end with: %s; and ended with: %s", ends[wanted], ends[end]);
}

bool zoo_play(struct zoo_stage *stage, const struct zoo_act *act, struct zoo_record *record,
              struct error *error)
{
    *record = (struct zoo_record){.act = act};
    bool good = zoo_stage_set(stage, act->stock, error);
    for (size_t i = 0; good && i < act->count; i++) {
        struct zoo_row *row = &record->rows[i];
        *row = (struct zoo_row){.number = (int)i + 1, .who = act->steps[i].who};
        good = play_step(stage, &act->steps[i], record, row, error);
        record->count++;
        if (!good)
            error_prefix(error, "step %d", row->number);
    }
    good = good && zoo_stage_count(stage, &record->books, error) && judge(record, error);
    return good || error_prefix(error, "%s", act->strategy);
}
