#include "shapes.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "dtypes.h"
#include "tensorflow/core/framework/types.h"

namespace rockiln_tensorflow {
namespace {

using tensorflow::shape_inference::DimensionHandle;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

constexpr std::int64_t UNKNOWN = InferenceContext::kUnknownDim;

class Inference {
 public:
  Inference(const OpRow& row, InferenceContext* context)
      : row_(row), context_(context), names_(static_cast<std::size_t>(row.name_count), UNKNOWN) {}

  absl::Status run() {
    if (absl::Status status = read_scalars(); !status.ok()) return status;
    if (absl::Status status = check_float8(); !status.ok()) return status;
    if (absl::Status status = read_inputs(); !status.ok()) return status;
    for (std::size_t place = 0; place < row_.inputs.size(); ++place)
      if (absl::Status status = bind_names(place); !status.ok()) return status;
    for (std::size_t place = 0; place < row_.inputs.size(); ++place)
      if (absl::Status status = check_formulas(place); !status.ok()) return status;
    for (const Check& check : row_.checks)
      if (is_known(check.formula) && !check.formula.evaluate(names_.data())) return refuse(check.reason);
    for (std::size_t place = 0; place < row_.outputs.size(); ++place)
      context_->set_output(static_cast<int>(place), make_output(row_.outputs[place]));
    return absl::OkStatus();
  }

 private:
  absl::Status refuse(const std::string& reason) const {
    return absl::InvalidArgumentError(absl::StrCat(row_.name, ": ", reason));
  }

  bool is_known(const Formula& formula) const {
    for (std::size_t name = 0; name < names_.size(); ++name)
      if (formula.needs >> name & 1 && names_[name] == UNKNOWN && !scalar_known_[name]) return false;
    return true;
  }

  absl::Status read_scalars() {
    scalar_known_.assign(names_.size(), false);
    for (const Scalar& scalar : row_.scalars) {
      if (scalar.place < 0) continue;
      std::int64_t number = 0;
      if (scalar.kind == 'b') {
        bool flag = false;
        if (absl::Status status = context_->GetAttr(scalar.name, &flag); !status.ok()) return status;
        number = flag;
      } else if (absl::Status status = context_->GetAttr(scalar.name, &number); !status.ok()) {
        return status;
      }
      names_[static_cast<std::size_t>(scalar.place)] = number;
      scalar_known_[static_cast<std::size_t>(scalar.place)] = true;
    }
    return absl::OkStatus();
  }

  absl::Status check_float8() const {
    for (const Float8& own : row_.float8) {
      tensorflow::DataType type = tensorflow::DT_INVALID;
      if (absl::Status status = context_->GetAttr(own.name, &type); !status.ok()) return status;
      if (std::find(own.members.begin(), own.members.end(), find_dtype(type)) == own.members.end())
        return refuse(absl::StrCat("the type ", own.name, " is ", tensorflow::DataTypeString(type)));
    }
    return absl::OkStatus();
  }

  absl::Status read_inputs() {
    for (const Array& array : row_.inputs) {
      std::vector<ShapeHandle> own;
      if (absl::Status status = context_->input(array.name, &own); !status.ok()) return status;
      if (own.size() > 1) return refuse(absl::StrCat(array.name, " is given ", own.size(), " times"));
      if (array.presence >= 0) names_[static_cast<std::size_t>(array.presence)] = static_cast<std::int64_t>(own.size());
      inputs_.push_back(own.empty() ? std::nullopt : std::optional<ShapeHandle>(own.front()));
    }
    return absl::OkStatus();
  }

