/* Small helpers that nothing on the way of a lookup uses. */
#include "bench.h"
