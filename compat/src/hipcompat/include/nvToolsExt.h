#pragma once
#include <hipcompat/nvtx.h>
