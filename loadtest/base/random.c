/* See random.h. The numbers are SplitMix64's (Steele, Lea, Flood: Fast splittable pseudorandom
 * number generators, 2014): a C library's own differ from one to the next. */
#include "loadtest/base/random.h"

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t next(struct random *random)
{
    return mix(random->state += UINT64_C(0x9e3779b97f4a7c15));
}

struct random random_begin(int64_t seed, uint64_t stream)
{
    return (struct random){.state = (uint64_t)seed ^ mix(stream)};
}

int64_t random_pick(struct random *random, int64_t below)
{
    return (int64_t)(next(random) % (uint64_t)below);
}

double random_unit(struct random *random)
{
    return (double)(next(random) >> 11) * 0x1p-53;
}

bool random_happens(struct random *random, int64_t of_hundred)
{
    return random_pick(random, 100) < of_hundred;
}
