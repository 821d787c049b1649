#include "dtypes.h"

#include <utility>

namespace rockiln_tensorflow {

using tensorflow::DataType;

namespace {

constexpr std::pair<DataType, std::uint32_t> DTYPES[] = {
    {tensorflow::DT_FLOAT, ROCKILN_DTYPE_F32},
    {tensorflow::DT_HALF, ROCKILN_DTYPE_F16},
    {tensorflow::DT_BFLOAT16, ROCKILN_DTYPE_BF16},
    {tensorflow::DT_FLOAT8_E4M3FN, ROCKILN_DTYPE_E4M3},
    {tensorflow::DT_FLOAT8_E5M2, ROCKILN_DTYPE_E5M2},
    {tensorflow::DT_FLOAT8_E4M3FNUZ, ROCKILN_DTYPE_E4M3FNUZ},
    {tensorflow::DT_FLOAT8_E5M2FNUZ, ROCKILN_DTYPE_E5M2FNUZ},
    {tensorflow::DT_UINT8, ROCKILN_DTYPE_U8},
    {tensorflow::DT_INT32, ROCKILN_DTYPE_I32},
    {tensorflow::DT_INT64, ROCKILN_DTYPE_I64},
};

}  // namespace

std::uint32_t find_dtype(DataType type) {
  for (const auto& [own, dtype] : DTYPES)
    if (own == type) return dtype;
  return ROCKILN_ABSENT;
}

DataType find_type(std::uint32_t dtype) {
  for (const auto& [own, other] : DTYPES)
    if (other == dtype) return own;
  return tensorflow::DT_INVALID;
}

}  // namespace rockiln_tensorflow
