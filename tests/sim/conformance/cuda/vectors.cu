// Vector loads and stores of every element width, and structures copied whole.
#include <cstdint>

extern "C" __global__ void vector_types(const float4* f4, const int2* i2, const uchar4* u4, const short4* s4,
                                        const double2* d2, const longlong2* l2, double* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  double* to = out + 6 * i;
  const float4 f = f4[i];
  to[0] = f.x + 10.0 * f.y + 100.0 * f.z + 1000.0 * f.w;
  const int2 a = i2[i];
  to[1] = a.x - 3.0 * a.y;
  const uchar4 u = u4[i];
  to[2] = u.x + 256.0 * u.y + 65536.0 * u.z + 16777216.0 * u.w;
  const short4 s = s4[i];
  to[3] = s.x + 3.0 * s.y + 9.0 * s.z + 27.0 * s.w;
  const double2 d = d2[i];
  to[4] = d.x - d.y;
  const longlong2 l = l2[i];
  to[5] = static_cast<double>(l.x ^ l.y);
}

extern "C" __global__ void vector_stores(const int* in, char4* c4, ushort2* h2, uint4* u4, double2* d2) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int x = in[i];
  c4[i] = make_char4(static_cast<signed char>(x), static_cast<signed char>(x >> 8),
                     static_cast<signed char>(-x), static_cast<signed char>(x * 3));
  h2[i] = make_ushort2(static_cast<unsigned short>(x), static_cast<unsigned short>(x >> 16));
  u4[i] = make_uint4(x, ~x, x << 4, x >> 4);
  d2[i] = make_double2(x, 0.5 * x);
}

struct __align__(16) Record {
  uint64_t key;
  float weight;
  uint16_t count;
  uint8_t bytes[18];
};

extern "C" __global__ void reverse_records(const Record* in, Record* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Record r = in[n - 1 - i];
  r.key += i;
  r.bytes[i % 18] = 0xEE;
  out[i] = r;
}
