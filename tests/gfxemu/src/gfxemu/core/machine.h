// A launch is a Machine that was filled and is then run.
#pragma once
#include "state.h"

namespace gfxemu {
void run_launch(Machine&);          // throws Fault
}
