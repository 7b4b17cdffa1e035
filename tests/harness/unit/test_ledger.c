/* The ledger's file, a shop's too: what is read is written again as it was, and what is no ledger
 * is refused. */
#include "harness/fixtures/has.h"
#include "lib/t.h"

#include "loadtest/ledger/ledger_read.h"
#include "loadtest/ledger/ledger_write.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD "{\"ledger\":3,\"seed\":7}\n{\"product\":3,\"stock\":5,\"limit\":2,\"epoch\":9}\n"
#define BUY                                                                                        \
    "{\"op\":1,\"do\":\"buy\",\"at_us\":10,\"user\":\"4\",\"product\":3,\"quantity\":1,\"key\":"   \
    "\"k\"}\n"
#define SOLD                                                                                       \
    "{\"op\":1,\"end_us\":30,\"is\":\"ok\",\"status\":201,\"order\":\"o-1\",\"state\":"            \
    "\"confirmed\"}\n"

static struct ledger ledger;
static struct error error;

static bool read_text_of(const char *text, enum ledger_whose whose)
{
    char *copy = strdup(text);
    assert_non_null(copy);
    FILE *file = fmemopen(copy, strlen(copy), "r");
    assert_non_null(file);
    ledger_fini(&ledger);
    error.text[0] = '\0';
    bool good = ledger_read(&ledger, file, whose, &error);
    fclose(file);
    free(copy);
    return good;
}

static bool read_text(const char *text)
{
    return read_text_of(text, LEDGER_OF_SERVERS);
}

static void refuses(const char *text, const char *why)
{
    if (read_text(text))
        fail_msg("it took: %s", text);
    t_says(error.text, why);
    assert_int_equal(ledger.ops_count, 0);
}

/* As they are written: our own servers', a purchase that is answered, a cancel whose answer names
 * another order and a payment that has none; and a shop's, a purchase that became sold, one that
 * was never asked, a repeat that is refused, and the books. */
static const struct {
    enum ledger_whose whose;
    const char *text;
} written[] = {
    {LEDGER_OF_SERVERS,
     "{\"ledger\":3,\"seed\":42,\"began\":\"\",\"clock\":\"CLOCK_MONOTONIC\"}\n"
     "{\"product\":3,\"stock\":5,\"limit\":2,\"epoch\":9}\n"
     "{\"op\":1,\"do\":\"buy\",\"at_us\":100,\"user\":\"4\",\"product\":3,\"quantity\":2,"
     "\"hold_s\":900,\"key\":\"a \\\"key\\\"\",\"strategy\":\"conditional\"}\n"
     "{\"op\":1,\"end_us\":200,\"is\":\"ok\",\"state\":\"pending\",\"status\":201,"
     "\"order\":\"o-1\",\"fence\":17}\n"
     "{\"op\":2,\"do\":\"cancel\",\"at_us\":150,\"product\":3,\"order\":\"o-1\"}\n"
     "{\"op\":2,\"end_us\":210,\"is\":\"fail\",\"code\":\"not_open\",\"status\":409,"
     "\"order\":\"o-2\"}\n"
     "{\"op\":3,\"do\":\"pay\",\"at_us\":160,\"order\":\"o-1\"}\n"
     "{\"note\":\"killed a server\",\"at_us\":170}\n"
     "{\"done\":true,\"at_us\":9999}\n"},
    {LEDGER_OF_SHOP,
     "{\"ledger\":3,\"seed\":9,\"shop\":\"Laden \\\"7\\\"\",\"target\":\"shop.yaml\","
     "\"connections\":32,\"rate_per_s\":500,\"began\":\"\",\"clock\":\"CLOCK_MONOTONIC\"}\n"
     "{\"product\":7,\"stock\":5,\"limit\":2}\n"
     "{\"op\":1,\"do\":\"buy\",\"due_us\":1000,\"at_us\":1300,\"user\":\"Li \xe6\x9d\x8e\","
     "\"key\":\"k1\"}\n"
     "{\"op\":1,\"end_us\":1400,\"sent_us\":1300,\"is\":\"accepted\",\"became\":\"sold\","
     "\"status\":202,\"order\":\"o-1\"}\n"
     "{\"op\":2,\"do\":\"buy\",\"due_us\":1100,\"at_us\":1150}\n"
     "{\"op\":2,\"asked\":false,\"is\":\"unknown\"}\n"
     "{\"op\":3,\"do\":\"buy\",\"due_us\":1200,\"at_us\":1350,\"user\":\"Li \xe6\x9d\x8e\","
     "\"key\":\"k1\",\"repeat\":true}\n"
     "{\"op\":3,\"end_us\":1400,\"sent_us\":1350,\"is\":\"refused\",\"status\":409}\n"
     "{\"failures\":1,\"first_failure\":\"why\",\"began_us\":1000,\"ended_us\":9000,"
     "\"late_us\":20000}\n"
     "{\"stock_left\":-4}\n"
     "{\"orders\":2}\n"
     "{\"row\":[\"o-1\",\"Li \xe6\x9d\x8e\",1]}\n"
     "{\"row\":[null,\"\",3]}\n"
     "{\"done\":true,\"at_us\":9999}\n"},
};

