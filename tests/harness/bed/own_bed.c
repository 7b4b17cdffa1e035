#include "harness/bed/own_bed.h"

struct bed *bed;

static int make(size_t servers)
{
    bed = bed_create(servers);
    return 0;
}

int own_bed_alone(void **state)
{
    (void)state;
    return make(0);
}

int own_bed_one(void **state)
{
    (void)state;
    return make(1);
}

int own_bed_two(void **state)
{
    (void)state;
    return make(2);
}

int own_bed_end(void **state)
{
    (void)state;
    bed_destroy(bed);
    return 0;
}
