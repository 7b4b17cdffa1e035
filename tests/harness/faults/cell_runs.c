#include "harness/faults/cell_runs.h"

struct cell cell_runs(enum cell_expectation expected, size_t clean, size_t red, size_t invalid)
{
    struct cell cell = {.fault = &fault_stall, .strategy = {.name = "a"}, .expected = expected};
    struct trial_result result = {.seed = 1};
    size_t all = clean + red + invalid;
    for (size_t i = 0; i < all; i++) {
        result.verdict = i < clean ? TRIAL_CLEAN : i < clean + red ? TRIAL_RED : TRIAL_INVALID;
        cell_add(&cell, &result);
    }
    return cell;
}
