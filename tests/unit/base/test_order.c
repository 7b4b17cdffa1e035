/* The outcome table against the HTTP contract: every outcome ends in an answer that the contract
 * lists. */
#include "lib/t.h"

#include "order/order.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Every status and code that the contract lists for what an order can end in. */
static const struct {
    int status;
    const char *code;
} contract[] = {
    {200, ""},
    {201, ""},
    {202, ""},
    {404, "not_found"},
    {404, "unknown_product"},
    {409, "sold_out"},
    {409, "limit_reached"},
    {409, "sale_not_open"},
    {409, "idempotency_mismatch"},
    {409, "not_cancellable"},
    {409, "not_payable"},
    {409, "expired"},
    {500, "internal_error"},
    {503, "queue_full"},
    {503, "wait_timeout"},
    {503, "cas_exhausted"},
    {503, "lease_lost"},
    {503, "strategy_unavailable"},
    {503, "backend_unavailable"},
    {503, "shutting_down"},
    {504, "outcome_unknown"},
};

enum { CONTRACT = sizeof contract / sizeof *contract };

static bool is_label(const char *text)
{
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (!islower((unsigned char)*text) && *text != '_')
            return false;
    }
    return true;
}

TEST(every_outcome_is_in_the_contract)
{
    for (int i = 0; i < ORDER_OUTCOME_COUNT; i++) {
        const struct order_outcome_row *row = order_outcome_row((enum order_outcome)i);
        bool found = false;
        for (int j = 0; j < CONTRACT; j++)
            found |=
                row->http_status == contract[j].status && strcmp(row->code, contract[j].code) == 0;
        if (!found)
            fail_msg("%s: no %d \"%s\" in the contract", row->name, row->http_status, row->code);
    }
}

/* All but 202: nothing that decides later is built yet. */
TEST(every_answer_of_the_contract_has_an_outcome)
{
    for (int j = 0; j < CONTRACT; j++) {
        bool found = contract[j].status == 202;
        for (int i = 0; i < ORDER_OUTCOME_COUNT; i++) {
            const struct order_outcome_row *row = order_outcome_row((enum order_outcome)i);
            found |=
                row->http_status == contract[j].status && strcmp(row->code, contract[j].code) == 0;
        }
        if (!found)
            fail_msg("no outcome for %d \"%s\"", contract[j].status, contract[j].code);
    }
}

TEST(a_code_stands_exactly_where_it_failed)
{
    for (int i = 0; i < ORDER_OUTCOME_COUNT; i++) {
        const struct order_outcome_row *row = order_outcome_row((enum order_outcome)i);
        bool success = row->http_status / 100 == 2;
        assert_int_equal(*row->code == '\0', success);
        assert_true(success || is_label(row->code));
    }
}

TEST(names_are_labels_and_unique)
{
    for (int i = 0; i < ORDER_OUTCOME_COUNT; i++) {
        const struct order_outcome_row *row = order_outcome_row((enum order_outcome)i);
        assert_true(is_label(row->name));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(row->name, order_outcome_row((enum order_outcome)j)->name);
    }
}

TEST(meanings_are_sentences)
{
    for (int i = 0; i < ORDER_OUTCOME_COUNT; i++) {
        const char *meaning = order_outcome_row((enum order_outcome)i)->meaning;
        size_t length = strlen(meaning);
        assert_true(length > 10 && isupper((unsigned char)meaning[0]));
        assert_int_equal(meaning[length - 1], '.');
    }
}

/* The two waits differ in the outcome, for the metrics and for "phase", and share a code. */
TEST(both_waits_are_wait_timeout)
{
    assert_string_equal(order_outcome_row(ORDER_QUEUE_TIMEOUT)->code, "wait_timeout");
    assert_string_equal(order_outcome_row(ORDER_LOCK_TIMEOUT)->code, "wait_timeout");
}

/* An order that nobody decided must never look like a success. */
TEST(a_fresh_order_is_an_error)
{
    struct order order = {.next = NULL};
    assert_int_equal(order_outcome_row(order.outcome)->http_status, 500);
}

TEST(kinds_and_statuses_have_names)
{
    assert_string_equal(order_kind_name(ORDER_BUY), "buy");
    assert_string_equal(order_kind_name(ORDER_CANCEL), "cancel");
    assert_string_equal(order_kind_name(ORDER_RESTOCK), "restock");
    assert_string_equal(order_kind_name(ORDER_EXPIRE), "expire");
    assert_string_equal(order_status_name(STATUS_QUEUED), "queued");
    assert_string_equal(order_status_name(STATUS_CONFIRMED), "confirmed");
    assert_string_equal(order_status_name(STATUS_CANCELLED), "cancelled");
    assert_string_equal(order_status_name(STATUS_FAILED), "failed");
    assert_string_equal(order_status_name(STATUS_PENDING), "pending");
    assert_string_equal(order_status_name(STATUS_EXPIRED), "expired");
}

/* One place says what a record shows of an order that is committed. */
TEST(a_hold_makes_a_record_pending)
{
    struct order order = {.hold_until_us = 0};
    order_fill_record(&order, "batch", STATUS_CONFIRMED);
    assert_int_equal(order.record.status, STATUS_CONFIRMED);
    order.hold_until_us = 42;
    order_fill_record(&order, "batch", STATUS_CONFIRMED);
    assert_int_equal(order.record.status, STATUS_PENDING);
    assert_int_equal(order.record.hold_until_us, 42);
    order_fill_record(&order, "batch", STATUS_QUEUED);
    assert_int_equal(order.record.status, STATUS_QUEUED);
}
