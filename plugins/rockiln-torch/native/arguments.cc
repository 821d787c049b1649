#include "arguments.h"

#include <cmath>
#include <cstring>

namespace rockiln_torch {

Arguments::Arguments(const OpRow& row, bool is_out, const StackValue* stack)
    : row_(row), own_count_(static_cast<uint32_t>(std::strlen(row.kinds))) {
  count_ = own_count_ + (is_out ? row.outputs : 0);
  for (uint32_t place = 0; place < count_; ++place) take(place, stack[place]);
  const auto first = reinterpret_cast<Handle>(values_[0]);  // no op begins with an optional tensor
  if (torch.read_device_type(first, &device_type_) || torch.read_device_index(first, &device_index_)) device_type_ = -1;
}

Arguments::~Arguments() {
  if (!is_owner_) return;
  for (uint32_t place = 0; place < count_; ++place)
    if (is_tensor(place) && values_[place] != 0) torch.delete_tensor(reinterpret_cast<Handle>(values_[place]));
}

bool Arguments::is_tensor(uint32_t place) const {
  return place >= own_count_ || row_.kinds[place] == 't' || row_.kinds[place] == 'o';
}

void Arguments::take(uint32_t place, StackValue value) {
  if (place < own_count_ && row_.kinds[place] == 'o') {  // torch passes a pointer to the value, made with new
    auto* boxed = reinterpret_cast<StackValue*>(value);
    values_[place] = boxed == nullptr ? 0 : *boxed;
    delete boxed;
  } else {
    values_[place] = value;
  }
}

StackValue* Arguments::hand_over() {
  is_owner_ = false;
  return values_;
}

bool Arguments::describe(bool accepts_host) {
  if (row_.fixed_dtype != 0) dtypes_[call_.dtype_count++] = row_.fixed_dtype;
  for (uint32_t place = 0; place < own_count_; ++place) {
    const char kind = row_.kinds[place];
    const bool is_scalar = kind != 't' && kind != 'o';
    if (!(is_scalar ? describe_scalar(kind, values_[place])
                    : describe_tensor(reinterpret_cast<Handle>(values_[place]), accepts_host)))
      return false;
  }
  call_.struct_bytes = sizeof call_;
  call_.device = device_index_ < 0 ? 0 : device_index_;
  call_.inputs = arrays_;
  call_.scalars = scalars_;
  call_.dtypes = dtypes_;
  return true;
}

bool Arguments::describe_tensor(Handle tensor, bool accepts_host) {
  const uint32_t place = call_.input_count++;
  rockiln_array& array = arrays_[place];
  array = {};
  addresses_[place] = nullptr;
  if (tensor == nullptr) return true;
  int32_t type = -1, index = -1, dtype = -1;
  int64_t rank = 0, *sizes = nullptr, *strides = nullptr;
  void* data = nullptr;
  if (torch.read_device_type(tensor, &type) || torch.read_device_index(tensor, &index)) return false;
  if (type != device_type_ || index != device_index_ || (type != cuda_device_type && !accepts_host)) return false;
  if (torch.read_dtype(tensor, &dtype) || name_dtype(dtype) == 0) return false;
  if (torch.read_rank(tensor, &rank) || rank > ROCKILN_RANK_LIMIT) return false;
  if (torch.read_sizes(tensor, &sizes) || torch.read_strides(tensor, &strides)) return false;
  if (torch.read_data(tensor, &data)) return false;
  addresses_[place] = data;
  array = {data, sizes, strides, static_cast<uint32_t>(rank), name_dtype(dtype)};
  return true;
}

bool Arguments::describe_scalar(char kind, StackValue value) {
  if (kind == 'd') {
    dtypes_[call_.dtype_count++] = name_dtype(static_cast<int32_t>(value));
    return true;
  }
  rockiln_scalar& scalar = scalars_[call_.scalar_count];
  scalar = {};
  if (kind == 'k') {
    dtypes_[call_.dtype_count++] = ROCKILN_DTYPE_E2M3 + static_cast<uint32_t>(value);
  } else if (kind == 'f') {
    double number = 0;
    std::memcpy(&number, &value, sizeof number);
    if (std::isnan(number)) return false;
    scalar.kind = ROCKILN_F32;
    scalar.as.number = static_cast<float>(number);
    ++call_.scalar_count;
  } else {
    scalar.kind = kind == 'b' ? ROCKILN_I32 : ROCKILN_I64;
    scalar.as.integer = kind == 'b' ? static_cast<int64_t>((value & 0xff) != 0) : static_cast<int64_t>(value);
    ++call_.scalar_count;
  }
  return true;
}

}  // namespace rockiln_torch
