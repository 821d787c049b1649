// What kernels of the CPU's own ops share: tensors of bf16, TensorFlow's threads, a gate's attributes.
#pragma once

#include <cstdint>
#include <string>

#include "cpu_gates.h"
#include "cpu_product.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rockiln_tensorflow {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;

inline const std::uint16_t* read_bf16(const Tensor& tensor) { return static_cast<const std::uint16_t*>(tensor.data()); }

// In TensorFlow's own threads.
inline RunParts take_threads(OpKernelContext* context) {
  auto* workers = context->device()->tensorflow_cpu_worker_threads()->workers;
  return [workers](std::int64_t count, std::int64_t cost, const Part& fn) { workers->ParallelFor(count, cost, fn); };
}

// `gate`.
inline absl::Status read_curve(OpKernelConstruction* context, Gate& gate) {
  std::string name;
  absl::Status status = context->GetAttr("gate", &name);
  if (status.ok() && !read_curve(name, gate.curve)) status = absl::InvalidArgumentError("rockiln: no such gate");
  return status;
}

// `alpha`, `limit` and `up_offset`.
inline absl::Status read_scalars(OpKernelConstruction* context, Gate& gate) {
  absl::Status status = context->GetAttr("alpha", &gate.alpha);
  if (status.ok()) status = context->GetAttr("limit", &gate.limit);
  if (status.ok()) status = context->GetAttr("up_offset", &gate.up_offset);
  return status;
}

}  // namespace rockiln_tensorflow
