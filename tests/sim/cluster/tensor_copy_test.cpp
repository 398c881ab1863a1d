// Bulk tensor copies against boxes put together here, element by element (PTX ISA 5.5, 9.7.9.27).
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <functional>

#include "bench.hpp"
#include "sim/memory/tensor_map.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;

namespace {

constexpr uint32_t kSharedBytes = 64 * 1024;

std::string coordinates(uint32_t rank) {
  std::string list;
  for (uint32_t d = 0; d < rank; ++d) list += fmt::format("{}%r{}", d == 0 ? "" : ", ", 10 + d);
  return list;
}

/// k(out, map, coordinates): thread 0 starts `command`; when `wait` is over, or the box has come, all threads
/// write shared memory to `out`. Shared memory starts with a pattern.
std::string kernel(uint32_t rank, const std::string& command, bool load) {
  std::string body = R"(
  .shared .align 8 .b64 done;
  mov.u32 %r1, memory; shl.b32 %r2, %r0, 2;
FILL:
  mul.lo.u32 %r3, %r2, 2654435761; add.u32 %r4, %r1, %r2; st.shared.u32 [%r4], %r3;
  add.u32 %r2, %r2, 512; setp.lt.u32 %p1, %r2, 65536; @%p1 bra FILL;
  mov.u32 %r5, done; setp.ne.u32 %p2, %r0, 0; @%p2 bra WAIT;
  mbarrier.init.shared::cta.b64 [done], 1; fence.mbarrier_init.release.cluster;
)";
  for (uint32_t d = 0; d < rank; ++d) body += fmt::format("ld.global.u32 %r{}, [%rd2+{}];\n", 10 + d, 4 * d);
  body += "ld.global.u32 %r6, [%rd2+20];\nfence.proxy.async;\n";
  if (load) {
    body += "mbarrier.arrive.expect_tx.shared::cta.b64 _, [done], %r6;\n" + command;
  } else {
    body += command + "\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n";
    body += "mbarrier.arrive.shared::cta.b64 _, [done];\n";
  }
  body += R"(
WAIT:
  bar.sync 0;
POLL:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [done], 0; @!%p3 bra POLL;
  shl.b32 %r2, %r0, 2;
OUT:
  add.u32 %r4, %r1, %r2; ld.shared.u32 %r3, [%r4]; cvt.u64.u32 %rd5, %r2; add.u64 %rd6, %rd0, %rd5;
  st.global.u32 [%rd6], %r3; add.u32 %r2, %r2, 512; setp.lt.u32 %p1, %r2, 65536; @%p1 bra OUT;
)";
  return ".extern .shared .align 1024 .b8 memory[];\n" + entry("k", 3, body);
}

std::string load_kernel(uint32_t rank) {
  return kernel(
      rank,
      fmt::format("cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                  "[%r1], [%rd1, {{{}}}], [%r5];",
                  rank, coordinates(rank)),
      true);
}
std::string store_kernel(uint32_t rank, const std::string& reduction = {}) {
  return kernel(rank,
                fmt::format("{}.{}d.global.shared::cta{}.bulk_group [%rd1, {{{}}}], [%r1];",
                            reduction.empty() ? "cp.async.bulk.tensor" : "cp.reduce.async.bulk.tensor", rank,
                            reduction.empty() ? "" : "." + reduction, coordinates(rank)),
                false);
}

std::vector<uint8_t> initial_shared() {
  std::vector<uint8_t> bytes(kSharedBytes);
  for (uint32_t at = 0; at < kSharedBytes; at += 4) {
    const uint32_t word = at * 2654435761U;
    std::memcpy(bytes.data() + at, &word, 4);
  }
  return bytes;
}

struct Tensor {
  TensorMapFields fields;
  std::vector<int32_t> at;
  uint64_t bytes = 0;  ///< of its memory

  [[nodiscard]] uint32_t swizzle_mask() const {
    return fields.swizzle == TensorSwizzle::none ? 0 : (1U << static_cast<unsigned>(fields.swizzle)) - 1;
  }
};

