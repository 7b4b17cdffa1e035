/* What a shop gets on the wire, and what its answers' limits are: lengths and chunks, connections
 * kept or closed, nothing sent twice by itself, too much and too late, and the ledger of it. */
#include "harness/shop/wire/listener.h"
#include "lib/t.h"
#include "loadtest/shop/sale/sale.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char sold[] = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"id\": 17}";

static char folder[64], url[128], method[] = "POST", any_order[] = "/id";
static char body[] = "{\"user\": \"{user}\", \"key\": \"{key}\"}";
static char name[] = "a listener";
static char typed[] = "Content-Type", json[] = "application/json";
static struct shop_pair header;
static char heard[262144];
static struct shop_rule rule;
static struct target target;
static struct sale sale;
static int64_t timeout_ms;

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
    timeout_ms = t_patience_us() / 1000;
    rule = (struct shop_rule){
        .meaning = SHOP_SOLD, .status_from = 200, .status_to = 200, .order = any_order};
    header = (struct shop_pair){typed, json};
    target = (struct target){.path = name,
                             .name = name,
                             .stock = 1,
                             .user_from = 7,
                             .user_to = 9,
                             .purchase = {.method = method,
                                          .url = url,
                                          .headers = &header,
                                          .header_count = 1,
                                          .body = body,
                                          .body_form = FILL_JSON},
                             .rules = &rule,
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

/* So many purchases, one after the other; how many requests came. */
static size_t buy(enum listener_way way, const char *answer, int64_t buyers)
{
    struct error error = {.text = ""};
    struct listener *listener = listener_start(way, answer);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/buy", listener_port(listener));
    const struct sale_plan plan = {.target = &target,
                                   .folder = folder,
                                   .call = {timeout_ms, ""},
                                   .connections = 1,
                                   .buyers = buyers,
                                   .seed = 1};
    bool held = sale_hold(&plan, &sale, &error);
    size_t count = listener_stop(listener, heard, sizeof heard);
    if (!held)
        fail_msg("%s", error.text);
    return count;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strcasestr(at, part)) != NULL; at++)
        count++;
    return count;
}

static void test_a_body_with_its_length(void **state)
{
    (void)state;
    assert_int_equal(buy(LISTENER_ANSWERS, sold, 3), 3);
    assert_int_equal(count_of(heard, "POST /buy HTTP/1.1\r\n"), 3);
    assert_int_equal(count_of(heard, "\r\nContent-Length: "), 3);
    assert_int_equal(count_of(heard, "\r\nContent-Type: application/json\r\n"), 3);
    assert_int_equal(count_of(heard, "Transfer-Encoding"), 0);
    assert_int_equal(count_of(heard, "Expect"), 0);
    assert_int_equal(count_of(heard, "Connection: close"), 0);
    assert_int_equal(count_of(heard, "{\"user\": \"8\", \"key\": \""), 1);
    assert_string_equal(sale.history.items[2].user, "9");
    assert_string_equal(sale.history.items[2].order, "17");
    assert_non_null(strstr(heard, sale.history.items[0].key));
}

static void test_a_body_in_chunks(void **state)
{
    (void)state;
    target.purchase.chunked = target.purchase.closes = true;
    assert_int_equal(buy(LISTENER_ANSWERS, sold, 2), 2);
    assert_int_equal(count_of(heard, "\r\nTransfer-Encoding: chunked\r\n"), 2);
    assert_int_equal(count_of(heard, "Content-Length"), 0);
    assert_int_equal(count_of(heard, "\r\nConnection: close\r\n"), 2);
    assert_int_equal(count_of(heard, "\r\n0\r\n\r\n"), 2);
}

static void test_no_body(void **state)
{
    (void)state;
    target.purchase.body = NULL;
    target.purchase.header_count = 0;
    assert_int_equal(buy(LISTENER_ANSWERS, sold, 1), 1);
    assert_int_equal(count_of(heard, "\r\nContent-Length: 0\r\n"), 1);
    assert_int_equal(count_of(heard, "Content-Type"), 0);
}

/* The kept connection ends after the second request came: a shop may have sold by then, so the
 * request is not sent again, and its answer is not known. */
static void is_not_sent_twice(void)
{
    assert_int_equal(buy(LISTENER_HANGS_UP, sold, 2), 2);
    assert_int_equal(sale.history.count, 2);
    assert_int_equal(sale.history.items[0].last, SHOP_SOLD);
    assert_int_equal(sale.history.items[1].last, SHOP_UNKNOWN);
    assert_int_equal(sale.history.items[1].status, 0);
    assert_true(sale.history.items[1].asked);
    assert_int_equal(sale.sent.failures, 1);
}

