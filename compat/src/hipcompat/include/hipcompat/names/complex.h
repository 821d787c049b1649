// Made from facts.tsv by `python -m hipcompat.translate.headers`; do not edit.
#pragma once

#define cuCabs hipCabs
#define cuCabsf hipCabsf
#define cuCadd hipCadd
#define cuCaddf hipCaddf
#define cuCdiv hipCdiv
#define cuCdivf hipCdivf
#define cuCfma hipCfma
#define cuCfmaf hipCfmaf
#define cuCimag hipCimag
#define cuCimagf hipCimagf
#define cuCmul hipCmul
#define cuCmulf hipCmulf
#define cuComplex hipComplex
#define cuComplexDoubleToFloat hipComplexDoubleToFloat
#define cuComplexFloatToDouble hipComplexFloatToDouble
#define cuConj hipConj
#define cuConjf hipConjf
#define cuCreal hipCreal
#define cuCrealf hipCrealf
#define cuCsub hipCsub
#define cuCsubf hipCsubf
#define cuDoubleComplex hipDoubleComplex
#define cuFloatComplex hipFloatComplex
#define make_cuComplex make_hipComplex
#define make_cuDoubleComplex make_hipDoubleComplex
#define make_cuFloatComplex make_hipFloatComplex
#define make_cudaExtent make_hipExtent
#define make_cudaPitchedPtr make_hipPitchedPtr
#define make_cudaPos make_hipPos
