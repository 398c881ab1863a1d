// Simulated time of small kernels against the machine's figures, and what must not change it.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "bench.hpp"
#include "ptx_frontend/frontend.hpp"
#include "support/data_path.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;

namespace {

/// Cycles between two reads of %clock64 around `code` repeated `times`, in one thread.
uint64_t cycles_of(const std::string& setup, const std::string& code, int times) {
  std::string body = setup + "mov.u64 %rd30, %clock64;\n";
  for (int i = 0; i < times; ++i) body += code;
  body +=
      "mov.u64 %rd31, %clock64; sub.u64 %rd32, %rd31, %rd30; st.global.u64 [%rd0], %rd32;\n"
      "st.global.u64 [%rd0+8], %rd5;\n";
  Bench bench(entry("k", 1, body));
  const auto out = bench.allocate(4096);
  bench.write<uint64_t>(out + 1024, {out + 1024});  // a pointer to itself
  bench.launch("k", {out}, {.block = {1, 1, 1}});
  bench.run();
  return bench.read<uint64_t>(out, 1)[0];
}

const ptxwire::models::Machine& machine() {
  static const auto cluster = std::make_unique<Bench>("");
  return cluster->cluster().machine();
}

/// Two kernels on two GPUs: arithmetic, shared memory, barriers, atomics, local and remote stores, flags.
const std::string& mixed_module() {
  static const std::string text = entry("mixed", 3, R"(
  .shared .align 16 .b8 tile[4096];
  mov.u32 %r2, 0; mov.u32 %r9, %ctaid.x;
  mov.u32 %r3, tile; mad.lo.u32 %r3, %r0, 16, %r3;
  mad.lo.u32 %r4, %r9, 256, %r0; mad.wide.u32 %rd3, %r4, 16, %rd0; mad.wide.u32 %rd4, %r4, 16, %rd1;
LOOP:
  ld.global.L1::no_allocate.v4.u32 {%r5, %r6, %r7, %r8}, [%rd3];
  add.u32 %r5, %r5, %r2; mad.lo.u32 %r6, %r6, 17, %r5; add.u32 %r7, %r7, %r6;
  st.shared.v4.u32 [%r3], {%r5, %r6, %r7, %r8};
  bar.sync 0;
  ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r3];
  st.global.v4.u32 [%rd4], {%r5, %r6, %r7, %r8};
  st.global.v4.u32 [%rd3], {%r5, %r6, %r7, %r8};
  red.global.add.u32 [%rd2+128], %r5;
  bar.sync 0;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra NEXT;
  red.release.sys.global.add.u32 [%rd2], 1;
  mad.lo.u32 %r10, %r2, 8, 8;
WAIT:
  ld.acquire.sys.global.u32 %r11, [%rd2];
  setp.lt.u32 %p2, %r11, %r10;
  @%p2 bra WAIT;
NEXT:
  bar.sync 0;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p3, %r2, 12;
  @%p3 bra LOOP;
)");
  return text;
}

struct Mixed {
  RunReport report;
  std::vector<uint32_t> bytes;
};

Mixed run_mixed(const RunLimits& limits, const std::string& module = mixed_module(),
                const std::string& kernel = "mixed") {
  Bench bench(module, 2);
  std::vector<DeviceAddress> data, copies, flags;
  for (uint32_t gpu = 0; gpu < 2; ++gpu) {
    data.push_back(bench.allocate(65536, gpu));
    copies.push_back(bench.allocate(65536, gpu));
    flags.push_back(bench.allocate(512, gpu));
  }
  for (uint32_t gpu = 0; gpu < 2; ++gpu)
    bench.launch(kernel, {data[gpu], copies[1 - gpu], flags[gpu]},
                 {.grid = {8, 1, 1}, .block = {256, 1, 1}, .gpu = gpu});
  Mixed result{bench.run(limits), {}};
  for (uint32_t gpu = 0; gpu < 2; ++gpu)
    for (const DeviceAddress address : {data[gpu], copies[gpu]}) {
      const auto words = bench.read<uint32_t>(address, 16384);
      result.bytes.insert(result.bytes.end(), words.begin(), words.end());
    }
  return result;
}

