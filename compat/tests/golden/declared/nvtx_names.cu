// NVTX's names for the runtime's objects, and its ranges.
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
void name(cudaStream_t stream, cudaEvent_t event) {
    nvtxNameCudaStreamA(stream, "copies");
    nvtxNameCudaStream(stream, "copies");
    nvtxNameCudaEventA(event, "copied");
    nvtxNameCudaDevice(0, "first");
    nvtxRangePush("step");
    nvtxMark("middle");
    nvtxRangePop();
}