static void write_again(const char *path)
{
    struct json_lines *to = ledger_create(path, &ledger, "shop.yaml", &error);
    assert_non_null(to);
    for (size_t i = 0; i < ledger.ops_count; i++) {
        const struct ledger_op *op = &ledger.ops[i];
        ledger_write_begin(to, op);
        if (op->means || op->end_us != LEDGER_NEVER)
            ledger_write_end(to, op);
    }
    if (ledger.shop) {
        ledger_write_load(to, &ledger.load);
        ledger_write_books(to, &ledger.books);
    } else {
        ledger_write_note(to, 170, "killed a server");
    }
    ledger_write_done(to, 9999);
    assert_true(json_lines_close(to, &error));
}

/* Nothing is lost or changed on the way there and back but when it began. */
TEST(what_is_written_is_read)
{
    static const char begins[] = "\"began\":\"";
    const char *path = t_text("%s/ledger", t_folder());
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        t_done(read_text_of(written[i].text, written[i].whose), error);
        assert_true(ledger.done && !ledger.cut);
        assert_int_equal(ledger.skipped, 0);
        write_again(path);
        char *text = t_read_all(path);
        char *began = strstr(text, begins);
        assert_non_null(began);
        began += strlen(begins);
        memmove(began, strchr(began, '"'), strlen(strchr(began, '"')) + 1);
        assert_string_equal(text, written[i].text);
        free(text);
    }
}

/* A recorder may die at any byte: what it had written whole counts. */
TEST(every_cut_is_forgiven)
{
    static const char text[] = HEAD BUY SOLD;
    const size_t head = strlen(HEAD), begun = strlen(HEAD BUY);
    for (size_t used = head + 1; used < strlen(text); used++) {
        char part[sizeof text];
        memcpy(part, text, used);
        part[used] = '\0';
        if (!read_text(part))
            fail_msg("cut at %zu: %s", used, error.text);
        bool whole = used == begun || used == begun - 1 || used == strlen(text) - 1;
        HAS(ledger, cut, !whole, ops_count, used >= begun - 1, done, false);
    }
}

TEST(what_is_unknown_is_skipped)
{
    assert_true(read_text(HEAD "{\"weather\":\"fine\"}\n"
                               "{\"op\":1,\"do\":\"lend\",\"at_us\":1}\n{\"op\":1,\"end_us\":2}\n"
                               "{\"op\":2,\"do\":\"read\",\"at_us\":1,\"order\":\"o\",\"x\":[1]}\n"
                               "{\"op\":2,\"end_us\":2,\"is\":\"ok\",\"status\":200}\n"));
    HAS(ledger, skipped, 3, ops_count, 1, ops[0].state, LEDGER_STATE_NONE);
}

/* As editors and other systems leave it: a byte order mark, CRLF, lines without anything. */
TEST(what_an_editor_adds_is_read)
{
    assert_true(read_text("\xef\xbb\xbf" HEAD "\r\n" BUY "\n" SOLD "\r\n\n"));
    assert_int_equal(ledger.ops_count, 1);
    assert_int_equal(ledger_find_product(&ledger, 3)->limit, 2);
    assert_null(ledger_find_product(&ledger, 4));
    assert_false(ledger.cut);
}

/* The answer's order is kept where it is not the one that was asked about. */
TEST(another_order_than_asked_is_kept)
{
    assert_true(read_text(HEAD "{\"op\":1,\"do\":\"read\",\"at_us\":1,\"order\":\"a\"}\n"
                               "{\"op\":1,\"end_us\":2,\"is\":\"ok\",\"order\":\"b\"}\n"
                               "{\"op\":2,\"do\":\"pay\",\"at_us\":1,\"order\":\"a\"}\n"
                               "{\"op\":2,\"end_us\":2,\"is\":\"ok\",\"order\":\"a\"}\n"));
    HAS(ledger.ops[0], order, "a", named, "b");
    assert_null(ledger.ops[1].named);
}

