/*
 * What no target's file may be: not there, not text, too large, and too much of anything; and each
 * mistake that one can have, once, with what is said to it: the line, the field, what is wrong and
 * what would be right. Passwords are in none of it.
 */
#include "loadtest/shop/target.h"
#include "shop_file.h"

#include <stdlib.h>
#include <string.h>

/* Lines that stand behind the good file, and what is said to them behind "shop:". A field that they
 * begin with is left out of the good file, unless '+' stands before it; a field's name alone is no
 * line. */
struct mistake {
    const char *text, *said;
};

static const char *const good[][2] = {{"server", "server: http://127.0.0.1:3000\n"},
                                      {"stock", "stock: 100\n"},
                                      {"request", "request: {path: /buy}\n"},
                                      {"outcome", "outcome: [{sold: 201}]\n"}};

/* How several of them begin, and what is said of several. */
#define IN_REQUEST "request:\n  path: /buy\n  "
#define A_STEP     "before:\n  - path: /a\n    outcome:\n      - "
#define IN_STEP    "before:\n  - {path: /a, "
#define POLL       "outcome: [{accepted: 202}]\npoll: {path: /a"
#define ORDERS     "audit: {orders: {command: 'true'}}\nclaims: ["
#define NO_POINTER " is no JSON pointer: /id, or /data/0/id for what is further in"
#define NO_RANGE   " is no range of users: 1..100000, up to 1000000000"

