#include "lock/lock.h"

#include "base/clock.h"

bool lease_holds(const struct lease *lease)
{
    return !atomic_load(&lease->lost) && clock_mono_us() < atomic_load(&lease->valid_until_us);
}