void check_same(const RunReport& a, const RunReport& b) {
  CHECK(a.time == b.time);
  CHECK(a.warp_instructions == b.warp_instructions);
  CHECK(a.events == b.events);
  REQUIRE(a.launches.size() == b.launches.size());
  for (size_t i = 0; i < a.launches.size(); ++i) {
    CHECK(a.launches[i].started == b.launches[i].started);
    CHECK(a.launches[i].finished == b.launches[i].finished);
    CHECK(a.launches[i].warp_instructions == b.launches[i].warp_instructions);
    CHECK(a.launches[i].profile[0].time == b.launches[i].profile[0].time);
  }
  for (size_t g = 0; g < a.gpus.size(); ++g) {
    CHECK(a.gpus[g].l2_read_bytes == b.gpus[g].l2_read_bytes);
    CHECK(a.gpus[g].nvlink_sent_wire_bytes == b.gpus[g].nvlink_sent_wire_bytes);
  }
}

double difference(Picoseconds a, Picoseconds b) {
  return std::abs(static_cast<double>(a.value - b.value)) / static_cast<double>(a.value);
}

}  // namespace

TEST_CASE("time: a chain of dependent operations costs the latency of each", "[sim]") {
  const auto& sm = machine().sm;
  const auto chain = [](const std::string& setup, const std::string& code) {
    return static_cast<double>(cycles_of(setup, code, 40) - cycles_of(setup, code, 20)) / 20;
  };
  using ptxwire::models::OperationClass;
  const auto latency = [&](OperationClass c) { return sm.timing[static_cast<size_t>(c)].latency_clk; };
  CHECK(chain("mov.u32 %r1, 1;", "add.u32 %r1, %r1, %r0;\n") == latency(OperationClass::alu));
  CHECK(chain("mov.f32 %f1, 0f3F800000;", "fma.rn.f32 %f1, %f1, %f1, %f1;\n") ==
        latency(OperationClass::fp32));
  CHECK(chain(".shared .align 4 .u32 s; mov.u32 %r1, s; st.shared.u32 [%r1], %r1;",
              "ld.shared.u32 %r1, [%r1];\n") == Approx(sm.shared_latency_clk).margin(0.2));
  const std::string pointer = "add.u64 %rd5, %rd0, 1024;";
  CHECK(chain(pointer, "ld.global.u64 %rd5, [%rd5];\n") == sm.l1_hit_latency_clk);
  // Past L1 it is the way to the slice, the access and the way back, near or far.
  const auto& l2 = machine().l2;
  const double near = l2.request_latency_clk + l2.access_latency_clk + l2.response_latency_clk;
  const double measured = chain(pointer, "ld.volatile.global.u64 %rd5, [%rd5];\n");
  CHECK(measured >= near);
  CHECK(measured <= near + l2.far_extra_clk + 10);
}

TEST_CASE("time: nanosleep sleeps, %clock64 and %globaltimer agree", "[sim]") {
  const double hertz = machine().sm.clock_hz;
  const uint64_t slept = cycles_of("", "nanosleep.u32 10000;\n", 1);
  CHECK(static_cast<double>(slept) == Approx(1e-5 * hertz).epsilon(0.01));
  const std::string body = R"(
  mov.u64 %rd2, %globaltimer; mov.u64 %rd3, %clock64;
  nanosleep.u32 50000;
  mov.u64 %rd4, %globaltimer; mov.u64 %rd5, %clock64;
  sub.u64 %rd6, %rd4, %rd2; sub.u64 %rd7, %rd5, %rd3;
  st.global.u64 [%rd0], %rd6; st.global.u64 [%rd0+8], %rd7;
)";
  Bench bench(entry("k", 1, body));
  const auto out = bench.allocate(16);
  bench.launch("k", {out}, {.block = {1, 1, 1}});
  bench.run();
  const auto times = bench.read<uint64_t>(out, 2);
  CHECK(static_cast<double>(times[0]) == Approx(static_cast<double>(times[1]) / hertz * 1e9).margin(3));
}

