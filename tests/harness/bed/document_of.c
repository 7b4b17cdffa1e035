/* See document_of.h. */
#include "harness/bed/document_of.h"

#include "lib/t.h"

#include "loadtest/report/files.h"
#include "loadtest/report/results.h"

#include <stdlib.h>

struct document document_of(const struct phase_result *runs, size_t count)
{
    struct document document;
    struct error error;
    int64_t limit = 0;
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, results_json_run(&runs[i]));
        limit = runs[i].plan.limit > limit ? runs[i].plan.limit : limit;
    }
    json_t *made = json_pack("{so s{sI}}", "runs", list, "settings", "limit_per_user", limit);
    char *text = json_dumps(made, FILES_JSON);
    json_decref(made);
    assert_non_null(text);
    if (!document_take(json_loads(text, 0, NULL), &document, &error))
        fail_msg("%s", error.text);
    free(text);
    return document;
}