static const struct mistake mistakes[] = {
    {"+server: [\n", "6: no YAML: did not find expected node content, while parsing a flow node"},
    {"\tname: x\n", "5: a tab before the first word: indent with spaces"},
    {"name: &a x\n", "5: an anchor (&name): write the value where it is needed"},
    {"name: *a\n", "5: an alias (*name): write the value again"},
    {"name: !!str x\n", "5: a tag (!name): nothing here needs one"},
    {"---\nname: x\n", "5: a second document (---): a file is one target"},
    {"name: a: b\n", "5: no YAML: mapping values are not allowed in this context"},
    {"? [a]\n: x\n", "5: a name before the ':' is missing"},
    {"stok: 5\n", "5: there is no field \"stok\": did you mean stock?"},
    {"colour: red\n",
     "5: there is no field \"colour\"; there are name, server, database, product, stock, limit, "
     "users, before, request, repeats, outcome, poll, reset, quiet, audit, claims"},
    {"+stock: 6\n", "5: \"stock\" stands twice, in line 2 too"},
    {"server", "1: \"server\" is missing"},
    {"stock", "1: \"stock\" is missing"},
    {"request", "1: \"request\" is missing"},
    {"outcome", "1: \"outcome\" is missing"},
    {"server: shop.example\n", "4: server: it begins with http:// or https://"},
    {"server: http://\n", "4: server: no host in it"},
    {"server: http://me:pa55w0rd@shop\n", "4: server: a user in it: write a header, Authorization"},
    {"server: http://shop?x=1\n", "4: server: a '?' in it: that belongs to a request's path"},
    {"server: http://shop/#a\n", "4: server: a '#', and what is behind it is never sent"},
    {"server: http://shop/a b\n",
     "4: server: a character that no URL has; such are written by percent: %20"},
    {"server: [http://shop]\n", "4: server: a list, and a URL (http://127.0.0.1:3000) is wanted"},
    {"server:\n", "4: server: nothing, and a URL (http://127.0.0.1:3000) is wanted"},
    {"name: {a: b}\n", "5: name: a map, and a name is wanted"},
    {"name: ${SHOP_TEST_UNSET}\n", "5: name: ${SHOP_TEST_UNSET} is not set in the environment"},
    {"name: ${SHOP_TEST_EMPTY}\n", "5: name: what the environment has for it is empty"},
    {"name: a ${b\n", "5: name: \"${\" begins no variable of the environment: ${NAME}; write "
                      "\"$${\" for these two characters"},
    {"name: \"a\\0b\"\n", "5: name: a NUL character in it"},
    {"database: passwort=pa55w0rd\n", "5: database: no connection string of PostgreSQL: host=db "
                                      "dbname=shop user=tester, or postgresql://tester@db/shop"},
    {"database: ${SHOP_TEST_SECRET}\n", "5: database: no connection string of PostgreSQL: host=db "
                                        "dbname=shop user=tester, or postgresql://tester@db/shop"},
    {"product: seven\n", "5: product: \"seven\" is no whole number from 0 to 9223372036854775807"},
    {"product: -1\n", "5: product: \"-1\" is no whole number from 0 to 9223372036854775807"},
    {"stock: 0\n", "4: stock: \"0\" is no whole number from 1 to 1000000000"},
    {"stock: 1.5\n", "4: stock: \"1.5\" is no whole number from 1 to 1000000000"},
    {"stock: ${SHOP_TEST_SECRET}\n",
     "4: stock: \"${SHOP_TEST_SECRET}\" is no whole number from 1 to 1000000000"},
    {"limit: 0\n", "5: limit: \"0\" is no whole number from 1 to 1000000000"},
    {"users: 1-100\n", "5: users: \"1-100\"" NO_RANGE},
    {"users: 9..3\n", "5: users: \"9..3\"" NO_RANGE},
    {"users: 0..3\n", "5: users: \"0..3\"" NO_RANGE},
    {"users: 1..9999999999\n", "5: users: \"1..9999999999\"" NO_RANGE},
    {"users: {csv: nobody.csv}\n",
     "5: users.csv: \"nobody.csv\": No such file or directory; it is looked for beside this file"},
    {"users: {csv: users.csv}\n", "5: users.csv: no column is called \"user\""},
    {"users: {csv: empty.csv}\n",
     "5: users.csv: the file is empty: its first line names the columns"},
    {"users: {csv: users.csv, command: cat}\n", "5: users.csv: no column is called \"user\""},
    {"users: {columns: [user]}\n",
     "5: users.columns: only a command's columns are told: a file names its own"},
    {"users: {command: cat, columns: [user, user]}\n",
     "5: users.columns[1]: {user} is known already: take another name"},
    {"users: {command: cat, columns: [user, a-b]}\n",
     "5: users.columns[1]: \"a-b\" is no name for a field: letters, digits and '_', 40 at most"},
    {"users: {command: cat, columns: [name]}\n", "5: users.columns: no column is called \"user\""},
    {"users: {command: cat, columns: [user, product]}\n",
     "5: users.columns[1]: {product} is known already: take another name"},
    {"users: {command: cat, columns: []}\n", "5: users.columns: an empty list: [user, token]"},
    {"users: [1, 2]\n",
     "5: users: a list, and a range (1..100000), or a map with \"csv\" or \"command\" is wanted"},
    {"repeats: 5\n", "5: repeats: \"5\" is no share from 0% to 100%: 5%"},
    {"repeats: 101%\n", "5: repeats: \"101%\" is no share from 0% to 100%: 5%"},
    {"repeats: 5%\n", "5: repeats: {key} stands nowhere in \"request\", so the shop could not tell "
                      "a repeat from a second purchase"},
    {"request: POST /buy\n", "4: request: a single value, and a map is wanted: with method, path, "
                             "headers, body, chunked, keep_alive"},
    {"request: {}\n",
     "4: request: an empty map: with method, path, headers, body, chunked, keep_alive"},
    {"request: {method: POST}\n", "4: request: \"path\" is missing"},
    {"request: {path: buy}\n",
     "4: request.path: it begins with '/', or with http:// or https:// for a service elsewhere"},
    {"request: {path: /buy, method: post}\n",
     "4: request.method: \"post\" is no method: GET, POST, PUT, PATCH or DELETE"},
    {"request: {path: /buy, method: [GET]}\n", "4: request.method: a list, and a method is wanted"},
    {"request: {path: '/buy/{usr}'}\n", "4: request.path: there is no field {usr} here: did you "
                                        "mean {user}? (for a brace alone: \"{{\")"},
    {"request: {path: '/buy/{order}'}\n",
     "4: request.path: {order} is known in \"poll\" alone, when each \"accepted\" of \"outcome\" "
     "has its \"order\""},
    {"request: {path: http:///buy}\n", "4: request.path: no host in it"},
    {IN_REQUEST "headers: {Content-Length: 5}\n",
     "6: request.headers.Content-Length: it is made from the body: see \"chunked\""},
    {IN_REQUEST "headers: {connection: close}\n",
     "6: request.headers.connection: it is made from \"keep_alive\""},
    {IN_REQUEST "headers: {A: x, a: y}\n",
     "6: request.headers.a: this header stands twice, in other letters"},
    {IN_REQUEST "headers: {\"A B\": x}\n",
     "6: request.headers.A B: no name of a header: letters, digits and '-'"},
    {IN_REQUEST "headers: {A: \"pa55w0rd\\nB\"}\n",
     "6: request.headers.A: a header is one line, without control characters"},
    {IN_REQUEST "headers: [A]\n",
     "6: request.headers: a list, and a map is wanted: {X-Name: value}"},
    {IN_REQUEST "body: {user: {user}}\n", "6: request.body: a map, and a text is wanted: in "
                                          "quotes, or behind \"|\" on lines of its own"},
    {IN_REQUEST "body: user={user}\n", "6: request.body: a body that is no JSON: say what it is in "
                                       "a header, Content-Type: application/x-www-form-urlencoded"},
    {IN_REQUEST "chunked: true\n", "6: request.chunked: there is no body to be sent in chunks"},
    {IN_REQUEST "keep_alive: no\n", "6: request.keep_alive: \"no\" is neither true nor false"},
    {IN_REQUEST "expect: 200\n", "6: request: there is no field \"expect\"; there are method, "
                                 "path, headers, body, chunked, keep_alive"},
    {"before: {path: /login}\n",
     "5: before: a map, and a list is wanted: - {method: POST, path: /login}"},
    {"before: []\n", "5: before: an empty list: - {method: POST, path: /login}"},
    {"before:\n  - path: /a\n  - {path: /b, expect: 600}\n",
     "7: before[1].expect: \"600\" is no whole number from 100 to 599"},
    {IN_STEP "outcome: {refused: 403}}\n",
     "6: before[0].outcome: a map, and a list is wanted: - refused: 403"},
    {IN_STEP "outcome: []}\n", "6: before[0].outcome: an empty list: - refused: 403"},
    {A_STEP "refused: 403\n      - sold: 200\n",
     "9: before[0].outcome[1].sold: a step sells nothing: sold_out, refused or shed end the "
     "purchase there"},
    {A_STEP "accepted: 202\n", "8: before[0].outcome[0].accepted: a step sells nothing: sold_out, "
                               "refused or shed end the purchase there"},
    {A_STEP "refuse: 403\n",
     "8: before[0].outcome[0]: there is no field \"refuse\": did you mean refused?"},
    {A_STEP "refused: {json: {code: 1}}\n",
     "8: before[0].outcome[0].refused.json.code: \"code\"" NO_POINTER},
    {A_STEP "{refused: 403, order: /id}\n",
     "8: before[0].outcome[0].order: only what is sold or accepted has an order"},
    {A_STEP "order: /id\n",
     "8: before[0].outcome[0]: what it means is missing: sold_out, refused, shed"},
    {A_STEP "shed: 429\n      - refused: any\n",
     "9: before[0].outcome[1]: any answer would end the purchase here: name a status, json or text "
     "of it"},
    {IN_STEP "take: {token: token}}\n", "6: before[0].take.token: \"token\"" NO_POINTER},
    {IN_STEP "take: {token: /a~2}}\n", "6: before[0].take.token: \"/a~2\"" NO_POINTER},
    {IN_STEP "take: {token: {head: X}}}\n", "6: before[0].take.token: a map, and one of these is "
                                            "wanted: /a/pointer, {header: X-Name}, {cookie: name}"},
    {IN_STEP "take: {token: {cookie: a b}}}\n",
     "6: before[0].take.token.cookie: no name of a cookie: letters, digits and '-'"},
    {IN_STEP "take: {user: /id}}\n",
     "6: before[0].take.user: {user} is known already: take another name"},
    {IN_STEP "take: {9x: /id}}\n",
     "6: before[0].take.9x: \"9x\" is no name for a field: letters, digits and '_', 40 at most"},
    {"before:\n  - {path: '/a/{token}', take: {token: /id}}\n",
     "6: before[0].path: there is no field {token} here; there are {product}, {key}, {user} (for a "
     "brace alone: \"{{\")"},
    {"outcome: {sold: 201}\n", "4: outcome: a map, and a list is wanted: - sold: 201"},
    {"outcome:\n  - sold: 2000\n", "5: outcome[0].sold: \"2000\" is no status: a number from 100 "
                                   "to 599, or 4xx for each that begins so"},
    {"outcome:\n  - sold: 6xx\n", "5: outcome[0].sold: \"6xx\" is no status: a number from 100 to "
                                  "599, or 4xx for each that begins so"},
    {"outcome:\n  - sold: []\n", "5: outcome[0].sold: an empty list: [201, 202]"},
    {"outcome:\n  - sold: {}\n", "5: outcome[0].sold: an empty map: with status, json, text"},
    {"outcome:\n  - sold:\n", "5: outcome[0].sold: nothing, and a status, \"any\", or {status: …, "
                              "json: …, text: …} is wanted"},
    {"outcome:\n  - bought: 201\n", "5: outcome[0]: there is no field \"bought\"; there are sold, "
                                    "accepted, sold_out, refused, shed, order"},
    {"outcome:\n  - {sold: 201, refused: 409}\n",
     "5: outcome[0].refused: a line has one meaning, and this one has \"sold\" too"},
    {"outcome:\n  - sold: 201\n  - order: /id\n",
     "6: outcome[1]: what it means is missing: sold, accepted, sold_out, refused, shed"},
    {"outcome:\n  - sold: 201\n  - {refused: 409, order: /id}\n",
     "6: outcome[1].order: only what is sold or accepted has an order"},
    {"outcome:\n  - sold: {status: 201, order: /id}\n",
     "5: outcome[0].sold: there is no field \"order\"; there are status, json, text"},
    {"outcome:\n  - sold: {status: 201, json: {code: 0}}\n",
     "5: outcome[0].sold.json.code: \"code\"" NO_POINTER},
    {"outcome:\n  - sold: {json: {/a: 0, /b: 1}}\n",
     "5: outcome[0].sold.json: one pointer a rule; a second rule can look at another"},
    {"outcome:\n  - sold: {json: {/a: }}\n", "5: outcome[0].sold.json./a: nothing, and a single "
                                             "value (5001, true, null, \"text\") is wanted"},
    {"outcome:\n  - sold: {json: {/a: [1]}}\n", "5: outcome[0].sold.json./a: a list, and a single "
                                                "value (5001, true, null, \"text\") is wanted"},
    {"outcome:\n  - sold: {text: ''}\n", "5: outcome[0].sold.text: nothing, and a text is wanted"},
    {"outcome:\n  - sold: any\n  - refused: 409\n",
     "6: outcome[1]: never reached: the line before it takes any answer"},
    {"outcome:\n  - refused: 409\n",
     "4: outcome: no answer is \"sold\" or \"accepted\": nothing could be bought"},
    {"poll: {path: /a, outcome: [{sold: 200}]}\n",
     "5: poll: nothing in \"outcome\" is accepted, so nothing is asked for"},
    {"outcome: [{accepted: 202}]\npoll: {path: '/a/{order}', outcome: [{sold: 200}]}\n",
     "5: poll.path: {order} is known in \"poll\" alone, when each \"accepted\" of \"outcome\" has "
     "its \"order\""},
    {POLL "}\n", "5: poll: \"outcome\" is missing"},
    {POLL ", outcome: [{accepted: 202}]}\n",
     "5: poll.outcome: no answer is \"sold\": nothing could be bought"},
    {POLL ", every: 50, outcome: [{sold: 200}]}\n",
     "5: poll.every: \"50\" is no time from 1ms to 60m: 50ms, 30s, 5m"},
    {POLL ", every: 0s, outcome: [{sold: 200}]}\n",
     "5: poll.every: \"0s\" is no time from 1ms to 60m: 50ms, 30s, 5m"},
    {POLL ", every: 61m, outcome: [{sold: 200}]}\n",
     "5: poll.every: \"61m\" is no time from 1ms to 60m: 50ms, 30s, 5m"},
    {POLL ", every: 2s, within: 1s, outcome: [{sold: 200}]}\n",
     "5: poll.within: shorter than \"every\": it would never be asked"},
    {"reset: {sql: DELETE FROM orders}\n",
     "5: reset.sql: SQL needs \"database\", where it is to be sent"},
    {"database: dbname=shop\nreset: {sql: 'DELETE FROM orders WHERE user_id = {user}'}\n",
     "6: reset.sql: there is no field {user} here; there are {product}, {stock} (for a brace "
     "alone: \"{{\")"},
    {"database: dbname=shop\nreset: {sql: SELECT 1, command: 'true'}\n",
     "6: reset: \"sql\" and \"command\" both: one of them"},
    {"reset: true\n", "5: reset: a single value, and a map is wanted: with sql, command"},
    {"reset: {command: 'true', within: 5s}\n",
     "5: reset: there is no field \"within\"; there are sql, command"},
    {"quiet: {within: 5s}\n", "5: quiet: \"sql\" or \"command\" is missing"},
    {"audit: {rows: {command: 'true'}}\n",
     "5: audit: there is no field \"rows\"; there are stock, orders"},
    {"audit:\n  stock: {command: [a, b]}\n",
     "6: audit.stock.command: a list, and a command for sh -c is wanted"},
    {"claims: never_oversold\n",
     "5: claims: a single value, and a list is wanted: [never_oversold]"},
    {"claims: [never_overslod]\n",
     "5: claims[0]: there is no claim \"never_overslod\": did you mean never_oversold?"},
    {"claims: [never_oversold]\n", "5: claims[0]: never_oversold needs \"audit\" with \"orders\""},
    {ORDERS "conserved]\n", "6: claims[0]: conserved needs \"audit\" with \"stock\""},
    {ORDERS "one_a_user]\n",
     "6: claims[0]: one_a_user needs \"limit\", the units that a user may have"},
    {ORDERS "one_a_key]\n",
     "6: claims[0]: one_a_key needs \"repeats\", the share that is sent twice"},
    {ORDERS "never_oversold, never_oversold]\n", "6: claims[1]: never_oversold stands twice"},
    {"claims: [nothing_left]\n", "5: claims[0]: nothing_left needs \"audit\" with \"stock\""},
};

