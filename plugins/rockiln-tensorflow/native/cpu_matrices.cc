// gemm with an epilogue, and fused_moe, of bf16 on the CPU: products in f32, finished while a block is in the cache.
#include <vector>

#include "absl/strings/str_cat.h"
#include "cpu_op.h"

namespace rockiln_tensorflow {
namespace {

std::int64_t round_up(std::int64_t size, std::int64_t block) { return (size + block - 1) / block * block; }

// How sums become numbers of the output.
struct Finish {
  Gate gate;
  bool paired = false;       // g and u of neighbouring halves of a block
  bool interleaved = false;  // where they are in b: in turn, or the first and the second half
};

// b [rows, width] and its bias [rows], by column of the blocks. With pairs, the first half of a block's columns are g's
// rows of 16 outputs, the second u's.
struct Columns {
  const std::uint16_t *data, *bias;  // bias: nullptr for none
  std::int64_t rows, width;
  Finish finish;

  std::int64_t outputs() const { return finish.paired ? rows / 2 : rows; }
  std::int64_t per_block() const { return finish.paired ? LANES : BLOCK; }
  std::int64_t count() const { return round_up(outputs(), per_block()) / per_block() * BLOCK; }

  // b's row of a column; -1 behind the end.
  std::int64_t find(std::int64_t column) const {
    if (!finish.paired) return column < rows ? column : -1;
    const std::int64_t output = column / BLOCK * LANES + column % LANES, half = column % BLOCK / LANES;
    if (output >= rows / 2) return -1;
    return finish.interleaved ? 2 * output + half : output + half * (rows / 2);
  }

  const std::uint16_t* row(std::int64_t column) const {
    const std::int64_t own = find(column);
    return own < 0 ? nullptr : data + own * width;
  }

  // Of sixteen columns; 0 without.
  ROCKILN_INLINE Floats read_bias(std::int64_t column) const {
    std::uint16_t own[LANES] = {};
    if (!bias) return Floats{};
    for (int place = 0; place < LANES; ++place)
      if (const std::int64_t found = find(column + place); found >= 0) own[place] = bias[found];
    return widen(own);
  }
};

// Sums of a row of a block with bias and gate; with pairs, all in `left`.
ROCKILN_INLINE void finish_row(const float* sums, const Floats* bias, const Finish& finish, Floats& left, Floats& right) {
  std::memcpy(&left, sums, sizeof left);
  std::memcpy(&right, sums + LANES, sizeof right);
  left += bias[0];
  right += bias[1];
  left = finish.paired ? apply_gate(left, right, finish.gate) : apply_curve(left, finish.gate);
  if (!finish.paired) right = apply_curve(right, finish.gate);
}

// A block's numbers in bf16, of which `width` of a row are there, to rows of `stride`.
ROCKILN_CLONES void write_block(const float* sums, std::int64_t rows, std::int64_t column, const Columns& columns,
                                std::uint16_t* out, std::int64_t width, std::int64_t stride) {
  const Finish finish = columns.finish;
  const Floats bias[2] = {columns.read_bias(column), columns.read_bias(column + LANES)};
  for (std::int64_t row = 0; row < rows; ++row, sums += BLOCK, out += stride) {
    Floats left, right;
    finish_row(sums, bias, finish, left, right);
    if (width == columns.per_block()) {
      narrow(left, out);
      if (!finish.paired) narrow(right, out + LANES);
    } else {
      std::uint16_t own[BLOCK];
      narrow(left, own);
      narrow(right, own + LANES);
      std::memcpy(out, own, static_cast<std::size_t>(width) * sizeof *own);
    }
  }
}

// A row of f32 += a weight times a block's row, of which `width` numbers are there.
ROCKILN_CLONES void add_row(const float* sums, std::int64_t column, const Columns& columns, float weight, float* total,
                            std::int64_t width) {
  const Floats bias[2] = {columns.read_bias(column), columns.read_bias(column + LANES)};
  Floats own[2];
  finish_row(sums, bias, columns.finish, own[0], own[1]);
  own[0] *= weight;
  own[1] *= weight;
  float parts[BLOCK];
  std::memcpy(parts, own, sizeof parts);
  for (std::int64_t place = 0; place < width; ++place) total[place] += parts[place];
}

ROCKILN_CLONES void narrow_numbers(const float* values, std::int64_t count, std::uint16_t* target) {
  Floats own;
  std::int64_t place = 0;
  for (; place + LANES <= count; place += LANES) {
    std::memcpy(&own, values + place, sizeof own);
    narrow(own, target + place);
  }
  const auto rest = static_cast<std::size_t>(count - place);
  std::uint16_t rounded[LANES];
  own = Floats{};
  std::memcpy(&own, values + place, rest * sizeof *values);
  narrow(own, rounded);
  std::memcpy(target + place, rounded, rest * sizeof *rounded);
}

// out [a's rows, columns' outputs] in bf16.
void multiply_narrow(OpKernelContext* context, const PackedRows& a, const Columns& columns, std::uint16_t* out) {
  const std::int64_t width = columns.outputs(), per_block = columns.per_block();
  const auto take = [&](const float* sums, std::int64_t row, std::int64_t column) {
    const std::int64_t rows = std::min<std::int64_t>(BLOCK, a.count() - row), start = column / BLOCK * per_block;
    write_block(sums, rows, column, columns, out + row * width + start, std::min(per_block, width - start), width);
  };
  multiply(take_threads(context), a, columns.count(), [&](std::int64_t column) { return columns.row(column); }, take);
}

class GemmKernel : public OpKernel {
 public:
  explicit GemmKernel(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, read_curve(context, finish_.gate));
    OP_REQUIRES_OK(context, context->GetAttr("interleaved", &finish_.interleaved));
    OP_REQUIRES_OK(context, context->GetAttr("paired", &finish_.paired));
  }

