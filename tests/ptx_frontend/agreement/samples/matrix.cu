// Matrix fragments of every type, textures and surfaces.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

template <typename In, typename Out, int m, int n, int k, typename LayoutA, typename LayoutB>
__global__ void multiply(const In* a, const In* b, Out* c) {
  wmma::fragment<wmma::matrix_a, m, n, k, In, LayoutA> fa;
  wmma::fragment<wmma::matrix_b, m, n, k, In, LayoutB> fb;
  wmma::fragment<wmma::accumulator, m, n, k, Out> fc;
  wmma::fill_fragment(fc, Out(0));
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
using Row = wmma::row_major;
using Col = wmma::col_major;
template __global__ void multiply<__half, float, 16, 16, 16, Row, Col>(const __half*, const __half*, float*);
template __global__ void multiply<__half, __half, 32, 8, 16, Col, Row>(const __half*, const __half*, __half*);
template __global__ void multiply<__half, float, 8, 32, 16, Row, Row>(const __half*, const __half*, float*);
template __global__ void multiply<signed char, int, 16, 16, 16, Row, Col>(const signed char*,
                                                                          const signed char*, int*);
template __global__ void multiply<unsigned char, int, 8, 32, 16, Col, Col>(const unsigned char*,
                                                                           const unsigned char*, int*);
#if __CUDA_ARCH__ >= 800
template __global__ void multiply<__nv_bfloat16, float, 16, 16, 16, Row, Col>(const __nv_bfloat16*,
                                                                              const __nv_bfloat16*, float*);
template __global__ void multiply<double, double, 8, 8, 4, Row, Col>(const double*, const double*, double*);
__global__ void tf32(const float* a, const float* b, float* c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, Row> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, Col> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
  wmma::load_matrix_sync(fa, a, 8);
  wmma::load_matrix_sync(fb, b, 8);
  wmma::load_matrix_sync(fc, c, 16, wmma::mem_col_major);
  for (auto& x : fa.x) x = wmma::__float_to_tf32(x);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_col_major);
}
#endif
__global__ void bits(const unsigned* a, const unsigned* b, int* c) {
  namespace x = wmma::experimental;
  wmma::fragment<wmma::matrix_a, 8, 8, 128, x::precision::b1, Row> fa;
  wmma::fragment<wmma::matrix_b, 8, 8, 128, x::precision::b1, Col> fb;
  wmma::fragment<wmma::accumulator, 8, 8, 128, int> fc;
  wmma::load_matrix_sync(fa, a, 128);
  wmma::load_matrix_sync(fb, b, 128);
  wmma::fill_fragment(fc, 0);
  wmma::bmma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 8, wmma::mem_row_major);
}

__global__ void textures(float4* out, cudaTextureObject_t t, cudaSurfaceObject_t s, float x, float y, float z,
                         int i) {
  out[0] = tex1Dfetch<float4>(t, i);
  out[1] = tex1D<float4>(t, x);
  out[2] = tex2D<float4>(t, x, y);
  out[3] = tex3D<float4>(t, x, y, z);
  out[4] = tex1DLayered<float4>(t, x, i);
  out[5] = tex2DLayered<float4>(t, x, y, i);
  out[6] = texCubemap<float4>(t, x, y, z);
  out[7] = tex2DLod<float4>(t, x, y, z);
  out[8] = tex2DGrad<float4>(t, x, y, make_float2(x, y), make_float2(y, z));
  out[9] = tex2Dgather<float4>(t, x, y, 1);
  bool resident;
  out[10] = tex2D<float4>(t, x, y, &resident);
  out[11].x = tex2D<float>(t, x, y) + tex3DLod<int>(t, x, y, z, 1.0f) + tex2D<uchar4>(t, x, y).x;
  out[12] = surf1Dread<float4>(s, i * 16);
  out[13] = surf2Dread<float4>(s, i * 16, i);
  out[14] = surf3Dread<float4>(s, i * 16, i, i);
  out[15] = surf2DLayeredread<float4>(s, i * 16, i, i);
  surf1Dwrite(out[1], s, i * 16);
  surf2Dwrite(out[2], s, i * 16, i, cudaBoundaryModeClamp);
  surf3Dwrite(out[3].x, s, i * 4, i, i, cudaBoundaryModeZero);
  surf2DLayeredwrite(make_short2(1, 2), s, i * 4, i, i);
  out[16].x = surf2Dread<unsigned char>(s, i, i) + surf1Dread<long long>(s, i * 8);
}
