/* See shop_ledger.h. */
#include "loadtest/shop/load/shop_ledger.h"

#include "base/clock.h"

static json_t *first_line(const struct target *target, const struct shop_load *load)
{
    json_t *line = json_object();
    json_lines_set_number(line, "shop_ledger", SHOP_LEDGER_FORMAT);
    json_lines_set_text(line, "shop", target->name);
    json_lines_set_text(line, "target", target->path);
    json_lines_set_number(line, "product", target->product);
    json_lines_set_number(line, "stock", target->stock);
    json_lines_set_number(line, "limit", target->limit);
    json_lines_set_number(line, "connections", load->connections);
    json_lines_set_number(line, "rate_per_s", load->rate_per_s);
    json_lines_set_number(line, "seed", load->seed);
    json_lines_set_began(line);
    return line;
}

struct json_lines *shop_ledger_create(const char *path, const struct target *target,
                                      const struct shop_load *load, struct error *error)
{
    struct json_lines *ledger = json_lines_create(path, error);
    if (ledger)
        json_lines_put(ledger, first_line(target, load));
    return ledger;
}

void shop_ledger_begin(struct json_lines *ledger, size_t number,
                       const struct shop_purchase *purchase)
{
    json_t *line = json_object();
    json_lines_set_number(line, "op", (int64_t)number);
    json_lines_set_number(line, "at_us", clock_mono_us());
    json_lines_set_number(line, "due_us", purchase->due_us);
    json_lines_set_text(line, "user", purchase->user);
    json_lines_set_text(line, "key", purchase->key);
    if (purchase->repeat)
        json_object_set_new(line, "repeat", json_true());
    json_lines_put(ledger, line);
}

void shop_ledger_end(struct json_lines *ledger, size_t number, const struct shop_purchase *purchase)
{
    json_t *line = json_object();
    json_lines_set_number(line, "op", (int64_t)number);
    if (!purchase->asked)
        json_object_set_new(line, "asked", json_false());
    if (purchase->end_us && purchase->asked)
        json_lines_set_number(line, "sent_us", purchase->start_us);
    if (purchase->end_us)
        json_lines_set_number(line, "end_us", purchase->end_us);
    if (purchase->status)
        json_lines_set_number(line, "status", purchase->status);
    json_lines_set_text(line, "is", shop_meaning_name(purchase->first));
    if (purchase->last != purchase->first)
        json_lines_set_text(line, "became", shop_meaning_name(purchase->last));
    json_lines_set_text(line, "order", purchase->order);
    json_lines_put(ledger, line);
}

void shop_ledger_sent(struct json_lines *ledger, const struct send_result *sent)
{
    json_t *line = json_object();
    json_lines_set_number(line, "failures", (int64_t)sent->failures);
    json_lines_set_text(line, "first_failure", sent->first_failure);
    json_lines_set_number(line, "began_us", sent->began_us);
    json_lines_set_number(line, "ended_us", sent->ended_us);
    if (sent->late_us)
        json_lines_set_number(line, "late_us", sent->late_us);
    json_lines_put(ledger, line);
}

static void put_number(struct json_lines *ledger, const char *name, int64_t value)
{
    json_t *line = json_object();
    json_lines_set_number(line, name, value);
    json_lines_put(ledger, line);
}

void shop_ledger_books(struct json_lines *ledger, const struct shop_books *books)
{
    if (books->has_left)
        put_number(ledger, "stock_left", books->left);
    if (books->has_rows)
        put_number(ledger, "orders", (int64_t)books->count);
    for (size_t i = 0; i < books->count; i++) {
        const struct shop_row *row = &books->rows[i];
        json_lines_put(
            ledger, json_pack("{s:[s?,s?,I]}", "row", row->id, row->user, (json_int_t)row->units));
    }
    json_lines_put(ledger,
                   json_pack("{s:b, s:I}", "done", 1, "at_us", (json_int_t)clock_mono_us()));
}
