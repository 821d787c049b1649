#include "outputs.h"

namespace rockiln_torch {
namespace {

bool has_layout(Handle tensor, const rockiln_output& output, const Arguments& like) {
  int32_t dtype = -1, type = -1, index = -1;
  int64_t rank = 0, *sizes = nullptr, *strides = nullptr, step = 1;
  if (torch.read_dtype(tensor, &dtype) || torch.read_rank(tensor, &rank)) return false;
  if (torch.read_device_type(tensor, &type) || torch.read_device_index(tensor, &index)) return false;
  if (torch.read_sizes(tensor, &sizes) || torch.read_strides(tensor, &strides)) return false;
  if (name_dtype(dtype) != output.dtype || rank != output.rank) return false;
  if (type != like.device_type() || index != like.device_index()) return false;
  for (uint32_t dim = output.rank; dim-- > 0; step *= sizes[dim])
    if (sizes[dim] != output.shape[dim] || (sizes[dim] > 1 && strides[dim] != step)) return false;
  return true;
}

// Where an array begins and ends in memory; strides of torch are never negative.
struct Extent {
  uintptr_t first = 0, last = 0;
  bool meets(const Extent& other) const { return first < other.last && other.first < last; }
};

size_t count_bytes(uint32_t dtype) {
  switch (dtype) {
    case ROCKILN_DTYPE_I64: return 8;
    case ROCKILN_DTYPE_F32:
    case ROCKILN_DTYPE_I32: return 4;
    case ROCKILN_DTYPE_F16:
    case ROCKILN_DTYPE_BF16: return 2;
    default: return 1;
  }
}

Extent measure(Handle tensor, size_t size_bytes) {
  void* data = nullptr;
  int64_t rank = 0, *sizes = nullptr, *strides = nullptr;
  torch.read_data(tensor, &data);
  torch.read_rank(tensor, &rank);
  torch.read_sizes(tensor, &sizes);
  torch.read_strides(tensor, &strides);
  int64_t elements = 1;
  for (int64_t dim = 0; dim < rank; ++dim) elements = sizes[dim] == 0 ? 0 : elements + (sizes[dim] - 1) * strides[dim];
  const auto first = reinterpret_cast<uintptr_t>(data);
  return {first, first + static_cast<uintptr_t>(elements < 0 ? 0 : elements) * size_bytes};
}

Extent measure(const rockiln_array& array) {
  int64_t elements = 1;
  for (uint32_t dim = 0; dim < array.rank; ++dim) {
    if (array.shape[dim] == 0) return {};
    elements += (array.shape[dim] - 1) * array.strides[dim];
  }
  const auto first = reinterpret_cast<uintptr_t>(array.data);
  return {first, first + static_cast<uintptr_t>(elements) * count_bytes(array.dtype)};
}

}  // namespace

Tensors::~Tensors() {
  for (uint32_t place = 0; place < count_; ++place)
    if (handles_[place] != nullptr) torch.delete_tensor(handles_[place]);
}

bool Tensors::add_empty(uint32_t rank, const int64_t* shape, int32_t dtype, const Arguments& like) {
  int64_t strides[ROCKILN_RANK_LIMIT];
  int64_t step = 1;
  for (uint32_t dim = rank; dim-- > 0; step *= shape[dim] > 1 ? shape[dim] : 1) strides[dim] = step;
  if (torch.make_empty(rank, shape, strides, dtype, like.device_type(), like.device_index(), &handles_[count_])) return false;
  ++count_;
  return true;
}

void Tensors::hand_over(StackValue* stack) {
  for (uint32_t place = 0; place < count_; ++place) stack[place] = reinterpret_cast<StackValue>(handles_[place]);
  count_ = 0;
}

bool take_outputs(const Arguments& arguments, const Planned& planned, void** addresses) {
  Extent taken[kOutputLimit];
  for (uint32_t place = 0; place < planned.count; ++place) {
    const Handle tensor = arguments.output(place);
    if (!has_layout(tensor, planned.outputs[place], arguments) || torch.read_data(tensor, &addresses[place])) return false;
    if (reinterpret_cast<uintptr_t>(addresses[place]) % planned.alignment) return false;
    taken[place] = measure(tensor, count_bytes(planned.outputs[place].dtype));
    for (uint32_t other = 0; other < place; ++other)
      if (taken[place].meets(taken[other])) return false;
    for (uint32_t input = 0; input < arguments.call().input_count; ++input)
      if (arguments.call().inputs[input].dtype != ROCKILN_ABSENT &&
          taken[place].meets(measure(arguments.call().inputs[input])))
        return false;
  }
  return true;
}

bool make_outputs(const Arguments& arguments, const Planned& planned, Tensors& outputs, void** addresses) {
  for (uint32_t place = 0; place < planned.count; ++place) {
    const rockiln_output& output = planned.outputs[place];
    if (!outputs.add_empty(output.rank, output.shape, find_dtype(output.dtype), arguments)) return false;
    if (torch.read_data(outputs[place], &addresses[place])) return false;
  }
  return true;
}

}  // namespace rockiln_torch
