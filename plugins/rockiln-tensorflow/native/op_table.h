// The op table, generated of the OpSpecs (op_table.inc), as shape functions and kernels read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rockiln_dispatch.h"

namespace rockiln_tensorflow {

// A number made of an op's names (dims, integer scalars, has_NAME); `needs` has a bit for each that must be known.
struct Formula {
  std::uint64_t needs;
  std::int64_t (*evaluate)(const std::int64_t* names);
};

struct Dim {
  int name;  // place among the names, or -1: a formula
  Formula formula;
};

struct Array {
  const char* name;
  std::vector<Dim> dims;
  bool folds_leading;  // any number of leading dims counts as the first one, multiplied
  bool is_optional;    // a list of none or one, as TensorFlow has no optional inputs
  int presence;        // place of has_NAME among the names; -1 of what is always there
};

struct Scalar {
  const char* name;
  char kind;  // 'f' float, 'i' int, 'b' bool
  int place;  // among the names; -1 of a float
};

// A dtype that no input decides.
struct Axis {
  const char* name;     // of the attribute
  std::uint32_t fixed;  // rockiln_dtype of an axis with one member, which has no attribute; else 0
  bool is_text;         // formats that TensorFlow's arrays do not hold: the attribute is a string
};

// An attribute of float8 types, which REGISTER_OP's lists of types cannot spell.
struct Float8 {
  const char* name;
  std::vector<std::uint32_t> members;  // rockiln_dtype
};

struct Check {
  Formula formula;
  const char* reason;
};

struct OpRow {
  const char* type;  // TensorFlow's: RockilnRmsNorm
  const char* name;  // rockiln's: rms_norm
  int name_count;
  const char* const* names;
  std::vector<Array> inputs, outputs;
  std::vector<Scalar> scalars;
  std::vector<Axis> axes;
  std::vector<Float8> float8;
  std::vector<Check> checks;
};

const std::vector<OpRow>& list_rows();

// By TensorFlow's type; nullptr for none.
const OpRow* find_row(const std::string& type);

}  // namespace rockiln_tensorflow
