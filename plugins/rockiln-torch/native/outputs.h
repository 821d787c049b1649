// Outputs of a call: made new, or those that an out-variant was given, if they can be written directly.
#pragma once

#include "arguments.h"
#include "rockiln_dispatch.h"
#include "torch_abi.h"

namespace rockiln_torch {

// Tensors that are deleted unless they are handed on.
class Tensors {
 public:
  Tensors() = default;
  ~Tensors();
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;

  // Contiguous, uninitialised, where the arguments are. False if torch refuses.
  bool add_empty(uint32_t rank, const int64_t* shape, int32_t dtype, const Arguments& like);
  // Where a tensor that torch makes goes.
  Handle* take_place() { return &handles_[count_++]; }
  Handle operator[](uint32_t place) const { return handles_[place]; }

  // Onto the dispatcher's stack, which owns them from then on.
  void hand_over(StackValue* stack);

 private:
  Handle handles_[kOutputLimit + 1] = {};
  uint32_t count_ = 0;
};

struct Planned {  // what outputs a call has
  const rockiln_output* outputs;
  uint32_t count;
  uintptr_t alignment;  // of an out-variant's, in bytes
};

bool make_outputs(const Arguments& arguments, const Planned& planned, Tensors& outputs, void** addresses);

// An out-variant's outputs: of the planned layout, aligned, apart from the inputs and from each other.
bool take_outputs(const Arguments& arguments, const Planned& planned, void** addresses);

}  // namespace rockiln_torch
