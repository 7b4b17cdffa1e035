/*
 * Steps before a purchase, and what their answers mean: a login that says no with 200 ends the
 * purchase there as the file has it, and what no line matches is looked at by its status, as
 * without an outcome.
 */
#include "harness/shop/wire/listener.h"
#include "lib/t.h"
#include "loadtest/shop/sale/sale.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>

static const char no[] = "HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{\"code\": 5001}";
static const char yes[] = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"code\": 0}";
static const char busy[] = "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy";
static const char wrong[] = "HTTP/1.1 500 Wrong\r\nContent-Length: 5\r\n\r\nwrong";

static char folder[64], login_url[128], url[128], method[] = "POST";
static char name[] = "a listener", code[] = "/code", refused_code[] = "5001", text[] = "usy";
static char heard[262144];
static struct shop_rule sold, noes[2];
static struct shop_request login;
static struct target target;
static struct sale sale;

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static int begin(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/seckill-shop.XXXXXX");
    assert_non_null(mkdtemp(folder));
    sold = (struct shop_rule){.meaning = SHOP_SOLD, .status_from = 200, .status_to = 200};
    noes[0] = (struct shop_rule){.meaning = SHOP_REFUSED, .pointer = code, .equals = refused_code};
    noes[1] = (struct shop_rule){
        .meaning = SHOP_SHED, .status_from = 503, .status_to = 503, .contains = text};
    login =
        (struct shop_request){.method = method, .url = login_url, .rules = noes, .rule_count = 2};
    target = (struct target){.path = name,
                             .name = name,
                             .stock = 1,
                             .user_from = 7,
                             .user_to = 9,
                             .steps = &login,
                             .step_count = 1,
                             .purchase = {.method = method, .url = url},
                             .rules = &sold,
                             .rule_count = 1};
    return 0;
}

static int end(void **state)
{
    (void)state;
    sale_fini(&sale);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}

/* Two purchases, one after the other, at a shop that gives this answer to whatever it hears; so
 * many requests came. */
static size_t buy(const char *answer)
{
    struct error error = {.text = ""};
    struct listener *listener = listener_start(LISTENER_ANSWERS, answer);
    snprintf(login_url, sizeof login_url, "http://127.0.0.1:%d/login", listener_port(listener));
    snprintf(url, sizeof url, "http://127.0.0.1:%d/buy", listener_port(listener));
    const struct sale_plan plan = {.target = &target,
                                   .folder = folder,
                                   .call = {t_patience_us() / 1000, ""},
                                   .connections = 1,
                                   .buyers = 2,
                                   .seed = 1};
    bool held = sale_hold(&plan, &sale, &error);
    size_t count = listener_stop(listener, heard, sizeof heard);
    if (!held)
        fail_msg("%s", error.text);
    assert_int_equal(sale.history.count, 2);
    return count;
}

/* Neither was sent; both ended so, which is no failure of the load. */
static void expect_ended(const char *answer, enum shop_meaning meaning, int status)
{
    assert_int_equal(buy(answer), 2);
    assert_null(strstr(heard, "/buy"));
    for (size_t i = 0; i < sale.history.count; i++) {
        const struct shop_purchase *one = &sale.history.items[i];
        assert_false(one->asked);
        assert_int_equal(one->first, meaning);
        assert_int_equal(one->last, meaning);
        assert_int_equal(one->status, status);
        assert_true(one->end_us >= one->due_us);
        assert_null(one->order);
    }
    assert_int_equal(sale.sent.failures, 0);
    assert_int_equal(sale.sent.answered, 2);
}

static void a_no_with_200_ends_the_purchase(void **state)
{
    (void)state;
    expect_ended(no, SHOP_REFUSED, 200);
}

static void a_step_may_shed(void **state)
{
    (void)state;
    expect_ended(busy, SHOP_SHED, 503);
}

/* The first line that matches counts, also where the status is the one that is expected. */
static void the_first_line_counts(void **state)
{
    (void)state;
    noes[1] = noes[0];
    noes[0] = (struct shop_rule){.meaning = SHOP_SOLD_OUT, .status_from = 200, .status_to = 299};
    login.expect = 200;
    expect_ended(no, SHOP_SOLD_OUT, 200);
}

/* As long as nothing says that it is a no, it is what its status says. */
static void without_an_outcome_200_is_a_yes(void **state)
{
    (void)state;
    login.rules = NULL;
    login.rule_count = 0;
    assert_int_equal(buy(no), 4);
    assert_true(sale.history.items[0].asked);
    assert_int_equal(sale.history.items[0].last, SHOP_SOLD);
}

static void what_no_line_matches_is_looked_at_by_its_status(void **state)
{
    (void)state;
    assert_int_equal(buy(yes), 4);
    assert_non_null(strstr(heard, "POST /login"));
    assert_non_null(strstr(heard, "POST /buy"));
    assert_int_equal(sale.history.items[1].last, SHOP_SOLD);
    sale_fini(&sale);
    assert_int_equal(buy(wrong), 2);
    assert_false(sale.history.items[0].asked);
    assert_int_equal(sale.history.items[0].last, SHOP_UNKNOWN);
    assert_int_equal(sale.history.items[0].end_us, 0);
    assert_int_equal(sale.sent.failures, 2);
    assert_non_null(strstr(sale.sent.first_failure, "was answered with status 500"));
}

/* Of what was never sent there is nothing to send again. */
static void what_a_step_ended_has_no_repeat(void **state)
{
    (void)state;
    target.repeats = 1;
    expect_ended(no, SHOP_REFUSED, 200);
}

static void the_ledger_says_that_it_was_not_sent(void **state)
{
    (void)state;
    char path[128], line[4096];
    size_t ended = 0;
    buy(no);
    snprintf(path, sizeof path, "%s/ledger.jsonl", folder);
    FILE *file = t_open(path);
    while (fgets(line, sizeof line, file)) {
        ended += strstr(line, "\"asked\":false") && strstr(line, "\"is\":\"refused\"") &&
                 strstr(line, "\"status\":200") && strstr(line, "\"end_us\":");
        assert_null(strstr(line, "\"sent_us\""));
    }
    fclose(file);
    assert_int_equal(ended, 2);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_no_with_200_ends_the_purchase),
        CASE(a_step_may_shed),
        CASE(the_first_line_counts),
        CASE(without_an_outcome_200_is_a_yes),
        CASE(what_no_line_matches_is_looked_at_by_its_status),
        CASE(what_a_step_ended_has_no_repeat),
        CASE(the_ledger_says_that_it_was_not_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