static const char *write_mistake(const struct mistake *mistake)
{
    static char text[1000];
    const char *more = mistake->text;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        size_t length = strlen(good[i][0]);
        if (strncmp(more, good[i][0], length) != 0 || (more[length] && more[length] != ':'))
            strcat(text, good[i][1]);
        else if (!more[length])
            more = "";
    }
    t_write(SHOP_FILE, strcat(text, *more == '+' ? more + 1 : more));
    return text;
}

TEST(each_mistake_is_answered_with_its_line_and_what_would_be_right)
{
    bool all = true;

    setenv("SHOP_TEST_SECRET", "pa55w0rd", 1);
    setenv("SHOP_TEST_EMPTY", "", 1);
    unsetenv("SHOP_TEST_UNSET");
    t_write("users.csv", "name,token\n1,2\n");
    t_write("empty.csv", "");
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct error error = {.code = ERROR_NONE};
        struct target target;
        const char *text = write_mistake(&mistakes[i]);
        const char *said = t_text(SHOP_FILE ":%s", mistakes[i].said);
        bool read = target_read(SHOP_FILE, &target, &error);
        if (read || error.code != ERROR_INVALID || strcmp(error.text, said) != 0) {
            print_message("--- %zu\n%swas answered with: %s\nand not with: %s\n", i, text,
                          read ? "nothing" : error.text, said);
            all = false;
        }
        assert_null(strstr(error.text, "pa55w0rd"));
    }
    assert_true(all);
}

