#include "shop_file.h"

#include <unistd.h>

int shop_file_setup(void **state)
{
    (void)state;
    return chdir(t_folder());
}

int shop_file_teardown(void **state)
{
    (void)state;
    return chdir("/");
}
