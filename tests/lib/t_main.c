/* For programs that have no main() of their own. */
#include "lib/t.h"

int main(void)
{
    return t_main();
}
