/*
 * The reader of exhibits: what it takes from a text, and what it says of one that is wrong, with
 * the file and the line.
 */
#include "harness/fixtures/has.h"
#include "lib/t.h"

#include "loadtest/zoo/exhibit.h"

#include <string.h>

static struct zoo_exhibit exhibit;
static struct error error;

TEST(a_text_is_an_exhibit)
{
    static const char text[] = "# A remark.\n"
                               "title  Two   words\n"
                               "\n"
                               "step add memcached add @lock 0 12 7\\r\\n{letter}\n"
                               "  shows add \\\n"
                               "        it\n"
                               "  gives STORED\n"
                               "unsafe one\n"
                               "story In two \\\n"
                               "      lines.\n"
                               "setup stock 2\n"
                               "A begin\n"
                               "C (a remark: of two) begin read waits commit -> 409 sold_out\n"
                               "C goes-on -> 202 queued\n"
                               "ends lost\n"
                               "safe other\nstory -\nsetup stock 1\nB add\nends kept";
    assert_true(zoo_exhibit_read(&exhibit, "one.zoo", text, &error));
    const struct zoo_step *step = &exhibit.unsafe.steps[1];
    HAS(exhibit, title.en, "Two words", unsafe.strategy, "one", unsafe.story.en, "In two lines.",
        unsafe.stock, 2, unsafe.buyers, 3, unsafe.count, 3, unsafe.end, ZOO_LOST);
    HAS(*step, who, C, count, 3, waits, 2, note.en, "a remark: of two", verbs[2]->name, "commit",
        answer, "409 sold_out");
    HAS(step[1], resumes, true, answer, "202 queued");
    const struct zoo_verb *add = exhibit.safe.steps[0].verbs[0];
    HAS(*add, kind, ZOO_MEMCACHED, shows.en, "add it", gives, "STORED");
    assert_int_equal(exhibit.nodes, 1U << NODE_MEMCACHED);
    zoo_exhibit_drop(&exhibit);
}

#define ACT  "title -\nunsafe one\nsetup stock 1\nstory -\n"
#define SAFE "safe other\nstory -\nsetup stock 1\nA begin\nends kept\n"

static const struct {
    const char *text, *error;
} wrongs[] = {
    {"titel -\n", "one.zoo:1: a line cannot begin with 'titel' here"},
    {"title -\n\n# remark\ntitle\n", "one.zoo:4: nothing stands behind 'title'"},
    {"title a \\\n  b \\\n  c\nwhat -\n", "one.zoo:4: a line cannot begin with 'what' here"},
    {"A begin\n", "one.zoo:1: a line cannot begin with 'A' here"},
    {"shows it\n", "one.zoo:1: a line cannot begin with 'shows' here"},
    {"step x sql begin\ngives 1\n", "one.zoo:2: a line cannot begin with 'gives' here"},
    {"step x redo GET @lock\n", "one.zoo:1: a step cannot be 'redo'"},
    {"step x happens sql begin\n", "one.zoo:1: a step cannot be 'happens sql'"},
    {"step begin sql begin\n", "one.zoo:1: there is a step 'begin' already"},
    {"step x sql begins\n", "one.zoo:1: there is no statement 'begins' in sql/"},
    {"step x redis EVAL no.lua 1 @lock\n", "one.zoo:1: there is no script 'no.lua' in lua/"},
    {"step x redis\n", "one.zoo:1: it sends nothing"},
    {"step x redis GET a{leter}\n", "one.zoo:1: there is no value {leter}"},
    {"step x redis GET a\nshows {lock}\n", "one.zoo:2: there is no value {lock}"},
    {"step x redis a b c d e f g h i j k l m n o p q r s t u v w x y\n",
     "one.zoo:1: it has too many words, or too long a one"},
    {ACT "D begin\n", "one.zoo:5: a line cannot begin with 'D' here"},
    {ACT "A begn\n", "one.zoo:5: there is no step 'begn'"},
    {ACT "A (a remark begin\n", "one.zoo:5: the remark has no ')'"},
    {ACT "A waits begin\n", "one.zoo:5: nothing stands before 'waits'"},
    {ACT "A begin goes-on\n", "one.zoo:5: 'goes-on' stands alone"},
    {ACT "A begin ->\n", "one.zoo:5: the answer is missing"},
    {ACT "A -> 201\n", "one.zoo:5: the buyer does nothing"},
    {ACT "A read read read read read read read read read read\n",
     "one.zoo:5: a buyer does more than 9 things"},
    {ACT "unsafe two\n", "one.zoo:5: there is such an act already"},
    {ACT "setup stock many\n", "one.zoo:5: 'stock many' is no 'stock N', from 1 to 1000"},
    {ACT "setup stock 1 2\n", "one.zoo:5: 'stock 1 2' is no 'stock N', from 1 to 1000"},
    {ACT "setup price 2\n", "one.zoo:5: 'price 2' is no 'stock N', from 1 to 1000"},
    {ACT "ends well\n", "one.zoo:5: an act cannot end 'well'"},
    {"", "one.zoo: it has no title"},
    {"title -\n", "one.zoo: it has no 'unsafe'"},
    {ACT "A begin\n", "one.zoo: 'unsafe one' has no ends"},
    {"title -\nunsafe one\nsetup stock 1\n", "one.zoo: 'unsafe one' has no story"},
    {"title -\nunsafe one\nstory -\n", "one.zoo: 'unsafe one' has no setup"},
    {ACT "ends lost\n", "one.zoo: 'unsafe one' has no steps"},
    {ACT "A begin\nends lost\n", "one.zoo: it has no 'safe'"},
    {ACT "A begin\nends kept\n" SAFE, "one.zoo: 'unsafe' ends kept, or 'safe' does not"},
};

TEST(what_is_wrong_is_said_with_its_line)
{
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        if (zoo_exhibit_read(&exhibit, "one.zoo", wrongs[i].text, &error))
            fail_msg("it is taken: %s", wrongs[i].text);
        assert_string_equal(error.text, wrongs[i].error);
        zoo_exhibit_drop(&exhibit);
    }
}

TEST(too_many_are_refused)
{
    char text[8192] = ACT;
    for (int i = 0; i < ZOO_STEPS + 1; i++)
        strcat(text, "A begin\n");
    assert_false(zoo_exhibit_read(&exhibit, "one.zoo", text, &error));
    assert_string_equal(error.text, "one.zoo:21: an act has more than 16 steps");
    zoo_exhibit_drop(&exhibit);
    *text = '\0';
    for (int i = 0; i < ZOO_VERBS; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "step x%d redis GET a\n", i);
    assert_false(zoo_exhibit_read(&exhibit, "one.zoo", text, &error));
    t_says(error.text, ": there are more than 48 steps");
    zoo_exhibit_drop(&exhibit);
}

TEST(all_that_are_built_in_can_be_read)
{
    struct zoo zoo;
    t_done(zoo_open(&zoo, &error), error);
    assert_int_equal(zoo.count, 14);
    for (size_t i = 0; i < zoo.count; i++) {
        const char *name = zoo.exhibits[i].unsafe.strategy;
        assert_ptr_equal(zoo_find(&zoo, name), &zoo.exhibits[i]);
    }
    assert_null(zoo_find(&zoo, "conditional"));
    zoo_close(&zoo);
}
