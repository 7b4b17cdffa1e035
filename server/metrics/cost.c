#include "metrics/cost.h"

_Thread_local struct cost cost_of_thread[COST_STORES];
