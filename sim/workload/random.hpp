// The fixed generators behind routings and data: the same seed gives the same scenario on every machine, for
// ever.
#pragma once

#include <cstdint>

namespace ptxwire::sim {

/// Finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014):
/// a bijection whose output bits all depend on all input bits.
constexpr uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

inline constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15ULL;

/// SplitMix64.
class RandomStream {
 public:
  constexpr explicit RandomStream(uint64_t seed) : state_(seed) {}
  /// A stream of its own for each (seed, index).
  constexpr RandomStream(uint64_t seed, uint64_t index) : state_(mix(seed * kGoldenGamma + index + 1)) {}
  constexpr uint64_t next() { return mix(state_ += kGoldenGamma); }
  /// Uniform in [0, n), n < 2^32.
  constexpr uint32_t below(uint32_t n) { return static_cast<uint32_t>(((next() >> 32) * n) >> 32); }

 private:
  uint64_t state_;
};

/// Random access: the value belongs to its coordinates alone, so that inputs and expectations need not be
/// stored.
constexpr uint64_t hash_of(uint64_t seed, uint64_t stream, uint64_t position) {
  return mix(mix(seed * kGoldenGamma + stream) + (position + 1) * kGoldenGamma);
}

}  // namespace ptxwire::sim
