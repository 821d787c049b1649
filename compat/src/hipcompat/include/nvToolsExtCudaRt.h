#pragma once
#include <hipcompat/nvtx.h>
#include <hipcompat/nvtx_runtime.h>