TEST_CASE("time: %clock64 never goes backwards, also across memory and barriers", "[sim]") {
  const std::string body = R"(
  mov.u64 %rd2, %clock64; mov.u32 %r1, 0; mov.u32 %r2, 0;
LOOP:
  atom.global.add.u32 %r3, [%rd0+2048], 1;
  bar.sync 0;
  ld.volatile.global.u32 %r4, [%rd0+2048];
  mov.u64 %rd3, %clock64;
  setp.le.u64 %p1, %rd3, %rd2; @%p1 add.u32 %r1, %r1, 1;
  mov.u64 %rd2, %rd3;
  add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 20; @%p2 bra LOOP;
  mad.wide.u32 %rd1, %r0, 4, %rd0; st.global.u32 [%rd1], %r1;
)";
  const auto out = words_of(entry("k", 1, body), 520, {.block = {256, 1, 1}});
  for (uint32_t tid = 0; tid < 256; ++tid) CHECK(out[tid] == 0);
}

TEST_CASE("time: runs repeat exactly, on one thread and on two", "[sim]") {
  RunLimits limits = Bench::default_limits();
  const Mixed first = run_mixed(limits);
  const Mixed again = run_mixed(limits);
  limits.threads = 2;
  const Mixed threads = run_mixed(limits);
  check_same(first.report, again.report);
  check_same(first.report, threads.report);
  CHECK(first.bytes == again.bytes);
  CHECK(first.bytes == threads.bytes);
  CHECK(first.report.time > ptxwire::models::microseconds(10));
}

TEST_CASE("time: renaming every symbol of a kernel changes no number", "[sim]") {
  std::string renamed = mixed_module();
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = renamed.find(from, at)) != std::string::npos; at += to.size())
      renamed.replace(at, from.size(), to);
  };
  replace("mixed", "zebra_7");
  replace("tile", "a_b_c");
  replace("LOOP", "QX");
  replace("WAIT", "YY_1");
  replace("NEXT", "B0");
  replace("%rd", "%address");
  replace("%r", "%word");
  check_same(run_mixed(Bench::default_limits()).report,
             run_mixed(Bench::default_limits(), renamed, "zebra_7").report);
}

TEST_CASE("time: parking polls changes neither results nor, beyond 0.5 %, time", "[sim]") {
  RunLimits limits = Bench::default_limits();
  const Mixed parked = run_mixed(limits);
  limits.park_polls = false;
  const Mixed polled = run_mixed(limits);
  CHECK(parked.bytes == polled.bytes);
  CHECK(difference(polled.report.time, parked.report.time) < 0.005);
  CHECK(polled.report.parked_instructions == 0);
}

