/* Outcomes as the bodies of replies. */
#include "http/reader/problem.h"
#include "lib/t.h"

#include <string.h>

TEST(outcomes_become_problems)
{
    struct problem problem;
    char json[PROBLEM_JSON_MAX];
    size_t length;
    struct order order = {.kind = ORDER_BUY, .outcome = ORDER_QUEUE_TIMEOUT};

    problem_from_order(&problem, &order);
    assert_int_equal(problem.status, 503);
    problem_render(&problem, json);
    assert_non_null(strstr(json, "\"code\": \"wait_timeout\", \"phase\": \"queue\"}"));
    order.outcome = ORDER_LOCK_TIMEOUT;
    problem_from_order(&problem, &order);
    assert_string_equal(problem.phase, "lock");
    order.outcome = ORDER_OUTCOME_UNKNOWN;
    problem_from_order(&problem, &order);
    problem_render(&problem, json);
    assert_non_null(strstr(json, "\"order_id\": \"00000000-0000-0000-0000-000000000000\""));
    order.kind = ORDER_RESTOCK;
    problem_from_order(&problem, &order);
    assert_string_equal(problem.order_id, "");
    order.outcome = ORDER_SOLD_OUT;
    problem_from_order(&problem, &order);
    length = problem_render(&problem, json);
    assert_int_equal(length, strlen(json));
    assert_non_null(
        strstr(json, "{\"type\": \"about:blank\", \"title\": \"Conflict\", \"status\": 409"));
}
