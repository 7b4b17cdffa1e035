/* A target's file is read whole: what each field becomes, and what is there when it is not given.
 */
#include "harness/fixtures/has.h"
#include "loadtest/shop/target.h"
#include "shop_file.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

static const char whole[] =
    "\xef\xbb\xbf# all that there is\r\n"
    "name: tickets\n"
    "server: http://127.0.0.1:3000/v1/\n"
    "database: postgresql://tester:${SHOP_TEST_SECRET}@127.0.0.1/shop\n"
    "product: 7\n"
    "stock: 100\n"
    "limit: 2\n"
    "users: {command: 'users ${X}', columns: [user, password]}\n"
    "repeats: 2.5%\n"
    "before:\n"
    "  - path: /login\n"
    "    body: '{\"name\": \"{user}\", \"password\": \"{password}\"}'\n"
    "    expect: 204\n"
    "    outcome:\n"
    "      - refused: {status: 200, json: {/code: 5001}}\n"
    "      - shed: [429, 503]\n"
    "    take: {token: /data/token}\n"
    "  - {path: 'https://ids.test/a?u={user}', headers: {A: '{token}'}, keep_alive: false}\n"
    "request:\n"
    "  method: PUT\n"
    "  path: /buy/{product}\n"
    "  headers:\n"
    "    Authorization: Bearer {token} ${SHOP_TEST_SECRET}\n"
    "    Content-Type: application/x-www-form-urlencoded\n"
    "  body: k={key}&c=$${user}\n"
    "  chunked: true\n"
    "outcome:\n"
    "  - sold: {status: 200, json: {/code: 0}}\n"
    "    order: /data/id\n"
    "  - sold: {json: /order}\n"
    "  - accepted: [202, 203]\n"
    "    order: /id\n"
    "  - sold_out: {status: 2xx, json: {/code: \"5001\"}}\n"
    "  - shed: 429\n"
    "  - refused: {text: closed}\n"
    "  - refused: any\n"
    "poll:\n"
    "  path: /orders/{order}\n"
    "  every: 50ms\n"
    "  within: 2m\n"
    "  outcome:\n"
    "    - sold: {json: {/state: paid}}\n"
    "    - accepted: {json: {/state: null}}\n"
    "    - sold_out: {json: {/why: ''}}\n"
    "reset: {sql: 'UPDATE stock SET n = {stock} WHERE id = {product}'}\n"
    "quiet: {command: 'test ${Q}', within: 5s}\n"
    "audit:\n"
    "  stock: {sql: SELECT 1}\n"
    "  orders:\n"
    "    command: |\n"
    "      awk '{print}'\n"
    "claims: [never_oversold, one_a_key]\n";

static struct target target;

BEFORE_ALL()
{
    struct error error;

    shop_file_setup(NULL);
    setenv("SHOP_TEST_SECRET", "pa55{user}", 1);
    t_write(SHOP_FILE, whole);
    t_done(target_read(SHOP_FILE, &target, &error), error);
}

AFTER_ALL()
{
    target_fini(&target);
    shop_file_teardown(NULL);
}

TEST(the_shop_is_as_the_file_says)
{
    HAS(target, path, SHOP_FILE, name, "tickets", database,
        "postgresql://tester:pa55%7Buser%7D@127.0.0.1/shop", product, 7, stock, 100, limit, 2,
        users_command, "users ${X}");
    assert_null(target.users_csv);
    assert_true(target.repeats > 0.0249 && target.repeats < 0.0251);
}

TEST(steps_take_what_those_behind_them_send)
{
    const struct shop_request *login = &target.steps[0], *other = &target.steps[1];

    assert_int_equal(target.step_count, 2);
    HAS(*login, method, "POST", url, "http://127.0.0.1:3000/v1/login", body_form, FILL_JSON,
        header_count, 1, headers[0].name, "Content-Type", headers[0].value, "application/json",
        expect, 204, take_count, 1, takes[0].name, "token", takes[0].at, "/data/token");
    assert_false(login->closes || login->chunked);
    HAS(*other, method, "GET", url, "https://ids.test/a?u={user}", closes, true);
    assert_null(other->body);
}

static void is_rule(const struct shop_rule *rule, enum shop_meaning meaning, int from, int to)
{
    HAS(*rule, meaning, meaning, status_from, from, status_to, to);
}

TEST(a_step_has_its_own_outcome)
{
    const struct shop_request *login = &target.steps[0];

    assert_int_equal(login->rule_count, 3);
    is_rule(&login->rules[0], SHOP_REFUSED, 200, 200);
    HAS(login->rules[0], pointer, "/code", equals, "5001");
    is_rule(&login->rules[1], SHOP_SHED, 429, 429);
    is_rule(&login->rules[2], SHOP_SHED, 503, 503);
    assert_int_equal(target.steps[1].rule_count, 0);
}

