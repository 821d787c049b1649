// Ops of bf16 for the CPU, computed in f32 and rounded once: all of them, and kernels of gates and rope.
#include "absl/strings/str_cat.h"
#include "cpu_op.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace rockiln_tensorflow {
namespace {

using tensorflow::TensorShape;

std::int64_t last_dim(const Tensor& tensor) { return tensor.dim_size(tensor.dims() - 1); }

// All dims but the last.
std::int64_t count_rows(const Tensor& tensor) {
  std::int64_t count = 1;
  for (int dim = 0; dim + 1 < tensor.dims(); ++dim) count *= tensor.dim_size(dim);
  return count;
}

// The input's shape with another last dim.
absl::Status allocate_like(OpKernelContext* context, const Tensor& input, std::int64_t last, Tensor** output) {
  TensorShape shape = input.shape();
  shape.set_dim(shape.dims() - 1, last);
  return context->allocate_output(0, shape, output);
}

class GateKernel : public OpKernel {
 public:
  explicit GateKernel(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, read_curve(context, gate_));
    OP_REQUIRES_OK(context, read_scalars(context, gate_));
    OP_REQUIRES_OK(context, context->GetAttr("interleaved", &interleaved_));
  }

  void Compute(OpKernelContext* context) override {
    const Tensor& x = context->input(0);
    OP_REQUIRES(context, x.dims() >= 1 && last_dim(x) % 2 == 0,
                absl::InvalidArgumentError("rockiln: the gate's x has an odd last dim, or none"));
    const std::int64_t width = last_dim(x) / 2;
    Tensor* y = nullptr;
    OP_REQUIRES_OK(context, allocate_like(context, x, width, &y));
    auto* target = static_cast<std::uint16_t*>(y->data());
    take_threads(context)(count_rows(x), width * 3, [&](std::int64_t first, std::int64_t last) {
      gate_rows(read_bf16(x) + first * 2 * width, target + first * width, last - first, width, interleaved_, gate_);
    });
  }

 private:
  Gate gate_;
  bool interleaved_ = false;
};

struct Turn {
  const float *cos, *sin;
  std::int64_t pairs, width;
  bool interleaved;
};

ROCKILN_INLINE void turn_lanes(const std::uint16_t* x, std::uint16_t* y, const Turn& turn, std::int64_t place) {
  Floats a, b, c, s;
  const std::uint16_t* other = x + (turn.interleaved ? LANES : turn.pairs);
  std::memcpy(&c, turn.cos + place, sizeof c);
  std::memcpy(&s, turn.sin + place, sizeof s);
  if (turn.interleaved) {
    widen_pairs(x + 2 * place, a, b);
    narrow_pairs(a * c - b * s, b * c + a * s, y + 2 * place);
  } else {
    a = widen(x + place);
    b = widen(other + place);
    narrow(a * c - b * s, y + place);
    narrow(b * c + a * s, y + turn.pairs + place);
  }
}

std::uint16_t round_one(float value) {
  std::uint16_t rounded[LANES];
  narrow(Floats{} + value, rounded);
  return rounded[0];
}

float widen_one(std::uint16_t value) {
  const std::uint32_t bits = static_cast<std::uint32_t>(value) << 16;
  float wide;
  std::memcpy(&wide, &bits, sizeof wide);
  return wide;
}

// One head: its pairs turned, what lies behind them copied.
ROCKILN_CLONES void turn_head(const std::uint16_t* x, std::uint16_t* y, const Turn& turn, std::int64_t heads) {
  const Turn own = turn;
  for (std::int64_t head = 0; head < heads; ++head, x += own.width, y += own.width) {
    std::int64_t place = 0;
    for (; place + LANES <= own.pairs; place += LANES) turn_lanes(x, y, own, place);
    for (; place < own.pairs; ++place) {
      const std::int64_t first = own.interleaved ? 2 * place : place;
      const std::int64_t second = own.interleaved ? first + 1 : first + own.pairs;
      const float a = widen_one(x[first]), b = widen_one(x[second]), c = own.cos[place], s = own.sin[place];
      y[first] = round_one(a * c - b * s);
      y[second] = round_one(b * c + a * s);
    }
    const auto rest = static_cast<std::size_t>(own.width - 2 * own.pairs) * sizeof *x;
    std::memcpy(y + 2 * own.pairs, x + 2 * own.pairs, rest);
  }
}