/* --- what is no file, and too much --- */

static const char begun[] = "server: http://a\nstock: 5\nrequest: {path: /buy}\n";

static void is_refused(const char *path, const char *said)
{
    struct error error = {.code = ERROR_NONE};
    struct target target;

    assert_false(target_read(path, &target, &error));
    assert_int_equal(error.code, ERROR_INVALID);
    assert_string_equal(error.text, said);
    target_fini(&target);
}

TEST(what_is_no_file_is_refused)
{
    is_refused("nobody", "nobody: No such file or directory");
    is_refused("/", "/: a folder, no file");
    t_write(SHOP_FILE, "");
    is_refused(SHOP_FILE, "shop:1: an empty file: docs/JUDGING.md#the-target-file has one");
    t_write(SHOP_FILE, "# no more\n");
    is_refused(SHOP_FILE, "shop:1: an empty file: docs/JUDGING.md#the-target-file has one");
    t_write(SHOP_FILE, "- a\n");
    is_refused(SHOP_FILE,
               "shop:1: a list, and a map is wanted: with name, server, database, product, "
               "stock, limit, users, before, request, repeats, outcome, poll, reset, "
               "quiet, audit, claims");
}

TEST(what_is_no_text_is_refused)
{
    static const char *const bytes[] = {"a\n\xff",         "a\n\xc0\x80",     "a\n\xed\xa0\x80",
                                        "a\n\xf0\x80\x80", "a\n\xf4\x90\x80", "a\n\xe2\x82"};

    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        t_write(SHOP_FILE, bytes[i]);
        is_refused(SHOP_FILE, "shop:2: not text in UTF-8");
    }
    FILE *to = fopen(SHOP_FILE, "we");
    assert_non_null(to);
    assert_int_equal(fwrite("a\0\n", 1, 3, to), 3);
    fclose(to);
    is_refused(SHOP_FILE, "shop:1: not text in UTF-8");
}