/* What the environment holds, and "$${", begin no field. */
TEST(the_purchase_is_sent_as_the_file_says)
{
    const struct fill_field fields[] = {{"token", "T"}, {"key", "k&1"}};
    char *header = fill(target.purchase.headers[0].value, fields, 2, FILL_HEADER);
    char *body = fill(target.purchase.body, fields, 2, target.purchase.body_form);

    HAS(target.purchase, method, "PUT", url, "http://127.0.0.1:3000/v1/buy/{product}", header_count,
        2);
    assert_string_equal(header, "Bearer T pa55{user}");
    assert_string_equal(body, "k=k%261&c=${user}");
    assert_true(target.purchase.chunked);
    free(header);
    free(body);
}

TEST(each_line_of_the_outcome_is_a_rule_for_each_status)
{
    const struct shop_rule *rules = target.purchase.rules;

    assert_int_equal(target.purchase.rule_count, 8);
    is_rule(&rules[0], SHOP_SOLD, 200, 200);
    HAS(rules[0], pointer, "/code", equals, "0", order, "/data/id");
    is_rule(&rules[1], SHOP_SOLD, 0, 0);
    assert_string_equal(rules[1].pointer, "/order");
    assert_null(rules[1].equals);
    is_rule(&rules[2], SHOP_ACCEPTED, 202, 202);
    is_rule(&rules[3], SHOP_ACCEPTED, 203, 203);
    assert_string_equal(rules[3].order, "/id");
    is_rule(&rules[4], SHOP_SOLD_OUT, 200, 299);
    assert_string_equal(rules[4].equals, "\"5001\"");
    is_rule(&rules[5], SHOP_SHED, 429, 429);
    is_rule(&rules[6], SHOP_REFUSED, 0, 0);
    assert_string_equal(rules[6].contains, "closed");
    is_rule(&rules[7], SHOP_REFUSED, 0, 0);
    assert_null(rules[7].contains);
}

TEST(an_accepted_order_is_asked_for)
{
    HAS(target.poll, method, "GET", url, "http://127.0.0.1:3000/v1/orders/{order}", every_us, 50000,
        within_us, 120000000, rule_count, 3, rules[0].equals, "\"paid\"", rules[1].equals, "null",
        rules[2].equals, "\"\"");
}

TEST(the_books_are_read_by_sql_or_a_command)
{
    HAS(target, reset.sql, "UPDATE stock SET n = {stock} WHERE id = {product}", quiet.command,
        "test ${Q}", quiet.within_us, 5000000, stock_left.sql, "SELECT 1", orders.command,
        "awk '{print}'\n");
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++)
        assert_int_equal(target.claims[i], i == FINDING_OVERSOLD || i == FINDING_DUPLICATE);
}

static struct target read_text(const char *text)
{
    struct error error = {.code = ERROR_NONE};
    struct target read;
    t_write(SHOP_FILE, text);
    t_done(target_read(SHOP_FILE, &read, &error), error);
    return read;
}

TEST(what_is_not_given_has_a_default)
{
    struct target plain = read_text("server: https://[::1]:8443\nstock: 5\nrequest: {path: /buy}\n"
                                    "outcome: [{sold: 201}]\n");
    HAS(plain, name, "shop", purchase.method, "POST", purchase.url, "https://[::1]:8443/buy",
        product, 1, limit, 0, user_from, 1, user_to, 100000);
    assert_null(plain.poll.method);
    assert_false(plain.orders.sql || plain.orders.command || plain.database);
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++)
        assert_int_equal(plain.claims[i], *claim_name((enum finding_kind)i) != 0);
    target_fini(&plain);
    target_fini(&plain);
}

TEST(a_csv_names_the_fields_of_its_users)
{
    t_write("users.csv", "\xef\xbb\xbf\"card\",user\r\n1,2\r\n");
    struct target plain = read_text("server: http://a\nstock: 5\nusers: {csv: users.csv}\n"
                                    "request: {path: '/buy?u={user}&c={card}'}\n"
                                    "outcome: [{sold: 201}]\n");
    assert_string_equal(plain.users_csv, "users.csv");
    target_fini(&plain);
}

