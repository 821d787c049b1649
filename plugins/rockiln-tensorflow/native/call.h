// An op of the table as a TensorFlow kernel: its attributes and tensors -> a call of rockiln_dispatch.h.
#pragma once

#include <memory>
#include <vector>

#include "dtypes.h"
#include "op_table.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rockiln_tensorflow {

// The functions of librockiln; nullptr before rockiln_tensorflow_bind.
const rockiln_dispatch_api* find_functions();

// The library's own words for what went wrong.
absl::Status make_error(rockiln_status status);

struct ReleasePlan {
  void operator()(const rockiln_plan* plan) const { find_functions()->release_plan(plan); }
};
using Plan = std::unique_ptr<const rockiln_plan, ReleasePlan>;

class CallKernel : public tensorflow::OpKernel {
 public:
  explicit CallKernel(tensorflow::OpKernelConstruction* context);

 protected:
  // Each input's tensor, in the OpSpec's order; nullptr of an absent one.
  std::vector<const tensorflow::Tensor*> read_inputs(tensorflow::OpKernelContext* context) const;

  // The plan of the call with these addresses of the inputs, which must be the pack's.
  absl::Status find_plan(const std::vector<const tensorflow::Tensor*>& inputs, const std::vector<const void*>& addresses,
                         int device, Plan& plan) const;

  static absl::Status allocate_outputs(tensorflow::OpKernelContext* context, const Plan& plan,
                                       std::vector<tensorflow::Tensor*>& outputs);

  static absl::Status run_plan(const Plan& plan, const std::vector<const void*>& inputs,
                               const std::vector<void*>& outputs, void* workspace, void* stream);

 private:
  absl::Status read_attributes(tensorflow::OpKernelConstruction* context);

  const OpRow* row_;
  std::vector<int> places_;  // of each input among the tensors; -1 of an absent one
  std::vector<rockiln_scalar> scalars_;
  std::vector<std::uint32_t> dtypes_;
};

}  // namespace rockiln_tensorflow

// 0, or 1 for a table of another version. Once, before the first call.
extern "C" __attribute__((visibility("default"))) int rockiln_tensorflow_bind(const rockiln_dispatch_api* api);
