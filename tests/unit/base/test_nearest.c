/* What may have been meant: slips are found, other words are not. */
#include "lib/t.h"

#include "base/options/nearest.h"

#include <string.h>

static const char *const names[] = {"strategies", "connections", "rate",  "rounds", "out",
                                    "redis",      "stock-redis", "stock", "seed",   "work-ms"};

static const char *meant(const char *typed)
{
    struct nearest nearest = nearest_to(typed, strlen(typed));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        nearest_offer(&nearest, names[i]);
    return nearest.name ? nearest.name : "";
}

TEST(slips_are_found)
{
    static const char *const cases[][2] = {
        {"rate", "rate"},       {"raet", "rate"},
        {"rat", "rate"},        {"rates", "rate"},
        {"ruonds", "rounds"},   {"STOCK", "stock"},
        {"work_ms", "work-ms"}, {"workms", "work-ms"},
        {"work", "work-ms"},    {"strategy", "strategies"},
        {"con", "connections"}, {"konnektions", "connections"},
        {"redis-url", "redis"}, {"stok-redis", "stock-redis"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (strcmp(meant(cases[i][0]), cases[i][1]) != 0)
            fail_msg("'%s' gave '%s'", cases[i][0], meant(cases[i][0]));
    }
}

TEST(other_words_are_not)
{
    char letters[5000]; /* longer than any name, and not counted */
    memset(letters, 'r', sizeof letters - 1);
    letters[sizeof letters - 1] = '\0';
    const char *const words[] = {"", "r", "bogus", "listen", "arrivals", "password", letters};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (*meant(words[i]))
            fail_msg("'%s' gave '%s'", words[i], meant(words[i]));
    }
}

TEST(the_text_names_it)
{
    char text[NEAREST_TEXT_SIZE];
    struct nearest nearest = nearest_to("raet=5", 4);
    assert_string_equal(nearest_text(&nearest, "--", text), "");
    nearest_offer(&nearest, "rate");
    assert_string_equal(nearest_text(&nearest, "--", text), ": did you mean --rate?");
}
