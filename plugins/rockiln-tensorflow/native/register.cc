// REGISTER_OP of every op of the table (registrations.inc), and of the two that the functions around them need.
#include "shapes.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"

namespace rockiln_tensorflow {
namespace {

using tensorflow::shape_inference::InferenceContext;

absl::Status infer(const char* type, InferenceContext* context) { return infer_shapes(*find_row(type), context); }

#include "registrations.inc"

REGISTER_OP("RockilnServes")
    .Attr("count: int >= 1")
    .Input("shapes: count * int64")
    .Attr("op: string")
    .Attr("input_dtypes: list(int)")
    .Attr("scalar_kinds: list(int)")
    .Attr("scalar_bits: list(int)")
    .Attr("dtypes: list(int)")
    .Output("serves: bool")
    .SetIsStateful()  // records and variables may change: it is not to be folded into a constant
    .SetShapeFn(tensorflow::shape_inference::ScalarShape)
    .Doc(R"doc(
Whether a kernel pack runs a call with these shapes on the first GPU.

shapes: of each input that is there.
input_dtypes: rockiln_dtype of each input of the op, 0 of an absent one.
scalar_kinds: rockiln_kind of each scalar.
scalar_bits: the number, or the bits of a float.
dtypes: rockiln_dtype of each dtype that no input decides.
)doc");

REGISTER_OP("RockilnBitcast")
    .Attr("T: type")
    .Attr("to: type")
    .Input("x: T")
    .Output("y: to")
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape)
    .Doc(R"doc(
The same bytes as another dtype of that size: tf.bitcast, which takes no float8.
)doc");

}  // namespace
}  // namespace rockiln_tensorflow
