// Branch targets, reconvergence points and poll loops of real shapes of code.
#include "tests/ptx_frontend/lower/lower_text.hpp"

namespace ptxwire::ptx {

using namespace test;  // NOLINT(google-build-using-namespace)

namespace {

uint32_t position_of(const Program& program, std::string_view text, size_t which = 0) {
  for (uint32_t pc = 0; pc < program.texts.size(); ++pc)
    if (program.texts[pc] == text && which-- == 0) return pc;
  FAIL("no " << text);
  return 0;
}

const char* const kSpin =
    ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
    ".global .align 1 .b8 message[3] = {104, 105, 0};\n"
    ".visible .entry k(.param .u64 flag, .param .u32 wanted) {\n"
    ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<12>;\n"
    "ld.param.u64 %rd1, [flag]; ld.param.u32 %r1, [wanted];\n"
    "mov.u64 %rd2, %clock64;\n"
    "LOOP:\n"
    "ld.acquire.sys.global.s32 %r2, [%rd1];\n"
    "setp.eq.s32 %p1, %r2, %r1;\n"
    "@%p1 bra DONE;\n"
    "mov.u64 %rd3, %clock64;\n"
    "sub.s64 %rd4, %rd3, %rd2;\n"
    "setp.lt.s64 %p2, %rd4, 200000000;\n"
    "@%p2 bra LOOP;\n"
    "mov.u64 %rd5, message; mov.b64 %rd6, 0;\n"
    "{ .param .b64 p0; .param .b64 p1; .param .b32 r0; st.param.b64 [p0], %rd5; st.param.b64 [p1], %rd6;\n"
    "call.uni (r0), vprintf, (p0, p1); ld.param.b32 %r3, [r0]; }\n"
    "trap;\n"
    "DONE:\n"
    "st.global.s32 [%rd1], %r2;\n"
    "ret;\n}\n";

}  // namespace

TEST_CASE("branches join where their paths meet", "[contract]") {
  const Program program = lower_body(
      "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0;\n@%p1 bra ELSE;\nadd.s32 %r2, %r1, 1;\nbra END;\n"
      "ELSE:\nsub.s32 %r2, %r1, 1;\nEND:\nst.global.b32 [out], %r2;\nret;");
  const std::vector<uint32_t> branches = find_ops(program, Opcode::bra);
  REQUIRE(branches.size() == 2);
  CHECK(program.code[branches[0]].target == position_of(program, "sub.s32"));
  CHECK(program.code[branches[0]].reconvergence == position_of(program, "st.global.b32"));
  CHECK(program.code[branches[1]].target == position_of(program, "st.global.b32"));
  CHECK(program.code[branches[1]].reconvergence == kNoPc);  // unconditional: no divergence
}

TEST_CASE("a branch around an early return joins at the end of the function", "[contract]") {
  const Program program = lower_body(
      "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0;\n@%p1 bra SKIP;\nst.global.b32 [out], "
      "%r1;\nret;\nSKIP:\n"
      "st.global.b32 [out+4], %r1;\nret;");
  CHECK(only(program, Opcode::bra).reconvergence == kNoPc);
}

// The work is the only way out, so it post-dominates the test for the lock: but on another turn.
TEST_CASE("threads that take a lock do not wait in the loop for those that spin", "[contract]") {
  const Program program = lower_body(R"(
  mov.u32 %r1, %tid.x;
SPIN:
  atom.shared.cas.b32 %r2, [%r1], 0, 1;
  setp.ne.u32 %p1, %r2, 0;
  @%p1 bra AGAIN;
  ld.shared.u32 %r3, [%r1+4];
  setp.gt.s32 %p2, %r3, 31;
  atom.shared.exch.b32 %r2, [%r1], 0;
  @%p2 bra AGAIN;
  bra OUT;
AGAIN:
  nanosleep.u32 100;
  bra SPIN;
OUT:
  st.global.b32 [out], %r1;
  ret;
)");
  const std::vector<uint32_t> branches = find_ops(program, Opcode::bra);
  REQUIRE(branches.size() == 4);
  for (const uint32_t test : {branches[0], branches[1]})
    CHECK(program.code[test].reconvergence == branches[2]);  // "bra OUT", which is no part of the loop
}

TEST_CASE("a branch that skips the rest of a turn joins at the next one", "[contract]") {
  const Program program = lower_body(R"(
  mov.u32 %r1, %tid.x; mov.u32 %r2, 0;
LOOP:
  and.b32 %r3, %r2, %r1;
  setp.eq.u32 %p1, %r3, 0;
  @%p1 bra NEXT;
  add.u32 %r1, %r1, 3;
NEXT:
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p2, %r2, 10;
  @%p2 bra LOOP;
  st.global.b32 [out], %r1;
  ret;
)");
  const std::vector<uint32_t> branches = find_ops(program, Opcode::bra);
  REQUIRE(branches.size() == 2);
  CHECK(program.code[branches[0]].reconvergence == position_of(program, "add.u32", 1));
  CHECK(program.code[branches[1]].reconvergence == position_of(program, "st.global.b32"));
}

TEST_CASE("labels of sibling blocks do not meet", "[contract]") {
  const std::string wait =
      "{ .reg .pred P1;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%r1], %r2;\n@P1 bra DONE;\n"
      "bra LAB_WAIT;\nDONE:\n}\n";
  const Program program = lower_body("mov.u32 %r1, 0; mov.u32 %r2, %tid.x;\n" + wait + wait + "ret;");
  const std::vector<uint32_t> waits = find_ops(program, Opcode::mbarrier_try_wait);
  REQUIRE(waits.size() == 2);
  for (const uint32_t pc : waits) {
    CHECK(program.code[pc + 1].target == pc + 3);
    CHECK(program.code[pc + 1].reconvergence == pc + 3);
    CHECK(program.code[pc + 2].target == pc);
  }
  REQUIRE(program.poll_loops.size() == 2);
  for (size_t k = 0; k < 2; ++k) {
    CHECK(program.poll_loops[k].header == waits[k]);
    CHECK(program.poll_loops[k].back_edge == waits[k] + 2);
    CHECK(program.poll_loops[k].state.empty());
    CHECK_FALSE(program.poll_loops[k].reads_clock);
  }
}

TEST_CASE("a label at the end and a missing ret get an implicit return", "[contract]") {
  const Program program = lower_body(
      "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bra END;\n"
      "st.global.b32 [out], %r1;\nEND:");
  CHECK(program.code.back().opcode == Opcode::ret);
  CHECK(only(program, Opcode::bra).target == program.code.size() - 1);
}

TEST_CASE("an indexed branch lists its targets", "[contract]") {
  const Program program = lower_body(
      "mov.u32 %r1, %tid.x;\ntable: .branchtargets A, B, A;\nbrx.idx %r1, table;\nA:\nadd.s32 %r2, %r1, "
      "1;\nbra E;\n"
      "B:\nsub.s32 %r2, %r1, 1;\nE:\nst.global.b32 [out], %r2;\nret;");
  const Op& op = only(program, Opcode::brx);
  const std::vector<Slot>& targets = program.operand_lists[op.operand_list];
  REQUIRE(targets.size() == 3);
  CHECK(constant_value(program, targets[0]) == position_of(program, "add.s32"));
  CHECK(constant_value(program, targets[1]) == position_of(program, "sub.s32"));
  CHECK(constant_value(program, targets[2]) == position_of(program, "add.s32"));
  CHECK(op.reconvergence == position_of(program, "st.global.b32"));
}

TEST_CASE("the targets of an indexed branch are those of its block", "[contract]") {
  const std::string block =
      "{\ntable: .branchtargets A, B;\nbrx.idx %r1, table;\nA:\nadd.s32 %r2, %r1, 1;\nB:\nsub.s32 %r2, %r1, "
      "1;\n}\n";
  const Program program = lower_body("mov.u32 %r1, %tid.x;\n" + block + block + "ret;");
  const std::vector<uint32_t> branches = find_ops(program, Opcode::brx);
  REQUIRE(branches.size() == 2);
  for (const uint32_t pc : branches) {
    const std::vector<Slot>& targets = program.operand_lists[program.code[pc].operand_list];
    REQUIRE(targets.size() == 2);
    CHECK(constant_value(program, targets[0]) == pc + 1);
    CHECK(constant_value(program, targets[1]) == pc + 2);
  }
}

TEST_CASE("poll loops: an acquire spin with a time-out", "[contract]") {
  const Program program = lower_text(kSpin);
  REQUIRE(program.poll_loops.size() == 1);
  const PollLoop& loop = program.poll_loops[0];
  CHECK(loop.header == position_of(program, "ld.acquire.sys.global.s32"));
  CHECK(program.code[loop.back_edge].opcode == Opcode::bra);
  CHECK(program.code[loop.back_edge].target == loop.header);
  CHECK(loop.reads_clock);
  CHECK(loop.state
            .empty());  // the start of the clock is written before the loop, the rest is made anew each turn
  REQUIRE(loop.body.size() == 1);
  CHECK(loop.body[0].first == loop.header);
  CHECK(loop.body[0].second == loop.back_edge + 1);
}

TEST_CASE("poll loops: the time-out does not move the join behind the loop", "[contract]") {
  const Program program = lower_text(kSpin);
  const uint32_t leave = find_ops(program, Opcode::bra).front();
  CHECK(program.code[leave].reconvergence == position_of(program, "st.global.s32"));
}

TEST_CASE("poll loops: what a loop carries is its state, a clock is not", "[contract]") {
  // An exponential back-off: the pause is carried from turn to turn and stays the same from some turn on.
  const Program program = lower_body(
      "mov.u32 %r1, 20; mov.u64 %rd1, %clock64;\nLOOP:\nld.volatile.global.u32 %r2, [out];\nnanosleep.u32 "
      "%r1;\n"
      "shl.b32 %r3, %r1, 1;\nmin.u32 %r1, %r3, 640;\nmov.u64 %rd1, %clock64;\nsetp.lt.u64 %p2, %rd1, 1000;\n"
      "setp.ne.and.u32 %p1, %r2, 7, %p2;\n@%p1 bra LOOP;\nst.global.b32 [out], %r1; st.global.b64 [out+8], "
      "%rd1; ret;");
  REQUIRE(program.poll_loops.size() == 1);
  const PollLoop& loop = program.poll_loops[0];
  REQUIRE(loop.state.size() == 1);
  const Op& pause = only(program, Opcode::min);
  CHECK(loop.state[0].kind == Slot::Kind::reg);
  CHECK(loop.state[0].index == pause.dst[0].index);
  CHECK(loop.state[0].rows == 1);
  CHECK(loop.reads_clock);
}

TEST_CASE("poll loops: a loop that counts its turns is none", "[contract]") {
  const auto loops = [](const std::string& step) {
    return lower_body("mov.u32 %r1, 0; mov.u32 %r4, 0;\nLOOP:\nld.volatile.global.u32 %r2, [out];\n" + step +
                      "\nsetp.ne.u32 %p1, %r2, %r1;\n@%p1 bra LOOP;\nst.global.b32 [out], %r1; ret;")
        .poll_loops.size();
  };
  CHECK(loops("add.s32 %r1, %r1, 1;") == 0);
  CHECK(loops("add.s32 %r3, %r1, 4; mov.u32 %r1, %r3;") == 0);
  CHECK(loops("add.s32 %r1, %r1, %r4;") == 0);     // a stream: by the same in every turn
  CHECK(loops("add.s32 %r1, %r1, %r2;") == 1);     // by what was read, which may be nothing
  CHECK(loops("@%p1 add.s32 %r1, %r1, 1;") == 1);  // not in every turn
  CHECK(loops("add.s32 %r1, %r4, 1;") == 1);       // the same value in every turn
  CHECK(loops("xor.b32 %r1, %r1, 1;") == 1);
}

TEST_CASE("poll loops: loops that do work are none", "[contract]") {
  const auto loop = [](const std::string& work) {
    return lower_body(
               "mov.u32 %r1, %tid.x; mov.b32 %f1, %r1;\nLOOP:\nld.acquire.gpu.global.u32 %r2, [out];\n" +
               work + "\nsetp.ne.u32 %p1, %r2, 7;\n@%p1 bra LOOP;\nst.global.f32 [out], %f1; ret;")
        .poll_loops.size();
  };
  CHECK(loop("") == 1);
  CHECK(loop("nanosleep.u32 100;") == 1);
  CHECK(loop("bar.warp.sync -1;") == 1);
  CHECK(loop("st.global.u32 [out+4], %r2;") == 0);
  CHECK(loop("atom.global.add.u32 %r3, [out+4], 1;") == 0);
  CHECK(loop("bar.sync 0;") == 0);
  CHECK(loop("fma.rn.f32 %f1, %f1, %f1, %f1;") == 0);
}

TEST_CASE("poll loops: a loop without a load is none, a wait for a clock is one", "[contract]") {
  CHECK(
      lower_body("mov.u32 %r1, 0;\nLOOP:\nadd.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, 9; @%p1 bra LOOP;\nret;")
          .poll_loops.empty());
  CHECK(lower_body("LOOP:\nmov.u64 %rd1, %globaltimer; setp.lt.u64 %p1, %rd1, 9; @%p1 bra LOOP;\nret;")
            .poll_loops.size() == 1);
}

TEST_CASE("poll loops: of nested loops only the inner one counts", "[contract]") {
  const Program program = lower_body(
      "mov.u32 %r1, 0;\nOUTER:\nINNER:\nld.acquire.gpu.global.u32 %r2, [out];\nsetp.ne.u32 %p1, %r2, %r1;\n"
      "@%p1 bra INNER;\nadd.s32 %r1, %r1, 1;\nsetp.lt.u32 %p2, %r1, 8;\n@%p2 bra OUTER;\nret;");
  // Both loops share their header here, so neither has one back edge only; a turn of the outer one is real
  // work.
  CHECK(program.poll_loops.empty());
  const Program apart = lower_body(
      "mov.u32 %r1, 0;\nOUTER:\nadd.s32 %r1, %r1, 1;\nINNER:\nld.acquire.gpu.global.u32 %r2, [out];\n"
      "setp.ne.u32 %p1, %r2, %r1;\n@%p1 bra INNER;\nsetp.lt.u32 %p2, %r1, 8;\n@%p2 bra OUTER;\nret;");
  REQUIRE(apart.poll_loops.size() == 1);
  CHECK(apart.poll_loops[0].header == position_of(apart, "ld.acquire.gpu.global.u32"));
}

}  // namespace ptxwire::ptx
