// The dispatcher's stack → the arguments of one call, owned until they are handed on.
#pragma once

#include "rockiln_dispatch.h"
#include "table.h"
#include "torch_abi.h"

namespace rockiln_torch {

class Arguments {
 public:
  Arguments(const OpRow& row, bool is_out, const StackValue* stack);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  // Reads shapes, strides, dtypes and devices. False if kernels cannot take them: another device or dtype, or NaN for a
  // scalar, which is refused in words where Python checks the call.
  bool describe(bool accepts_host);

  // The values in the order of the schema. Who takes them owns the handles.
  StackValue* hand_over();

  Handle input(uint32_t place) const { return reinterpret_cast<Handle>(values_[place]); }
  Handle output(uint32_t place) const { return reinterpret_cast<Handle>(values_[own_count_ + place]); }
  int32_t device_index() const { return device_index_; }
  int32_t device_type() const { return device_type_; }
  const void* const* addresses() const { return addresses_; }
  const rockiln_op_call& call() const { return call_; }

 private:
  bool is_tensor(uint32_t place) const;
  void take(uint32_t place, StackValue value);
  bool describe_tensor(Handle tensor, bool accepts_host);
  bool describe_scalar(char kind, StackValue value);

  const OpRow& row_;
  uint32_t own_count_ = 0;  // arguments but for the outputs of an out-variant
  uint32_t count_ = 0;
  bool is_owner_ = true;
  int32_t device_type_ = -1, device_index_ = -1;
  StackValue values_[kArgumentLimit + kOutputLimit];
  rockiln_array arrays_[kArgumentLimit];
  rockiln_scalar scalars_[kArgumentLimit];
  uint32_t dtypes_[kArgumentLimit];
  const void* addresses_[kArgumentLimit];
  rockiln_op_call call_ = {};
};

}  // namespace rockiln_torch
