#include "shop_file.h"

#include <stdlib.h>
#include <string.h>
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

static void write_file(const char *name, const char *text, size_t length)
{
    FILE *to = fopen(name, "we");

    assert_non_null(to);
    assert_int_equal(fwrite(text, 1, length, to), length);
    bool closed = fclose(to) == 0;
    assert_true(closed);
}

void shop_file_write(const char *text, size_t length)
{
    write_file(SHOP_FILE, text, length);
}

void shop_file_write_csv(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}