  void Compute(OpKernelContext* context) override {
    const Tensor &a = context->input(0), &b = context->input(1);
    const std::uint16_t* bias = context->num_inputs() > 2 ? read_bf16(context->input(2)) : nullptr;
    const std::int64_t width = a.dims() ? a.dim_size(a.dims() - 1) : -1;
    OP_REQUIRES(context, b.dims() == 2 && b.dim_size(1) == width,
                absl::InvalidArgumentError("rockiln: gemm's a and b do not fit together"));
    OP_REQUIRES(context, !finish_.paired || b.dim_size(0) % 2 == 0,
                absl::InvalidArgumentError(absl::StrCat("rockiln: gemm's b has ", b.dim_size(0), " rows, not pairs")));
    OP_REQUIRES(context, !bias || context->input(2).NumElements() == b.dim_size(0),
                absl::InvalidArgumentError("rockiln: gemm's bias has not as many numbers as b has rows"));
    const Columns columns{read_bf16(b), bias, b.dim_size(0), width, finish_};
    tensorflow::TensorShape shape = a.shape();
    shape.set_dim(shape.dims() - 1, columns.outputs());
    Tensor* out = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, shape, &out));
    if (!out->NumElements()) return;
    const std::int64_t rows = out->NumElements() / columns.outputs();
    const PackedRows packed(rows, width, [&](std::int64_t row) { return read_bf16(a) + row * width; });
    multiply_narrow(context, packed, columns, static_cast<std::uint16_t*>(out->data()));
  }

 private:
  Finish finish_;
};

// An expert's tokens, in order, and what each is worth to them.
struct Share {
  std::int64_t token;
  float weight;
};

std::vector<std::vector<Share>> sort_tokens(const Tensor& weights, const Tensor& ids, std::int64_t experts) {
  const auto own_ids = ids.flat<std::int32_t>();
  const auto own_weights = weights.flat<float>();
  const std::int64_t top = ids.dim_size(ids.dims() - 1);
  std::vector<std::vector<Share>> found(static_cast<std::size_t>(experts));
  for (std::int64_t place = 0; place < own_ids.size(); ++place)
    if (own_ids(place) >= 0 && own_ids(place) < experts)
      found[static_cast<std::size_t>(own_ids(place))].push_back({place / top, own_weights(place)});
  return found;
}

class MoeKernel : public OpKernel {
 public:
  explicit MoeKernel(OpKernelConstruction* context) : OpKernel(context) {
    finish_.paired = true;
    finish_.gate.curve = Curve::SILU;
    OP_REQUIRES_OK(context, context->GetAttr("interleaved", &finish_.interleaved));
    OP_REQUIRES_OK(context, read_scalars(context, finish_.gate));
    int stop = 0;
    OP_REQUIRES_OK(context, InputRange("gate_up_bias", &gate_up_bias_, &stop));
    gate_up_bias_ = gate_up_bias_ < stop ? gate_up_bias_ : -1;
    OP_REQUIRES_OK(context, InputRange("down_bias", &down_bias_, &stop));
    down_bias_ = down_bias_ < stop ? down_bias_ : -1;
  }

