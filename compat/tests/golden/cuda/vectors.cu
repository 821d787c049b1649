// float4 loads and make_float4, and a struct by value among the arguments.
struct Scale {
    float factor;
    int shift;
};
extern "C" __global__ void vectors(const float4 *x, float4 *y, Scale scale) {
    float4 v = x[threadIdx.x];
    y[(threadIdx.x + scale.shift) % blockDim.x] =
        make_float4(v.x * scale.factor, v.y + 1.0f, v.z - v.w, v.w * v.w);
}
