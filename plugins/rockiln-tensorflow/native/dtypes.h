// rockiln_dtype <-> TensorFlow's.
#pragma once

#include <cstdint>

#include "rockiln_dispatch.h"
#include "tensorflow/core/framework/types.pb.h"

namespace rockiln_tensorflow {

std::uint32_t find_dtype(tensorflow::DataType type);  // ROCKILN_ABSENT for one that no op has
tensorflow::DataType find_type(std::uint32_t dtype);  // DT_INVALID for one that TensorFlow lacks

}  // namespace rockiln_tensorflow