  void Compute(OpKernelContext* context) override {
    const Tensor &x = context->input(0), &gate_up = context->input(1), &down = context->input(2);
    const Tensor &weights = context->input(3), &ids = context->input(4);
    OP_REQUIRES_OK(context, check(context, x, gate_up, down, weights, ids));
    Tensor* out = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, x.shape(), &out));
    if (!out->NumElements()) return;
    std::vector<float> total(static_cast<std::size_t>(out->NumElements()));
    const auto tokens = sort_tokens(weights, ids, gate_up.dim_size(0));
    for (std::size_t expert = 0; expert < tokens.size(); ++expert)
      if (!tokens[expert].empty()) add_expert(context, static_cast<std::int64_t>(expert), tokens[expert], total.data());
    narrow_numbers(total.data(), out->NumElements(), static_cast<std::uint16_t*>(out->data()));
  }

 private:
  absl::Status check(OpKernelContext* context, const Tensor& x, const Tensor& gate_up, const Tensor& down,
                     const Tensor& weights, const Tensor& ids) const {
    const std::int64_t width = x.dims() ? x.dim_size(x.dims() - 1) : -1;
    const bool fits = gate_up.dims() == 3 && down.dims() == 3 && gate_up.dim_size(0) == down.dim_size(0) &&
                      gate_up.dim_size(2) == width && down.dim_size(1) == width &&
                      gate_up.dim_size(1) == 2 * down.dim_size(2) && weights.shape() == ids.shape() && ids.dims() > 0;
    if (!fits) return absl::InvalidArgumentError("rockiln: the shapes of fused_moe's inputs do not fit together");
    const std::int64_t tokens = width ? x.NumElements() / width : 0;
    if (tokens * ids.dim_size(ids.dims() - 1) != ids.NumElements())
      return absl::InvalidArgumentError("rockiln: fused_moe has not as many rows of ids as of x");
    const absl::Status status = check_bias(context, gate_up_bias_, gate_up);
    return status.ok() ? check_bias(context, down_bias_, down) : status;
  }

  // As many biases as an expert's matrix has rows.
  static absl::Status check_bias(OpKernelContext* context, int place, const Tensor& matrices) {
    if (place < 0) return absl::OkStatus();
    const tensorflow::TensorShape &own = context->input(place).shape(), whole = matrices.shape();
    if (own.dims() == 2 && own.dim_size(0) == whole.dim_size(0) && own.dim_size(1) == whole.dim_size(1))
      return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("rockiln: fused_moe's bias ", own.DebugString(),
                                                   " does not fit matrices ", whole.DebugString()));
  }

  // An expert's matrix and bias as columns.
  static Columns take_expert(OpKernelContext* context, int place, int bias_place, std::int64_t expert, Finish finish) {
    const Tensor& matrices = context->input(place);
    const std::int64_t rows = matrices.dim_size(1), width = matrices.dim_size(2);
    const std::uint16_t* bias = bias_place < 0 ? nullptr : read_bf16(context->input(bias_place)) + expert * rows;
    return {read_bf16(matrices) + expert * rows * width, bias, rows, width, finish};
  }

  void add_expert(OpKernelContext* context, std::int64_t expert, const std::vector<Share>& tokens, float* total) const {
    const std::uint16_t* x = read_bf16(context->input(0));
    const Columns gate_up = take_expert(context, 1, gate_up_bias_, expert, finish_);
    const Columns down = take_expert(context, 2, down_bias_, expert, {});
    const auto count = static_cast<std::int64_t>(tokens.size());
    const auto find = [&](std::int64_t row) { return x + tokens[static_cast<std::size_t>(row)].token * gate_up.width; };
    std::vector<std::uint16_t> hidden(static_cast<std::size_t>(count * down.width));
    multiply_narrow(context, PackedRows(count, gate_up.width, find), gate_up, hidden.data());
    const PackedRows packed(count, down.width, [&](std::int64_t row) { return hidden.data() + row * down.width; });
    const auto take = [&](const float* sums, std::int64_t row, std::int64_t column) {
      const std::int64_t rows = std::min<std::int64_t>(BLOCK, count - row);
      const std::int64_t width = std::min<std::int64_t>(BLOCK, down.rows - column);
      for (std::int64_t place = 0; place < rows; ++place) {
        const Share& share = tokens[static_cast<std::size_t>(row + place)];
        add_row(sums + place * BLOCK, column, down, share.weight, total + share.token * down.rows + column, width);
      }
    };
    multiply(take_threads(context), packed, down.count(), [&](std::int64_t column) { return down.row(column); }, take);
  }

  Finish finish_;
  int gate_up_bias_ = -1, down_bias_ = -1;
};

REGISTER_KERNEL_BUILDER(Name("RockilnCpuGemm").Device(tensorflow::DEVICE_CPU), GemmKernel);
REGISTER_KERNEL_BUILDER(Name("RockilnCpuMoe").Device(tensorflow::DEVICE_CPU), MoeKernel);

}  // namespace
}  // namespace rockiln_tensorflow