/// Dense but for padding of 32 bytes per row.
Tensor tensor(TensorType type, std::vector<uint64_t> dims, std::vector<uint32_t> box, std::vector<int32_t> at,
              TensorSwizzle swizzle = TensorSwizzle::none, TensorFill fill = TensorFill::zero,
              std::vector<uint32_t> element_strides = {}) {
  Tensor tensor{.at = std::move(at)};
  TensorMapFields& fields = tensor.fields;
  fields.type = type;
  fields.rank = static_cast<uint32_t>(dims.size());
  fields.swizzle = swizzle;
  fields.fill = fill;
  uint64_t stride = 0;
  for (uint32_t d = 0; d < fields.rank; ++d) {
    fields.dims[d] = dims[d];
    fields.box[d] = box[d];
    if (!element_strides.empty()) fields.element_strides[d] = element_strides[d];
    fields.strides[d] = stride;
    stride = d == 0 ? (dims[0] * fields.element_bytes() + 15) / 16 * 16 + 32 : stride * dims[d];
  }
  tensor.bytes = stride;
  return tensor;
}

/// Calls visit(place in swizzled shared memory, place in the tensor or -1) for every element of the box.
void for_each_element(const Tensor& tensor, const std::function<void(uint32_t, int64_t)>& visit) {
  const TensorMapFields& fields = tensor.fields;
  std::array<uint32_t, 5> index{};
  std::array<uint32_t, 5> count{1, 1, 1, 1, 1};
  for (uint32_t d = 0; d < fields.rank; ++d)
    count[d] =
        d == 0 ? fields.box[0] : (fields.box[d] + fields.element_strides[d] - 1) / fields.element_strides[d];
  uint32_t linear = 0;
  for (index[4] = 0; index[4] < count[4]; ++index[4])
    for (index[3] = 0; index[3] < count[3]; ++index[3])
      for (index[2] = 0; index[2] < count[2]; ++index[2])
        for (index[1] = 0; index[1] < count[1]; ++index[1])
          for (index[0] = 0; index[0] < count[0]; ++index[0]) {
            int64_t place = 0;
            for (uint32_t d = 0; d < fields.rank; ++d) {
              const int64_t at = tensor.at[d] + int64_t{index[d]} * (d == 0 ? 1 : fields.element_strides[d]);
              if (at < 0 || at >= static_cast<int64_t>(fields.dims[d])) place = INT64_MIN / 2;
              place += at * static_cast<int64_t>(d == 0 ? fields.element_bytes() : fields.strides[d]);
            }
            const uint32_t swizzled = linear ^ (linear >> 7 & tensor.swizzle_mask()) << 4;
            visit(swizzled, place < 0 ? -1 : place);
            linear += fields.element_bytes();
          }
}

struct Run {
  std::vector<uint8_t> shared, memory;
};

Run run(const std::string& text, Tensor tensor, const std::vector<uint8_t>& memory) {
  Bench bench(text);
  const DeviceAddress data = bench.allocate(memory.size()), out = bench.allocate(kSharedBytes),
                      map = bench.allocate(128), at = bench.allocate(32);
  bench.write(data, memory);
  tensor.fields.address = data;
  const auto encoded = encode_tensor_map(tensor.fields);
  REQUIRE(encoded);
  bench.write(map, std::vector<uint8_t>(encoded->bytes.begin(), encoded->bytes.end()));
  std::vector<int32_t> words = tensor.at;
  words.resize(5);
  words.push_back(static_cast<int32_t>(tensor.fields.box_bytes()));
  bench.write(at, words);
  bench.launch("k", {out, map, at}, {.block = {128, 1, 1}, .dynamic_shared = kSharedBytes});
  bench.run();
  return {bench.read<uint8_t>(out, kSharedBytes), bench.read<uint8_t>(data, memory.size())};
}

std::vector<uint8_t> pattern(size_t bytes) {
  std::vector<uint8_t> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(i * 37 + i / 251 + 3);
  return data;
}

