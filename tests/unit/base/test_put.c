#include "lib/t.h"

#include "base/put.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

TEST(puts_one_behind_the_other)
{
    char out[32];

    char *end = put_text(put_number(put_text(out, "a "), 20), "");
    assert_string_equal(out, "a 20");
    assert_ptr_equal(end, out + 4);
    assert_ptr_equal(put_text(end, "!"), out + 5);
    assert_string_equal(out, "a 20!");
}

/* Around every power of ten, where the count of digits changes, and at both ends. */
TEST(writes_numbers_as_printf_does)
{
    char out[PUT_NUMBER_MAX + 1];
    char expected[PUT_NUMBER_MAX + 1];

    for (int64_t power = 1; power <= INT64_MAX / 10; power *= 10) {
        const int64_t numbers[] = {power - 1, power,      power + 1,         -power + 1,
                                   -power,    -power - 1, INT64_MAX - power, INT64_MIN + power - 1};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            int length = snprintf(expected, sizeof expected, "%" PRId64, numbers[i]);
            char *end = put_number(out, numbers[i]);
            assert_string_equal(out, expected);
            assert_ptr_equal(end, out + length);
        }
    }
}
