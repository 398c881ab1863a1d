// Issue slots of single instructions as sm_90 machine code has them, and the limits of the register estimate.
#include "ptx_frontend/lower/static_facts.hpp"

#include "tests/ptx_frontend/lower/lower_text.hpp"

namespace ptxwire::ptx {

using namespace test;  // NOLINT(google-build-using-namespace)

namespace {

/// The last op with this spelling in a body where %r1, %r2, %rd1, %rd2 hold run-time values.
Op op_of(const std::string& body, std::string_view text) {
  const Program program = lower_body(
      "mov.b32 %r1, %tid.x; mov.b32 %r2, %tid.y; mov.b64 %rd1, %clock64; mov.b64 %rd2, %clock64;\n" + body +
      "\nret;");
  for (size_t pc = program.code.size(); pc-- > 0;)
    if (program.texts[pc] == text) return program.code[pc];
  FAIL("no " << text);
  return {};
}

}  // namespace

TEST_CASE("static facts: what the back end removes takes no slot", "[contract]") {
  CHECK(op_of("mov.b32 %r3, %r1;", "mov.b32").issue_slots == 0);
  CHECK(op_of("mov.b64 %rd3, {%r1, %r2};", "mov.b64").issue_slots == 0);
  CHECK(op_of("cvta.to.global.u64 %rd3, %rd1;", "cvta.to.global.u64").issue_slots == 0);
  CHECK(op_of("cvt.u64.u32 %rd3, %r1;", "cvt.u64.u32").issue_slots == 0);
  const Op folded = op_of("add.s64 %rd3, %rd1, 16; ld.global.b32 %r3, [%rd3];", "add.s64");
  CHECK(folded.issue_slots == 0);
  CHECK(folded.latency == LatencyClass::none);
}

TEST_CASE("static facts: 64-bit integers are pairs", "[contract]") {
  CHECK(op_of("add.s32 %r3, %r1, %r2;", "add.s32").issue_slots == 1);
  CHECK(op_of("add.s64 %rd3, %rd1, %rd2;", "add.s64").issue_slots == 2);
  CHECK(op_of("and.b64 %rd3, %rd1, %rd2;", "and.b64").issue_slots == 2);
  CHECK(op_of("setp.lt.s64 %p1, %rd1, %rd2;", "setp.lt.s64").issue_slots == 2);
  CHECK(op_of("mul.lo.s64 %rd3, %rd1, %rd2;", "mul.lo.s64").issue_slots >= 3);
  CHECK(op_of("div.s64 %rd3, %rd1, %rd2;", "div.s64").issue_slots >
        op_of("div.s32 %r3, %r1, %r2;", "div.s32").issue_slots);
}

TEST_CASE("static facts: a product and the sum that uses it are one instruction", "[contract]") {
  const std::string body = "mul.wide.s32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3; st.global.b32 [%rd4], %r1;";
  CHECK(op_of(body, "mul.wide.s32").issue_slots == 0);
  CHECK(op_of(body, "add.s64").issue_slots == 1);
  // Used twice, the product has to exist by itself.
  const std::string twice = body + " add.s64 %rd5, %rd2, %rd3; st.global.b32 [%rd5], %r1;";
  CHECK(op_of(twice, "mul.wide.s32").issue_slots == 1);
}

// The counts below are those of ptxas 13 for sm_90a on the same PTX.
TEST_CASE("static facts: a branch around a few ops becomes predicates", "[contract]") {
  const auto branch_of = [](const std::string& body) {
    const Program program = lower_body("mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x;\n" + body);
    return program.code[find_ops(program, Opcode::bra).front()];
  };
  const std::string store = "st.global.b32 [out], %r1;\n";
  const std::string end = "END: add.s32 %r3, %r1, 1; st.global.b32 [out], %r3; ret;";
  const std::string compare = "setp.eq.u32 %p1, %r1, 0; @%p1 bra END;\n";
  const Op skipped = branch_of(compare + store + end);
  CHECK(skipped.issue_slots == 0);
  CHECK(skipped.latency == LatencyClass::none);
  // A body that is long, or that threads must enter together, stays a branch, with BSSY and BSYNC.
  CHECK(branch_of(compare + store + store + store + store + store + end).issue_slots == 3);
  CHECK(branch_of(compare + "bar.sync 0;\n" + end).issue_slots == 3);
  // No thread parts from the others on a condition that is the same for all.
  CHECK(branch_of("setp.eq.u32 %p1, %r2, 64; @%p1 bra END;\nbar.sync 0;\n" + end).issue_slots == 1);
  // A branch to the return is an exit.
  CHECK(branch_of(compare + store + store + store + store + store + "END: ret;").issue_slots == 1);
}

TEST_CASE("static facts: warp-wide ops are tested for whole warps where a part may come", "[contract]") {
  const std::string shuffle = "shfl.sync.idx.b32 %r3, %r1, 0, 31, -1;\n";
  CHECK(op_of(shuffle, "shfl.sync.idx.b32").issue_slots == 1);
  const std::string part = "setp.lt.u32 %p1, %r1, 32; @%p1 bra END;\n" + shuffle +
                           "st.global.b32 [out], %r3;\n" +
                           "END: add.s32 %r4, %r1, 1; st.global.b32 [out], %r4;";
  CHECK(op_of(part, "shfl.sync.idx.b32").issue_slots == 3);  // UMOV, BRA.DIV, SHFL
}

TEST_CASE("static facts: what orders, divides and copies in bulk", "[contract]") {
  CHECK(op_of("fence.acq_rel.gpu;", "fence.acq_rel.gpu").issue_slots == 4);
  CHECK(op_of("fence.acq_rel.sys;", "fence.acq_rel.sys").issue_slots == 9);
  CHECK(op_of("st.release.sys.global.b32 [%rd1], %r1;", "st.release.sys.global.b32").issue_slots == 9);
  CHECK(op_of("ld.acquire.sys.global.b32 %r3, [%rd1];", "ld.acquire.sys.global.b32").issue_slots == 2);
  CHECK(op_of("ld.shared::cluster.b32 %r3, [%r1];", "ld.shared::cluster.b32").issue_slots == 3);
  CHECK(op_of("div.u32 %r3, %r1, %r2;", "div.u32").issue_slots == 17);
  CHECK(op_of("rem.s32 %r3, %r1, %r2;", "rem.s32").issue_slots == 20);
  CHECK(op_of("shl.b64 %rd3, %rd2, 4; add.s64 %rd4, %rd1, %rd3; st.global.b32 [%rd4], %r1;", "shl.b64")
            .issue_slots == 0);  // LEA, LEA.HI.X
  const std::string logic =
      "setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r2, 0; and.pred %p3, %p1, %p2; @%p3 st.global.b32 [out], "
      "%r1;";
  CHECK(op_of(logic, "and.pred").issue_slots == 0);
}

TEST_CASE("static facts: units", "[contract]") {
  CHECK(op_of("ld.global.b32 %r3, [%rd1];", "ld.global.b32").latency == LatencyClass::memory);
  CHECK(op_of("shfl.sync.idx.b32 %r3, %r1, 0, 31, -1;", "shfl.sync.idx.b32").latency ==
        LatencyClass::shuffle);
  CHECK(op_of("bar.sync 0;", "bar.sync").latency == LatencyClass::barrier);
  CHECK(op_of("ex2.approx.f32 %f1, %f2;", "ex2.approx.f32").latency == LatencyClass::sfu);
  CHECK(op_of("fma.rn.f32 %f1, %f2, %f2, %f2;", "fma.rn.f32").latency == LatencyClass::fp32);
  CHECK(op_of("fence.acq_rel.sys;", "fence.acq_rel.sys").latency == LatencyClass::fence);
}

TEST_CASE("static facts: the register estimate keeps to the launch bounds", "[analytic]") {
  LaunchDirectives directives;
  CHECK(estimate_registers(1, directives) == 16);
  CHECK(estimate_registers(40, directives) == 48);  // 44, in steps of 8
  CHECK(estimate_registers(1000, directives) == 255);
  directives.maxnreg = 64;
  CHECK(estimate_registers(1000, directives) == 64);
  directives.maxnreg = 0;
  directives.maxntid[0] = 1024;
  CHECK(estimate_registers(1000, directives) == 64);  // 65,536 / 1024
  directives.maxntid[0] = 800;
  // 25 warps: one scheduler has 7 and 16,384 registers, 73 a lane. ptxas 13 gives such a kernel 72.
  CHECK(estimate_registers(1000, directives) == 72);
  directives.maxntid[0] = 256;
  directives.minnctapersm = 2;
  CHECK(estimate_registers(1000, directives) == 128);  // 65,536 / 512
}

}  // namespace ptxwire::ptx