static void test_nothing_is_sent_twice_by_itself(void **state)
{
    (void)state;
    is_not_sent_twice();
}

/* curl has nothing to rewind then. */
static void test_nor_is_what_has_no_body(void **state)
{
    (void)state;
    target.purchase.body = NULL;
    is_not_sent_twice();
}

static void test_an_answer_that_does_not_come(void **state)
{
    (void)state;
    timeout_ms = 50;
    buy(LISTENER_IS_SILENT, sold, 1);
    assert_int_equal(sale.history.items[0].last, SHOP_UNKNOWN);
    assert_non_null(strcasestr(sale.sent.first_failure, "timeout"));
}

static void test_an_answer_that_is_too_long(void **state)
{
    (void)state;
    size_t size = CALL_ANSWER_MAX + 200;
    char *answer = malloc(size);
    assert_non_null(answer);
    int head = snprintf(answer, size, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n",
                        CALL_ANSWER_MAX + 1);
    memset(answer + head, 'x', CALL_ANSWER_MAX + 1);
    answer[head + CALL_ANSWER_MAX + 1] = '\0';
    buy(LISTENER_ANSWERS, answer, 1);
    free(answer);
    assert_int_equal(sale.history.items[0].last, SHOP_UNKNOWN);
    assert_non_null(strstr(sale.sent.first_failure, "more than 1048576 bytes"));
}

/* All of them are sent again: at once, or when the first is answered. */
static void test_repeats_have_the_same_key(void **state)
{
    (void)state;
    target.repeats = 1;
    assert_int_equal(buy(LISTENER_ANSWERS, sold, 2), 4);
    size_t repeats = 0;
    for (size_t i = 0; i < sale.history.count; i++) {
        const struct shop_purchase *one = &sale.history.items[i];
        repeats += one->repeat;
        assert_int_equal(count_of(heard, one->key), 2);
    }
    assert_int_equal(sale.history.count, 4);
    assert_int_equal(repeats, 2);
}

/* Those that its first has had by then. */
static void test_repeats_have_their_users_cookies(void **state)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nSet-Cookie: session=s1\r\n"
                                 "Content-Length: 10\r\n\r\n{\"id\": 17}";
    static struct shop_request login;
    (void)state;
    login = (struct shop_request){.method = method, .url = url};
    target.steps = &login;
    target.step_count = 1;
    target.repeats = 1;
    assert_int_equal(buy(LISTENER_ANSWERS, answer, 2), 6);
    assert_int_equal(count_of(heard, "\r\nCookie: session=s1\r\n"), 4); /* no login has one */
}

/* The first line of a table may begin with a byte order mark, as Excel's do. */
static void test_a_table_of_users_with_a_mark(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/users.csv", folder);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs("\xef\xbb\xbfuser\n41\n", file);
    bool closed = fclose(file) == 0;
    assert_true(closed);
    target.users_csv = path;
    buy(LISTENER_ANSWERS, sold, 1);
    assert_string_equal(sale.history.items[0].user, "41");
}

static void test_the_ledger_has_each_twice(void **state)
{
    (void)state;
    char path[128], line[4096];
    size_t begun = 0, ended = 0, all = 0;
    buy(LISTENER_ANSWERS, sold, 2);
    snprintf(path, sizeof path, "%s/ledger.jsonl", folder);
    FILE *file = t_open(path);
    while (fgets(line, sizeof line, file)) {
        all++;
        begun += strstr(line, "\"at_us\":") && strstr(line, "\"op\":");
        ended += strstr(line, "\"is\":\"sold\"") && strstr(line, "\"order\":\"17\"");
    }
    fclose(file);
    assert_int_equal(begun, 2);
    assert_int_equal(ended, 2);
    assert_int_equal(all, 7); /* the first line, the end of the load, and "done" */
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_a_body_with_its_length),
        CASE(test_a_body_in_chunks),
        CASE(test_no_body),
        CASE(test_nothing_is_sent_twice_by_itself),
        CASE(test_nor_is_what_has_no_body),
        CASE(test_an_answer_that_does_not_come),
        CASE(test_an_answer_that_is_too_long),
        CASE(test_repeats_have_the_same_key),
        CASE(test_repeats_have_their_users_cookies),
        CASE(test_a_table_of_users_with_a_mark),
        CASE(test_the_ledger_has_each_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