/* A password with all that has a meaning somewhere is one value wherever it stands. */
TEST(what_the_environment_holds_stays_one_value)
{
    static const struct {
        const char *database, *wanted; /* libpq's */
    } cases[] = {
        {"host=db password=${SHOP_TEST_SECRET} user=u", "p w'd\\@/{k}\""},
        {"host=db password = ${SHOP_TEST_SECRET} user=u", "p w'd\\@/{k}\""},
        {"host=db password='is ${SHOP_TEST_SECRET}' user=u", "is p w'd\\@/{k}\""},
        {"postgresql://u:${SHOP_TEST_SECRET}@db/shop", "p w'd\\@/{k}\""},
        {"postgresql://db/shop?user=u&password=${SHOP_TEST_SECRET}", "p w'd\\@/{k}\""},
        {"${SHOP_TEST_PART} password=x", "x"},
        {"postgresql://u:x@${SHOP_TEST_HOST}/shop", "x"},
    };
    setenv("SHOP_TEST_SECRET", "p w'd\\@/{k}\"", 1);
    setenv("SHOP_TEST_PART", "host=db user=u", 1);
    setenv("SHOP_TEST_HOST", "db:5433", 1);
    setenv("SHOP_TEST_JSON", "[\"1\"]", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct target read =
            read_text(t_text("server: http://s\nstock: 1\ndatabase: \"%s\"\nrequest: {path: /}\n"
                             "outcome: [{sold: 201}]\n",
                             cases[i].database));
        PQconninfoOption *options = PQconninfoParse(read.database, NULL);
        assert_non_null(options);
        for (const PQconninfoOption *one = options; one->keyword; one++) {
            if (strcmp(one->keyword, "password") == 0)
                assert_string_equal(one->val, cases[i].wanted);
            if (strcmp(one->keyword, "user") == 0)
                assert_string_equal(one->val, "u");
        }
        PQconninfoFree(options);
        target_fini(&read);
    }
}

TEST(the_same_in_a_request)
{
    struct target read = read_text(
        "server: http://s\nstock: 1\nrequest:\n  path: /a/${SHOP_TEST_SECRET}?x\n"
        "  headers: {A: 'B ${SHOP_TEST_SECRET}'}\n"
        "  body: '{\"k\": \"${SHOP_TEST_SECRET}\", \"n\": ${SHOP_TEST_JSON}}'\n"
        "database: dbname=s\n"
        "audit: {stock: {sql: \"SELECT '${SHOP_TEST_SECRET}'\"}}\noutcome: [{sold: 201}]\n");
    HAS(read, stock_left.sql, "SELECT 'p w''d\\@/{{k}\"'", purchase.url,
        "http://s/a/p%20w%27d%5C%40/%7Bk%7D%22?x", purchase.headers[0].value, "B p w'd\\@/{{k}\"",
        purchase.body, "{\"k\": \"p w'd\\\\@/{{k}\\\"\", \"n\": [\"1\"]}");
    target_fini(&read);
    read = read_text("server: http://s\nstock: 1\nrequest:\n  path: /\n"
                     "  headers: {Content-Type: application/x-www-form-urlencoded}\n"
                     "  body: p=${SHOP_TEST_SECRET}\noutcome: [{sold: 201}]\n");
    assert_string_equal(read.purchase.body, "p=p%20w%27d%5C%40%2F%7Bk%7D%22");
    target_fini(&read);
}

/* Those that no test buys by, since their shop comes from a registry, are at least read. */
TEST(the_targets_of_the_examples_are_read)
{
    static const char *const shops[] = {"flask", "mariadb", "node", "recipes", "vendure"};
    struct error error = {.code = ERROR_NONE};

    setenv("SHOP_URL", "http://127.0.0.1:3000", 1);
    setenv("SHOP_DATABASE", "dbname=shop", 1);
    setenv("SHOP_MARIADB", "/run/mariadb.sock", 1);
    setenv("SHOP_WAY", "pessimistic", 1);
    for (size_t i = 0; i < sizeof shops / sizeof *shops; i++) {
        struct target example;
        t_done(target_read(t_text("%s/%s/shop.yaml", EXAMPLES, shops[i]), &example, &error), error);
        assert_int_equal(example.stock, 100);
        assert_true(shop_query_is_given(&example.orders));
        target_fini(&example);
    }
}

/* A checkout of several steps, whose long bodies are folded: JSON has no line break in a text. */
TEST(vendure_is_bought_at_in_four_requests)
{
    struct error error = {.code = ERROR_NONE};
    struct target vendure;

    setenv("SHOP_URL", "http://127.0.0.1:3000", 1);
    setenv("SHOP_DATABASE", "dbname=shop", 1);
    t_done(target_read(EXAMPLES "/vendure/shop.yaml", &vendure, &error), error);
    assert_int_equal(vendure.step_count, 3);
    for (size_t i = 0; i < vendure.step_count; i++) {
        assert_string_equal(vendure.steps[i].method, "POST");
        assert_null(strchr(vendure.steps[i].body, '\n'));
    }
    assert_null(strchr(vendure.purchase.body, '\n'));
    HAS(vendure.purchase.rules[0], meaning, SHOP_SOLD, order, "/data/addPaymentToOrder/id");
    target_fini(&vendure);
}
