// Own shuffles: ROCm 7.0 to 7.2 have no reduce.
#pragma once
#include <hipcompat/group_algorithms.h>
