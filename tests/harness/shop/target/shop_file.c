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
    t_remove_folder(folder);
    return chdir("/");
}
