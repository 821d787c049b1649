// The rows of op_table.inc, by type.
#include "op_table.h"

#include <algorithm>
#include <unordered_map>

namespace rockiln_tensorflow {
namespace {

// Python's //, % and the formulas' calls: rockiln_kernels/expressions.py.
[[maybe_unused]] std::int64_t floor_divide(std::int64_t value, std::int64_t divisor) {
  if (!divisor) return -1;  // a check of the op says what is wrong
  const std::int64_t quotient = value / divisor;
  return quotient - (value % divisor != 0 && (value < 0) != (divisor < 0));
}
[[maybe_unused]] std::int64_t modulo(std::int64_t value, std::int64_t divisor) {
  return divisor ? value - floor_divide(value, divisor) * divisor : -1;
}
[[maybe_unused]] std::int64_t ceil_divide(std::int64_t value, std::int64_t divisor) {
  return divisor ? -floor_divide(-value, divisor) : -1;
}

#include "op_table.inc"

}  // namespace

const std::vector<OpRow>& list_rows() {
  static const std::vector<OpRow> rows = make_rows();
  return rows;
}

const OpRow* find_row(const std::string& type) {
  static const auto by_type = [] {
    std::unordered_map<std::string, const OpRow*> found;
    for (const OpRow& row : list_rows()) found.emplace(row.type, &row);
    return found;
  }();
  const auto place = by_type.find(type);
  return place == by_type.end() ? nullptr : place->second;
}

}  // namespace rockiln_tensorflow
