// An op's row and the shapes of its inputs -> the shapes of its outputs, and what the op refuses.
#pragma once

#include "op_table.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace rockiln_tensorflow {

// What is not known yet (a dim, a rank) stays unknown; what is known and wrong is InvalidArgument, with the rule.
absl::Status infer_shapes(const OpRow& row, tensorflow::shape_inference::InferenceContext* context);

}  // namespace rockiln_tensorflow