  // Sizes as the op counts them, leading dims folded; none where the rank is unknown.
  absl::Status fold(std::size_t place, std::vector<std::int64_t>& sizes) const {
    const Array& array = row_.inputs[place];
    if (!inputs_[place] || !context_->RankKnown(*inputs_[place])) return absl::OkStatus();
    const ShapeHandle shape = *inputs_[place];
    const int rank = context_->Rank(shape), wanted = static_cast<int>(array.dims.size());
    int extra = rank - wanted;
    if (extra && (!array.folds_leading || extra < -1))
      return refuse(absl::StrCat(array.name, " has ", rank, " dims, not ", wanted));
    if (array.folds_leading) {
      std::int64_t folded = 1;
      for (int dim = 0; dim <= extra; ++dim) {
        const std::int64_t size = context_->Value(context_->Dim(shape, dim));
        folded = folded == UNKNOWN || size == UNKNOWN ? UNKNOWN : folded * size;
      }
      sizes.push_back(folded);
      ++extra;
    }
    for (int dim = extra; dim < rank; ++dim) sizes.push_back(context_->Value(context_->Dim(shape, dim)));
    return absl::OkStatus();
  }

  absl::Status bind_names(std::size_t place) {
    const Array& array = row_.inputs[place];
    std::vector<std::int64_t> sizes;
    if (absl::Status status = fold(place, sizes); !status.ok()) return status;
    for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
      if (array.dims[dim].name < 0 || sizes[dim] == UNKNOWN) continue;
      const auto name = static_cast<std::size_t>(array.dims[dim].name);
      if (names_[name] == UNKNOWN) names_[name] = sizes[dim];
      if (names_[name] != sizes[dim])
        return refuse(absl::StrCat(array.name, " has ", row_.names[name], " = ", sizes[dim], ", expected ", names_[name]));
    }
    return absl::OkStatus();
  }

  absl::Status check_formulas(std::size_t place) const {
    const Array& array = row_.inputs[place];
    std::vector<std::int64_t> sizes;
    if (absl::Status status = fold(place, sizes); !status.ok()) return status;
    for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
      const Dim& own = array.dims[dim];
      if (own.name >= 0 || sizes[dim] == UNKNOWN || !is_known(own.formula)) continue;
      if (const std::int64_t wanted = own.formula.evaluate(names_.data()); wanted != sizes[dim])
        return refuse(absl::StrCat(array.name, " has size ", sizes[dim], " in dim ", dim, ", expected ", wanted));
    }
    return absl::OkStatus();
  }

  DimensionHandle make_dim(const Dim& dim) const {
    const bool is_name = dim.name >= 0;
    const Formula known{is_name ? std::uint64_t{1} << dim.name : dim.formula.needs, nullptr};
    if (!is_known(known)) return context_->UnknownDim();
    return context_->MakeDim(is_name ? names_[static_cast<std::size_t>(dim.name)] : dim.formula.evaluate(names_.data()));
  }

  // With the leading dims of the first input that folds the same name.
  ShapeHandle make_output(const Array& output) const {
    std::vector<DimensionHandle> dims;
    std::size_t own = 0;
    for (std::size_t place = 0; output.folds_leading && !own && place < inputs_.size(); ++place) {
      const Array& array = row_.inputs[place];
      if (!array.folds_leading || !inputs_[place] || array.dims[0].name != output.dims[0].name) continue;
      if (!context_->RankKnown(*inputs_[place])) return context_->UnknownShape();
      const int leading = context_->Rank(*inputs_[place]) - static_cast<int>(array.dims.size()) + 1;
      for (int dim = 0; dim < leading; ++dim) dims.push_back(context_->Dim(*inputs_[place], dim));
      own = 1;
    }
    for (; own < output.dims.size(); ++own) dims.push_back(make_dim(output.dims[own]));
    return context_->MakeShape(dims);
  }

  const OpRow& row_;
  InferenceContext* context_;
  std::vector<std::int64_t> names_;
  std::vector<bool> scalar_known_;  // a scalar may be -1
  std::vector<std::optional<ShapeHandle>> inputs_;
};

}  // namespace

absl::Status infer_shapes(const OpRow& row, InferenceContext* context) { return Inference(row, context).run(); }

}  // namespace rockiln_tensorflow
