/* See stack_words.h. */
#include "loadtest/faults/columns/stack_words.h"

#include "loadtest/base/process.h"

#include <stdio.h>
#include <string.h>

enum { WORDS_MAX = 12, OWN_WORDS_MAX = 4, STEP_LIMIT_MS = 120000, OUTPUT_BYTES = 2000 };

bool stack_tell(const char *stack, const char *const words[], struct error *error)
{
    const char *argv[WORDS_MAX + OWN_WORDS_MAX] = {NULL};
    char copy[1000], output[OUTPUT_BYTES], *rest = NULL;
    size_t count = 0;
    /* Ctrl-C must not leave a backend stopped or away. */
    const struct process_capture capture = {
        .output = output, .size = sizeof output, .limit_ms = STEP_LIMIT_MS, .to_its_end = true};
    snprintf(copy, sizeof copy, "%s", stack);
    for (char *word = strtok_r(copy, " ", &rest); word && count < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest))
        argv[count++] = word;
    for (size_t i = 0; words[i]; i++)
        argv[count++] = words[i];
    return process_capture(argv, &capture, error);
}