TEST(a_file_has_64_kib_at_most)
{
    enum { MOST = 64 * 1024 };
    struct error error = {.code = ERROR_NONE};
    struct target target;
    char *text = calloc(1, MOST + 2);

    assert_non_null(text);
    memset(text, '#', MOST);
    int length = snprintf(text, MOST, "%soutcome: [{sold: 201}]\n", begun);
    text[length] = '#';
    t_write(SHOP_FILE, text);
    assert_true(target_read(SHOP_FILE, &target, &error));
    target_fini(&target);
    text[MOST] = '#';
    t_write(SHOP_FILE, text);
    is_refused(SHOP_FILE, "shop: too large: a target file has 65536 bytes at most");
    free(text);
}

/* The file that is begun, the head, a counted piece so many times, and the tail. */
struct many {
    const char *head, *before_number, *behind_number;
    int count;
    const char *tail, *said;
};

static void write_many(const struct many *many, int count)
{
    FILE *to = fopen(SHOP_FILE, "we");
    assert_non_null(to);
    fprintf(to, "%s%s", begun, many->head);
    for (int i = 0; i < count; i++)
        fprintf(to, "%s%d%s", many->before_number, 100 + i, many->behind_number);
    fputs(many->tail, to);
    fclose(to);
}

TEST(of_nothing_are_there_more_than_a_shop_needs)
{
    static const char sold[] = "outcome: [{sold: 201}]\n";
    static const struct many all[] = {
        {"before: [{path: /a, headers: {", "H", ": x, ", 32, "}}]\n",
         "shop:4: before[0].headers: too many headers: 32 at most"},
        {"before:\n", "  - path: /a", "\n", 16, "", "shop:4: before: too many steps: 16 at most"},
        {"before: [{path: /a, take: {", "t", ": /a, ", 16, "}}]\n",
         "shop:4: before[0].take: too many: 16 at most"},
        {"before:\n  - path: /a\n    outcome:\n", "      - shed: ", "\n", 64, "",
         "shop:71: before[0].outcome[64]: too many rules: 64 at most, one for each status"},
        {"users: {command: x, columns: [user, ", "c", ", ", 45, "]}\n",
         "shop:4: users.columns[46]: too many fields: 48 at most"},
        {"outcome: [{sold: [", "", ", ", 16, "]}]\n",
         "shop:4: outcome[0].sold[16]: too many: 16 at most"},
        {"outcome:\n", "  - sold: ", "\n", 64, "",
         "shop:69: outcome[64]: too many rules: 64 at most, one for each status"},
    };
    struct error error = {.code = ERROR_NONE};
    struct target target;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct many many = all[i];
        char tail[100];
        snprintf(tail, sizeof tail, "%s%s", many.tail, many.head[0] == 'o' ? "" : sold);
        many.tail = tail;
        write_many(&many, many.count);
        t_done(target_read(SHOP_FILE, &target, &error), error);
        target_fini(&target);
        write_many(&many, many.count + 1);
        is_refused(SHOP_FILE, many.said);
    }
}

/* libyaml ends what is nested too deep; nothing here goes deeper than the fields do. */
TEST(nests_are_refused)
{
    char text[4000] = "";
    struct error error = {.code = ERROR_NONE};
    struct target target;

    memset(text, '[', sizeof text - 1);
    t_write(SHOP_FILE, text);
    assert_false(target_read(SHOP_FILE, &target, &error));
    assert_int_equal(error.code, ERROR_INVALID);
}

TEST_GROUP(shop_file_setup, shop_file_teardown)