std::vector<Tensor> tensors() {
  using enum TensorType;
  return {
      tensor(u8, {1000}, {256}, {100}),
      tensor(u32, {50}, {64}, {-10}),  // beyond both ends
      tensor(bf16, {100, 40}, {64, 32}, {16, 4}, TensorSwizzle::b128),
      tensor(bf16, {100, 40}, {64, 32}, {71, 20}, TensorSwizzle::b128, TensorFill::nan),
      tensor(f16, {33, 9}, {32, 16}, {-5, -3}, TensorSwizzle::b64, TensorFill::nan),
      tensor(f32, {20, 20}, {8, 24}, {3, -2}, TensorSwizzle::b32),
      tensor(u16, {100, 30}, {8, 8}, {200, 0}),  // nothing of it inside
      tensor(f64, {30, 7, 5}, {4, 4, 3}, {28, 5, 3}, TensorSwizzle::none, TensorFill::nan),
      tensor(s32, {17, 6, 5, 4}, {4, 3, 2, 3}, {15, -1, 4, 2}),
      tensor(s64, {6, 5, 4, 3, 3}, {2, 2, 3, 2, 2}, {1, 4, -1, 2, -1}),
      tensor(u8, {64, 40, 6}, {32, 20, 6}, {8, 3, 1}, TensorSwizzle::b32, TensorFill::zero, {1, 3, 2}),
      tensor(tf32, {40, 300}, {32, 256}, {4, 40}, TensorSwizzle::b128),
  };
}

}  // namespace

TEST_CASE("tensor copy: boxes of one to five dimensions come as the map says", "[sim]") {
  for (const Tensor& tensor : tensors()) {
    CAPTURE(tensor.fields.rank, static_cast<int>(tensor.fields.type),
            static_cast<int>(tensor.fields.swizzle));
    const std::vector<uint8_t> memory = pattern(tensor.bytes);
    const Run result = run(load_kernel(tensor.fields.rank), tensor, memory);
    std::vector<uint8_t> expected = initial_shared();
    const uint32_t element = tensor.fields.element_bytes();
    for_each_element(tensor, [&](uint32_t shared, int64_t place) {
      std::vector<uint8_t> value(element, tensor.fields.fill == TensorFill::nan ? 0xFF : 0);
      if (tensor.fields.fill == TensorFill::nan) value.back() = 0x7F;
      std::memcpy(expected.data() + shared, place < 0 ? value.data() : memory.data() + place, element);
    });
    CHECK(result.shared == expected);
    CHECK(result.memory == memory);
  }
}

TEST_CASE("tensor copy: what is stored outside of the tensor is dropped", "[sim]") {
  for (const Tensor& tensor : tensors()) {
    CAPTURE(tensor.fields.rank, static_cast<int>(tensor.fields.type),
            static_cast<int>(tensor.fields.swizzle));
    const std::vector<uint8_t> memory = pattern(tensor.bytes);
    const Run result = run(store_kernel(tensor.fields.rank), tensor, memory);
    const std::vector<uint8_t> shared = initial_shared();
    std::vector<uint8_t> expected = memory;
    for_each_element(tensor, [&](uint32_t from, int64_t place) {
      if (place >= 0)
        std::memcpy(expected.data() + place, shared.data() + from, tensor.fields.element_bytes());
    });
    CHECK(result.memory == expected);
  }
}

TEST_CASE("tensor copy: reductions combine with what is there", "[sim]") {
  struct Row {
    const char* operation;
    TensorType type;
    std::function<uint32_t(uint32_t, uint32_t)> combine;
  };
  const std::vector<Row> rows = {
      {"add", TensorType::u32, [](uint32_t a, uint32_t b) { return a + b; }},
      {"min", TensorType::s32,
       [](uint32_t a, uint32_t b) { return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? a : b; }},
      {"max", TensorType::u32, [](uint32_t a, uint32_t b) { return std::max(a, b); }},
      {"inc", TensorType::u32, [](uint32_t a, uint32_t b) { return a >= b ? 0 : a + 1; }},
      {"xor", TensorType::u32, [](uint32_t a, uint32_t b) { return a ^ b; }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.operation);
    const Tensor box = tensor(row.type, {50, 20}, {32, 16}, {30, 10}, TensorSwizzle::b128);
    const std::vector<uint8_t> memory = pattern(box.bytes), shared = initial_shared();
    const Run result = run(store_kernel(2, row.operation), box, memory);
    std::vector<uint8_t> expected = memory;
    for_each_element(box, [&](uint32_t from, int64_t place) {
      if (place < 0) return;
      uint32_t a = 0, b = 0;
      std::memcpy(&a, memory.data() + place, 4);
      std::memcpy(&b, shared.data() + from, 4);
      const uint32_t value = row.combine(a, b);
      std::memcpy(expected.data() + place, &value, 4);
    });
    CHECK(result.memory == expected);
  }
}

