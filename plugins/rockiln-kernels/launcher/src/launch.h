// A call -> a checked launch.
#pragma once

#include "../rockiln.h"

namespace rockiln {

// Both throw Failure with a message that names op, kernel, arch, device and shapes.
void preload_kernel(const rockiln_kernel& kernel, int device);
void launch_call(const rockiln_call& call);

}  // namespace rockiln
