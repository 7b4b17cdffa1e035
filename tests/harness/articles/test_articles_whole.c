/* `run --scenario articles`, all of it: its exit status, its table and its files. */
#include "lib/t.h"

#include "harness/fixtures/program.h"

#include <string.h>

TEST(the_articles_are_repeated)
{
    program_exits(0, "run --scenario articles");
    static const char *const titles[] = {"Article 000, threshold", "Article 000, timed",
                                         "Article 001, balance", "Article 003, counter",
                                         "Article 003, spread"};
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        t_says(program->output, titles[i]);
    const json_t *runs = program_json("results.json/runs");
    bool published = false;
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        const json_t *article = json_object_get(run, "article");
        assert_string_equal(json_string_value(json_object_get(run, "phase")), "counted");
        static const char *const members[] = {"number", "experiment", "did", "published", "ours"};
        for (size_t j = 0; j < sizeof members / sizeof members[0]; j++)
            assert_non_null(json_string_value(json_object_get(article, members[j])));
        published = published ||
                    strcmp(json_string_value(json_object_get(article, "published")), "2,360") == 0;
    }
    assert_true(published);
    assert_string_equal(json_string_value(program_json("results.json/settings/scenario")),
                        "articles");
}

TEST_EACH(program_alone, program_end)