TEST_CASE("tensor copy: a map as kernel parameter, with and without a name in between", "[sim]") {
  // %rd1 is a generic address of the parameter, as nvcc makes it for __grid_constant__.
  const std::string text = R"(
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out) {
.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<4>;
.shared .align 128 .b8 box[1024]; .shared .align 8 .b64 done;
mov.b64 %rd1, map; cvta.param.u64 %rd2, %rd1; ld.param.u64 %rd3, [out];
prefetch.tensormap [%rd2];
mbarrier.init.shared::cta.b64 [done], 1;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [done], 1024;
cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [box], [%rd2, {64}], [done];
POLL:
mbarrier.try_wait.parity.shared::cta.b64 %p1, [done], 0; @!%p1 bra POLL;
ld.shared.u32 %r1, [box]; ld.shared.u32 %r2, [box+1020]; st.global.u32 [%rd3], %r1; st.global.u32 [%rd3+4], %r2;
ret; })";
  Bench bench(text);
  const DeviceAddress data = bench.allocate(4096), out = bench.allocate(8);
  std::vector<uint32_t> words(1024);
  for (uint32_t i = 0; i < words.size(); ++i) words[i] = i * 3;
  bench.write(data, words);
  Tensor source = tensor(TensorType::u32, {1024}, {256}, {64});
  source.fields.address = data;
  const auto map = encode_tensor_map(source.fields);
  REQUIRE(map);
  LaunchConfig config{.kernel = "k",
                      .parameters = std::vector<uint8_t>(map->bytes.begin(), map->bytes.end())};
  config.parameters.resize(136);
  std::memcpy(config.parameters.data() + 128, &out, 8);
  REQUIRE(bench.cluster().launch(bench.cluster().create_stream(GpuId{0}), config));
  bench.run();
  CHECK(bench.read<uint32_t>(out, 2) == std::vector<uint32_t>{64 * 3, 319 * 3});
}

TEST_CASE("multicast: every CTA of the mask gets the bytes and is told of them", "[sim]") {
  // CTA 1 of 4 sends 512 bytes to CTAs 0, 1 and 3; CTA 2 must keep its zeros.
  const std::string body = R"(
  .shared .align 8 .b64 done; .shared .align 128 .b8 box[512];
  mov.u32 %r1, %cluster_ctarank; mov.b16 %h1, 11;
  mbarrier.init.shared::cta.b64 [done], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [done], 512;
  st.shared.u32 [box+508], 0;
  fence.mbarrier_init.release.cluster; fence.proxy.async;
  barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
  setp.ne.u32 %p1, %r1, 1; mov.u32 %r10, 0;
  @%p1 bra WAIT;
  COMMAND
WAIT:
  setp.eq.u32 %p2, %r1, 2; @%p2 bra OUT;
POLL:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [done], 0; @!%p3 bra POLL;
OUT:
  ld.shared.u32 %r2, [box+508]; mul.wide.u32 %rd5, %r1, 4; add.u64 %rd6, %rd0, %rd5; st.global.u32 [%rd6], %r2;
  barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
)";
  const std::vector<std::string> commands = {
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [box], [%rd1], "
      "512, "
      "[done], %h1;",
      "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [box], "
      "[%rd2, {%r10}], [done], %h1;"};
  for (const std::string& command : commands) {
    CAPTURE(command);
    std::string text = body;
    text.replace(text.find("COMMAND"), 7, command);
    Bench bench(entry("k", 3, text));
    const DeviceAddress data = bench.allocate(512), out = bench.allocate(16), map = bench.allocate(128);
    bench.write(data, std::vector<uint32_t>(128, 77));
    Tensor source = tensor(TensorType::u32, {128}, {128}, {0});
    source.fields.address = data;
    const auto encoded = encode_tensor_map(source.fields);
    REQUIRE(encoded);
    bench.write(map, std::vector<uint8_t>(encoded->bytes.begin(), encoded->bytes.end()));
    bench.launch("k", {out, data, map}, {.grid = {4, 1, 1}, .block = {1, 1, 1}, .cluster = 4});
    const RunReport report = bench.run();
    CHECK(bench.read<uint32_t>(out, 4) == std::vector<uint32_t>{77, 77, 0, 77});
    CHECK(report.gpus[0].l2_read_bytes < 4 * 512);  // read once
  }
}