TEST(what_is_no_ledger_is_refused)
{
    refuses("\n", "line 1");
    refuses("{\"ledger\":3", "line 1"); /* cut in its first line: nothing says what it is */
    refuses("{\"ledger\":2}\n", "format 2");
    refuses("{\"shop_ledger\":2}\n", "of a version before 0.1.0");
    refuses(HEAD "{\"op\":1,\"do\":\"read\",\"at_us\":1,\"user\":4,\"order\":\"o\"}\n", "\"user\"");
    refuses("{\"runs\":[]}\n", "\"ledger\"");
    refuses("{\"ledger\":3,\"shop\":\"ours\"}\n",
            "line 1: a shop's ledger: seckill-loadtest shop TARGET.yaml --judge judges it");
    refuses(HEAD "nonsense\n" BUY, "line 3");
    refuses(HEAD "[1]\n", "line 3");
    refuses(HEAD BUY BUY, "op 1");
    refuses(HEAD BUY SOLD SOLD, "twice");
    refuses(HEAD BUY "{\"op\":1,\"end_us\":9,\"is\":\"ok\"}\n", "end_us");
    refuses(HEAD BUY "{\"op\":1,\"end_us\":90,\"is\":\"maybe\"}\n", "\"is\"");
    refuses(HEAD BUY "{\"op\":1,\"end_us\":90,\"is\":\"ok\",\"state\":\"Confirmed\"}\n",
            "\"state\"");
    refuses(HEAD BUY "{\"op\":1,\"end_us\":1.5,\"is\":\"ok\"}\n", "integer");
    refuses(HEAD BUY "{\"op\":1,\"op\":1}\n", "line 4");
    refuses(HEAD "{\"op\":1,\"do\":\"buy\",\"at_us\":1,\"product\":3}\n", "quantity");
    refuses(HEAD "{\"op\":1,\"do\":\"cancel\",\"at_us\":1}\n", "order");
    refuses(HEAD "{\"op\":1,\"do\":\"buy\",\"at_us\":1,\"product\":3,\"quantity\":1000000001}\n",
            "quantity");
    refuses(HEAD "{\"product\":4,\"stock\":9007199254740992}\n", "stock");
    refuses(HEAD "{\"op\":1,\"do\":\"buy\",\"at_us\":1,\"product\":3,\"quantity\":1}\n"
                 "{\"op\":1,\"end_us\":90,\"is\":\"ok\",\"status\":201}\n",
            "a key or an order");
    refuses(HEAD "{\"op\":1,\"do\":\"buy\",\"product\":3,\"quantity\":1}\n", "at_us");
    refuses(HEAD HEAD, "line 3");
    refuses(HEAD "{\"product\":4,\"stock\":1,\"limit\":-1}\n", "limit");
    refuses(HEAD "{\"product\":4,\"stock\":1,\"epoch\":-1}\n", "epoch");
    refuses(HEAD BUY "{\"op\":1,\"end_us\":90,\"is\":\"ok\",\"status\":4294967497}\n", "status");
    refuses(HEAD "{\"op\":1,\"do\":\"pay\",\"at_us\":1}\n", "a pay needs an order");
    refuses(HEAD "{\"op\":1,\"do\":\"buy\",\"at_us\":1,\"product\":3,\"quantity\":1,"
                 "\"hold_s\":86401}\n",
            "hold_s");
    refuses(HEAD "{\"product\":3,\"stock\":5}\n", "twice");
    refuses(HEAD "{\"op\":1,\"do\":\"read\",\"at_us\":1,\"order\":"
                 "\"0123456789012345678901234567890123456\"}\n",
            "36 bytes");
}

TEST(a_line_that_is_too_long_is_refused)
{
    static char text[40000];
    snprintf(text, sizeof text, "%s{\"note\":1%20000s}\n", HEAD, "");
    refuses(text, "line 3");
}

TEST(a_file_that_cannot_be_made_or_read)
{
    assert_false(ledger_read_file(&ledger, "/nowhere/ledger", LEDGER_OF_SERVERS, &error));
    t_says(error.text, "/nowhere/ledger");
    assert_null(ledger_create("/nowhere/ledger", &(struct ledger){.seed = 1}, NULL, &error));
    struct json_lines *full = ledger_create("/dev/full", &(struct ledger){.seed = 1}, NULL, &error);
    assert_non_null(full);
    assert_false(json_lines_flush(full, &error));
    t_says(error.text, "/dev/full");
    assert_false(json_lines_close(full, &error));
}

AFTER_ALL()
{
    ledger_fini(&ledger);
}
