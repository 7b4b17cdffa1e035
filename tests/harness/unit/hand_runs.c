/* See hand_runs.h. */
#include "harness/unit/hand_runs.h"

#include "lib/t.h"

const struct hand_run hand_rounds[HAND_ROUNDS] = {
    {"local-lock", SPEED(3, 500, ONE)},
    {"local-lock", TRUTH(3, 110, 10, ONE, "unsafe, as stated")},
    {"conditional", SPEED(1, 1000, PROMISES)},
    {"conditional", TRUTH(1, 100, 0, PROMISES, "kept")},
    {"redis-token", SPEED(1, 300, TWO)},
    {"local-lock", TRUTH(3, 150, 50, ONE, "unsafe, as stated")},
    {"conditional", SPEED(1, 3000, PROMISES)},
};

struct document hand_document(const struct hand_run *runs, size_t count)
{
    struct document document;
    struct error error;
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        json_t *run = json_loads(runs[i].more, 0, NULL);
        assert_non_null(run);
        json_t *usual =
            json_pack("{ss ss si}", "strategy", runs[i].strategy, "phase", "speed", "instances", 1);
        json_object_update_missing(run, usual);
        json_decref(usual);
        json_array_append_new(list, run);
    }
    json_t *made =
        json_pack("{so si s{ss}}", "runs", list, "seed", 7, "machine", "cpu", "one & <two>");
    t_done(document_take(made, &document, &error), error);
    return document;
}