TEST_CASE("tensor maps: changed in shared memory, published, and used", "[sim]") {
  // A map of 8 x 4 words of 128-byte rows is made one of 16 words, 96 bytes apart, from another address.
  const std::string body = R"(
  .shared .align 128 .b8 map[128]; .shared .align 128 .b8 box[256]; .shared .align 8 .b64 done;
  mul.wide.u32 %rd5, %r0, 4; add.u64 %rd6, %rd1, %rd5; ld.global.u32 %r1, [%rd6];
  mov.u32 %r2, map; shl.b32 %r3, %r0, 2; add.u32 %r3, %r3, %r2; st.shared.u32 [%r3], %r1;
  bar.sync 0;
  setp.ne.u32 %p1, %r0, 0; @%p1 bra PUBLISH;
  tensormap.replace.tile.global_address.shared::cta.b1024.b64 [map], %rd2;
  tensormap.replace.tile.rank.shared::cta.b1024.b32 [map], 0;
  tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [map], 0, 16;
  mov.u32 %r4, 40;
  tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map], 0, %r4;
  tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [map], 2;
  tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [map], 0;
  tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [map], 0;
  tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [map], 0, 1;
PUBLISH:
  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd3], [map], 128;
  fence.proxy.tensormap::generic.acquire.gpu [%rd3], 128;
  @%p1 bra WAIT;
  mbarrier.init.shared::cta.b64 [done], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [done], 64;
  mov.u32 %r5, 30;
  cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [box], [%rd3, {%r5}], [done];
WAIT:
  bar.sync 0;
POLL:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [done], 0; @!%p2 bra POLL;
  mov.u32 %r6, box; shl.b32 %r7, %r0, 2; add.u32 %r7, %r7, %r6; ld.shared.u32 %r8, [%r7];
  add.u64 %rd7, %rd0, %rd5; setp.lt.u32 %p3, %r0, 16; @%p3 st.global.u32 [%rd7], %r8;
  )";
  Bench bench(entry("k", 4, body));
  const DeviceAddress out = bench.allocate(64), from = bench.allocate(128), data = bench.allocate(1024),
                      published = bench.allocate(128);
  TensorMapFields fields{.type = TensorType::f32, .rank = 2, .address = 0};
  fields.dims = {32, 16};
  fields.strides = {0, 128};
  fields.box = {8, 4};
  fields.fill = TensorFill::nan;
  const auto encoded = encode_tensor_map(fields);
  REQUIRE(encoded);
  bench.write(from, std::vector<uint8_t>(encoded->bytes.begin(), encoded->bytes.end()));
  std::vector<uint32_t> words(256);
  for (uint32_t i = 0; i < words.size(); ++i) words[i] = 1000 + i;
  bench.write(data, words);
  bench.launch("k", {out, from, data, published});
  bench.run();
  std::vector<uint32_t> expected(16, 0);
  for (uint32_t i = 0; i < 10; ++i) expected[i] = 1030 + i;  // 40 elements, then zeros
  CHECK(bench.read<uint32_t>(out, 16) == expected);
}

TEST_CASE("tensor copy: prefetch brings the box into L2", "[sim]") {
  const std::string body =
      "mov.u32 %r10, 0; mov.u32 %r11, 4;\ncp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {%r10, "
      "%r11}];\n";
  Bench bench(entry("k", 2, body));
  const DeviceAddress data = bench.allocate(1 << 20), map = bench.allocate(128);
  TensorMapFields fields{.type = TensorType::f32, .rank = 2, .address = data};
  fields.dims = {512, 512};
  fields.strides = {0, 2048};
  fields.box = {64, 32};
  const auto encoded = encode_tensor_map(fields);
  REQUIRE(encoded);
  bench.write(map, std::vector<uint8_t>(encoded->bytes.begin(), encoded->bytes.end()));
  bench.cluster().flush_l2();
  bench.launch("k", {data, map}, {.block = {1, 1, 1}});
  CHECK(bench.run().gpus[0].hbm_read_bytes == 64 * 4 * 32);
}