TEST_CASE("time: a long wait on a flag costs the same time and instructions, parked or not", "[sim]") {
  // What is stored beside the flag in the end is the flag's value, 9.
  struct Row {
    std::string what, waiter;
    uint32_t threads = 1;
  };
  const std::vector<Row> rows = {
      {"one place", R"(
LOOP: ld.acquire.sys.global.u32 %r1, [%rd0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra LOOP;
  st.global.u32 [%rd0+128], %r1;
)"},
      {"three places in turn, the flag is the second", R"(
  mov.u32 %r2, 0;
LOOP: add.u32 %r2, %r2, 1; setp.eq.u32 %p2, %r2, 3; selp.u32 %r2, 0, %r2, %p2;
  shl.b32 %r3, %r2, 5; cvt.u64.u32 %rd1, %r3; add.u64 %rd1, %rd1, %rd0; sub.u64 %rd1, %rd1, 32;
  setp.eq.u32 %p2, %r2, 0; @%p2 add.u64 %rd1, %rd1, 96;
  ld.acquire.sys.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra LOOP;
  st.global.u32 [%rd0+128], %r1;
)"},
      {"one lane looks, the others hear of it", R"(
  mov.u32 %r4, %laneid; setp.ne.u32 %p2, %r4, 3; mov.u32 %r1, 0;
LOOP: @%p2 bra SKIP;
  ld.acquire.sys.global.u32 %r1, [%rd0];
SKIP: shfl.sync.idx.b32 %r2, %r1, 3, 31, -1; setp.eq.u32 %p1, %r2, 0; @%p1 bra LOOP;
  st.global.u32 [%rd0+128], %r2;
)",
       32},
      {"every lane in turn", R"(
  mov.u32 %r4, %laneid; mov.u32 %r1, 0; mov.u32 %r5, 0;
LOOP: add.u32 %r5, %r5, 1; and.b32 %r5, %r5, 3; setp.ne.u32 %p2, %r4, %r5; @%p2 bra SKIP;
  ld.acquire.sys.global.u32 %r1, [%rd0];
SKIP: shfl.sync.idx.b32 %r2, %r1, 2, 31, -1; setp.eq.u32 %p1, %r2, 0; @%p1 bra LOOP;
  st.global.u32 [%rd0+128], %r2;
)",
       32},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    const std::string writer = "nanosleep.u32 40000; st.release.sys.global.u32 [%rd0], 9;\n";
    const auto run = [&](bool park) {
      Bench bench(entry("waiter", 1, row.waiter) + entry("writer", 1, writer), 2);
      const auto flag = bench.allocate(256);
      bench.launch("waiter", {flag}, {.block = {row.threads, 1, 1}});
      bench.launch("writer", {flag}, {.block = {1, 1, 1}, .gpu = 1});
      RunLimits limits = Bench::default_limits();
      limits.park_polls = park;
      RunReport report = bench.run(limits);
      CHECK(bench.read<uint32_t>(flag + 128, 1)[0] == 9);
      return report;
    };
    const RunReport parked = run(true);
    const RunReport polled = run(false);
    CHECK(difference(polled.time, parked.time) < 0.005);
    CHECK(polled.parked_instructions == 0);
    CHECK(parked.parked_instructions > 100);
    const auto instructions = static_cast<double>(polled.warp_instructions);
    CHECK(static_cast<double>(parked.warp_instructions) == Approx(instructions).epsilon(0.02));
    CHECK(parked.events < polled.events / 2);
  }
}

TEST_CASE("time: a shorter quantum changes the time of a mixed kernel by less than 1 %", "[sim]") {
  RunLimits limits = Bench::default_limits();
  const Mixed usual = run_mixed(limits);
  limits.quantum_cycles = 16;
  const Mixed shorter = run_mixed(limits);
  CHECK(usual.bytes == shorter.bytes);
  CHECK(difference(shorter.report.time, usual.report.time) < 0.01);
}

TEST_CASE("time: the flag ping-pong takes as long with parked polls as without", "[sim]") {
  const auto elapsed = [](bool park) {
    auto path = ptxwire::find_data_file("kernels/micro/ping_pong.ptx");
    REQUIRE(path);
    auto program = ptxwire::ptx::load_program({*path});
    REQUIRE(program);
    auto cluster = Cluster::create(machine(), 2);
    REQUIRE(cluster);
    Cluster& node = **cluster;
    const auto loaded = std::make_shared<const ptxwire::ptx::Program>(*std::move(program));
    REQUIRE(node.load(loaded));
    DeviceAddress flag[2];
    DeviceAddress out[2];
    for (uint32_t gpu = 0; gpu < 2; ++gpu) {
      flag[gpu] = *node.allocate(GpuId{gpu}, 64, "flag");
      out[gpu] = *node.allocate(GpuId{gpu}, 64, "cycles");
    }
    for (uint32_t gpu = 0; gpu < 2; ++gpu) {
      LaunchConfig config;
      config.kernel = "ping_pong";
      config.parameters.resize(32);
      const uint64_t words[] = {flag[gpu], flag[1 - gpu], uint64_t{gpu} << 32 | 200, out[gpu]};
      std::memcpy(config.parameters.data(), words, 32);
      REQUIRE(node.launch(node.create_stream(GpuId{gpu}), config));
    }
    RunLimits limits = Bench::default_limits();
    limits.park_polls = park;
    auto report = node.run(limits);
    if (!report) FAIL(report.error().to_string());
    uint32_t last = 0;
    REQUIRE(node.read(flag[0], {reinterpret_cast<uint8_t*>(&last), 4}));
    CHECK(last == 200);
    return report->time;
  };
  const Picoseconds with = elapsed(true);
  const Picoseconds without = elapsed(false);
  CHECK(difference(without, with) < 0.005);
}