class RopeKernel : public OpKernel {
 public:
  explicit RopeKernel(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("interleaved", &interleaved_));
  }

  void Compute(OpKernelContext* context) override {
    const Tensor &x = context->input(0), &cos = context->input(1), &sin = context->input(2);
    const auto positions = context->input(3).flat<std::int32_t>();
    OP_REQUIRES_OK(context, check(x, cos, sin, context->input(3)));
    Tensor* y = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, x.shape(), &y));
    auto* target = static_cast<std::uint16_t*>(y->data());
    const std::int64_t heads = x.dim_size(x.dims() - 2), width = last_dim(x), pairs = last_dim(cos);
    take_threads(context)(positions.size(), heads * width, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        const std::int64_t offset = positions(row) * pairs, start = row * heads * width;
        const Turn turn{cos.flat<float>().data() + offset, sin.flat<float>().data() + offset, pairs, width, interleaved_};
        turn_head(read_bf16(x) + start, target + start, turn, heads);
      }
    });
  }

 private:
  static absl::Status check(const Tensor& x, const Tensor& cos, const Tensor& sin, const Tensor& positions) {
    if (x.dims() < 2 || cos.dims() != 2 || cos.shape() != sin.shape() || 2 * last_dim(cos) > last_dim(x))
      return absl::InvalidArgumentError("rockiln: rope's x, cos and sin do not fit together");
    const auto own = positions.flat<std::int32_t>();
    if (own.size() * x.dim_size(x.dims() - 2) != count_rows(x))
      return absl::InvalidArgumentError("rockiln: rope has not as many positions as rows");
    for (std::int64_t place = 0; place < own.size(); ++place)
      if (own(place) < 0 || own(place) >= cos.dim_size(0))
        return absl::InvalidArgumentError(absl::StrCat("rockiln: rope: positions[", place, "] = ", own(place),
                                                       " is not in [0, ", cos.dim_size(0), ")"));
    return absl::OkStatus();
  }

  bool interleaved_ = false;
};

using tensorflow::shape_inference::DimensionHandle;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

// The first input's shape with another last dim.
absl::Status replace_last(InferenceContext* context, DimensionHandle last) {
  ShapeHandle x, y;
  TF_RETURN_IF_ERROR(context->WithRankAtLeast(context->input(0), 1, &x));
  TF_RETURN_IF_ERROR(context->ReplaceDim(x, -1, last, &y));
  context->set_output(0, y);
  return absl::OkStatus();
}

absl::Status halve_last(InferenceContext* context) {
  ShapeHandle x;
  DimensionHandle half;
  TF_RETURN_IF_ERROR(context->WithRankAtLeast(context->input(0), 1, &x));
  TF_RETURN_IF_ERROR(context->Divide(context->Dim(x, -1), 2, true, &half));
  return replace_last(context, half);
}

absl::Status take_columns(InferenceContext* context) {
  ShapeHandle b;
  bool paired = false;
  TF_RETURN_IF_ERROR(context->WithRank(context->input(1), 2, &b));
  TF_RETURN_IF_ERROR(context->GetAttr("paired", &paired));
  DimensionHandle columns = context->Dim(b, 0);
  if (paired) TF_RETURN_IF_ERROR(context->Divide(columns, 2, true, &columns));
  return replace_last(context, columns);
}

REGISTER_OP("RockilnCpuGate")
    .Input("x: bfloat16")
    .Attr("gate: string")
    .Attr("alpha: float = 1.0")
    .Attr("limit: float = 0.0")
    .Attr("up_offset: float = 0.0")
    .Attr("interleaved: bool = false")
    .Output("y: bfloat16")
    .SetShapeFn(halve_last)
    .Doc(R"doc(
gate(g) * (u + up_offset) of x's last dim, in float32, rounded once: the families *_and_mul on a CPU.

gate: silu, gelu or gelu_tanh.
alpha: silu's, g * sigmoid(alpha * g).
limit: above 0, g is at most this and u within it.
interleaved: g and u are in turn, not halves.
)doc");

REGISTER_OP("RockilnCpuRope")
    .Input("x: bfloat16")
    .Input("cos: float")
    .Input("sin: float")
    .Input("positions: int32")
    .Attr("interleaved: bool = false")
    .Output("y: bfloat16")
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape)
    .Doc("Pairs of each head turned by row positions[l] of cos and sin, in float32, rounded once: rope on a CPU.");

REGISTER_OP("RockilnCpuGemm")
    .Input("a: bfloat16")
    .Input("b: bfloat16")
    .Attr("bias_count: int >= 0")
    .Input("bias: bias_count * bfloat16")
    .Attr("gate: string")
    .Attr("paired: bool")
    .Attr("interleaved: bool = false")
    .Output("out: bfloat16")
    .SetShapeFn(take_columns)
    .Doc(R"doc(
a b^T + bias with sums and epilogue in float32, rounded once: gemm with an epilogue on a CPU.

bias: none or one.
gate: silu, gelu, gelu_tanh, or empty.
paired: the gate's g and u are b's halves, or interleaved in turn.
)doc");

REGISTER_OP("RockilnCpuMoe")
    .Input("x: bfloat16")
    .Input("gate_up: bfloat16")
    .Input("down: bfloat16")
    .Input("weights: float")
    .Input("ids: int32")
    .Attr("gate_up_bias_count: int >= 0")
    .Attr("down_bias_count: int >= 0")
    .Input("gate_up_bias: gate_up_bias_count * bfloat16")
    .Input("down_bias: down_bias_count * bfloat16")
    .Attr("interleaved: bool = false")
    .Attr("alpha: float = 1.0")
    .Attr("limit: float = 0.0")
    .Attr("up_offset: float = 0.0")
    .Output("out: bfloat16")
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape)
    .Doc("fused_moe on a CPU: products and sums in float32; hidden values and the result are rounded.");

REGISTER_KERNEL_BUILDER(Name("RockilnCpuGate").Device(tensorflow::DEVICE_CPU), GateKernel);
REGISTER_KERNEL_BUILDER(Name("RockilnCpuRope").Device(tensorflow::DEVICE_CPU), RopeKernel);

}  // namespace
}  // namespace rockiln_tensorflow