TEST_CASE("tensor copy: every row costs a request for each line that it touches", "[sim][timing]") {
  // The same 8 KiB as 64 rows of 128 bytes and as 256 rows of 32 bytes: 192 requests more, at 128 B / 64 B
  // per clk.
  const auto clk = [](uint32_t width, uint32_t rows) {
    const std::string body = R"(
    .shared .align 1024 .b8 box[8192]; .shared .align 8 .b64 done;
    mbarrier.init.shared::cta.b64 [done], 1; mov.u32 %r10, 0; mov.u32 %r11, 0; mov.u32 %r3, 0;
  AGAIN:
    mov.u64 %rd5, %clock64;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [done], 8192;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [box], [%rd1, {%r10, %r11}], [done];
  POLL:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [done], %r3; @!%p1 bra POLL;
    mov.u64 %rd6, %clock64; sub.u64 %rd6, %rd6, %rd5; st.global.u64 [%rd0], %rd6;
    add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 2; @%p2 bra AGAIN;   // the second one hits L2
  )";
    Bench bench(entry("k", 2, body));
    const DeviceAddress data = bench.allocate(1 << 20), out = bench.allocate(8), map = bench.allocate(128);
    TensorMapFields fields{.type = TensorType::u8, .rank = 2, .address = data};
    fields.dims = {1024, 1024};
    fields.strides = {0, 1024};
    fields.box = {width, rows};
    const auto encoded = encode_tensor_map(fields);
    REQUIRE(encoded);
    bench.write(map, std::vector<uint8_t>(encoded->bytes.begin(), encoded->bytes.end()));
    bench.launch("k", {out, map}, {.block = {1, 1, 1}});
    bench.run();
    return static_cast<double>(bench.read<uint64_t>(out, 1)[0]);
  };
  CHECK(clk(32, 256) - clk(128, 64) == Approx(192 * 2).margin(40));
}

TEST_CASE("tensor copy: what it cannot do is said", "[sim][errors]") {
  const auto error = [](uint32_t rank, const std::function<void(TensorMapFields&)>& change, bool good_map,
                        const std::string& reduction) {
    Bench bench(reduction.empty() ? load_kernel(rank) : store_kernel(rank, reduction));
    const DeviceAddress data = bench.allocate(4096), out = bench.allocate(kSharedBytes),
                        map = bench.allocate(128), at = bench.allocate(32);
    TensorMapFields fields{.type = TensorType::u32, .rank = 2, .address = data};
    fields.dims = {32, 16};
    fields.strides = {0, 128};
    fields.box = {32, 8};
    change(fields);
    const auto encoded = encode_tensor_map(fields);
    REQUIRE(encoded);
    if (good_map) bench.write(map, std::vector<uint8_t>(encoded->bytes.begin(), encoded->bytes.end()));
    bench.launch("k", {out, map, at}, {.block = {128, 1, 1}, .dynamic_shared = kSharedBytes});
    return bench.run_error();
  };
  const auto keep = [](TensorMapFields&) {};
  CHECK(error(2, keep, false, "").find("are no tensor map") != std::string::npos);
  CHECK(error(3, keep, true, "").find("3 coordinates for a tensor map of rank 2") != std::string::npos);
  CHECK(error(
            2,
            [](TensorMapFields& f) {
              f.dims[1] = 200;
              f.box[1] = 64;
            },
            true, "")
            .find("touches unmapped global address") != std::string::npos);
  CHECK(error(
            2, [](TensorMapFields& f) { f.type = TensorType::f32; }, true, "xor")
            .find("does not take elements of the type") != std::string::npos);
}

TEST_CASE("tensor copy, wgmma: forms that are not executed are refused by name", "[sim][errors]") {
  const std::vector<std::pair<std::string, std::string>> forms = {
      {"cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], "
       "[%rd0, {%r1, %r1, %r1}], [%r1], {%h1};",
       "im2col"},
      {"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd0, %rd0, %r1, 0, %p1, "
       "1, 1, "
       "0, 0;",
       "wgmma.mma_async.sp"},
      {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd1, %fd2}, {%fd1}, {%fd1}, {%fd1, %fd2};",
       "mma.sync"},
  };
  for (const auto& [form, name] : forms) {
    Bench bench(entry("k", 1, "mov.u32 %r1, 0; mov.b16 %h1, 0;\n" + form + "\n"));
    bench.launch("k", {0}, {.block = {128, 1, 1}});
    const std::string error = bench.run_error();
    CAPTURE(error);
    CHECK(error.find(name) != std::string::npos);
    CHECK(error.find("is not executed by this version") != std::string::npos);
  }
}
