// One call of an op: the dispatcher's stack → a plan of librockiln that is run, or a call in Python.
#pragma once

#include "library.h"
#include "torch_abi.h"

namespace rockiln_torch {

void set_callbacks(rockiln_torch_compose compose, rockiln_torch_find_dispatch find);
void forget_dispatch();
void accept_host(bool accepts);  // tests: tensors of the host's memory are planned, too

void trace_calls(int32_t (*push)(const char*), int32_t (*pop)());

// Takes the arguments off the stack and leaves the outputs on it. Throws what Python raised, else std::runtime_error.
void serve_call(uint32_t row, bool is_out, StackValue* stack);

}  // namespace rockiln_torch
