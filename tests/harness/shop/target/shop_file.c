#include "shop_file.h"

#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/seckill-shop-XXXXXX";

int shop_file_setup(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : 1;
}

int shop_file_teardown(void **state)
{
    (void)state;
    unlink(SHOP_FILE);
    unlink("users.csv");
    unlink("empty.csv");
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : 1;
}

void shop_file_write(const char *text, size_t length)
{
    FILE *to = fopen(SHOP_FILE, "we");

    assert_non_null(to);
    assert_int_equal(fwrite(text, 1, length, to), length);
    bool closed = fclose(to) == 0;
    assert_true(closed);
}
