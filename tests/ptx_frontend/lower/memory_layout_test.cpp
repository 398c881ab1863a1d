// Layouts of parameters, frames and shared memory, against C structs and the rules of the ISA.
#include <cstddef>

#include "tests/ptx_frontend/lower/lower_text.hpp"

namespace ptxwire::ptx {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST_CASE("entry parameters lie like the members of a C struct", "[contract]") {
  struct alignas(16) Bytes {
    uint8_t b[32];
  };
  struct Expected {
    uint8_t a;
    uint64_t b;
    uint16_t c;
    Bytes d;
    uint8_t e;
    float f;
    struct alignas(8) {
      float v[2];
    } g;
  };
  const Program program =
      lower_body("ret;",
                 ".param .u8 a, .param .u64 b, .param .u16 c, .param .align 16 .b8 d[32], "
                 ".param .u8 e, .param .f32 f, .param .align 8 .b8 g[8]");
  const auto& parameters = function_named(program, "k").parameters;
  REQUIRE(parameters.size() == 7);
  CHECK(parameters[0].offset == offsetof(Expected, a));
  CHECK(parameters[1].offset == offsetof(Expected, b));
  CHECK(parameters[2].offset == offsetof(Expected, c));
  CHECK(parameters[3].offset == offsetof(Expected, d));
  CHECK(parameters[4].offset == offsetof(Expected, e));
  CHECK(parameters[5].offset == offsetof(Expected, f));
  CHECK(parameters[6].offset == offsetof(Expected, g));
  CHECK(function_named(program, "k").parameter_bytes == offsetof(Expected, g) + 8);
  CHECK(parameters[3].name == "d");
  CHECK(parameters[3].bytes == 32);
}

TEST_CASE("the .align of a pointer parameter speaks of its target", "[contract]") {
  const Program program = lower_body("ret;", ".param .u32 n, .param .u64 .ptr .global .align 16 p");
  CHECK(function_named(program, "k").parameters[1].offset == 8);
}

TEST_CASE("entry parameters are read at constant offsets of the parameter space", "[contract]") {
  const Program program = lower_body(
      "ld.param.u32 %r1, [n]; mov.b64 %rd1, s; ld.param.v2.u32 {%r2, %r3}, [%rd1+-4]; cvta.param.u64 %rd2, "
      "s;\n"
      "st.global.u32 [%rd2+8], %r1; st.global.v2.u32 [%rd2], {%r2, %r3}; ret;",
      ".param .u32 n, .param .align 8 .b8 s[16]");
  const std::vector<uint32_t> loads = find_ops(program, Opcode::ld);
  REQUIRE(loads.size() == 2);
  const Op& direct = program.code[loads[0]];
  CHECK(direct.modifiers.space == Space::param);
  CHECK_FALSE(direct.frame_relative);
  CHECK(constant_value(program, direct.src[0]) + static_cast<uint64_t>(direct.offset) == 0);
  const Op& address = only(program, Opcode::mov);
  CHECK(constant_value(program, address.src[0]) == 8);
  const Op& through_register = program.code[loads[1]];
  CHECK(through_register.modifiers.space == Space::param);
  CHECK(through_register.offset == -4);
  CHECK(through_register.src[0].rows == 2);
  CHECK(constant_value(program, only(program, Opcode::cvta).src[0]) == 8);
}

TEST_CASE("a call copies each argument to where the callee reads it", "[contract]") {
  const Program program = lower_text(
      ".func (.param .align 8 .b8 ret[16]) f(.param .u8 a, .param .align 16 .b8 s[20], .param .u64 b) {\n"
      ".reg .b32 %r1; .reg .b64 %rd1; ld.param.u8 %r1, [a]; ld.param.u32 %r1, [s+16]; ld.param.u64 %rd1, "
      "[b];\n"
      "st.param.b64 [ret+8], %rd1; st.param.b32 [ret], %r1; ret; }\n"
      ".visible .entry k() { .reg .b32 %r1; .reg .b64 %rd<3>; mov.b64 %rd1, 5; mov.b32 %r1, 6;\n"
      "{ .param .b8 p0; .param .align 16 .b8 p1[20]; .param .b64 p2; .param .align 8 .b8 r0[16];\n"
      "st.param.b8 [p0], %r1; st.param.b32 [p1+16], %r1; st.param.b64 [p2], %rd1;\n"
      "call.uni (r0), f, (p0, p1, p2); ld.param.b64 %rd2, [r0+8]; }\n"
      "st.local.b64 [0], %rd2; ret; }");
  const ProgramFunction& callee = function_named(program, "f");
  // Return value first, then parameters, each at its alignment: 0..16, 16, 32..52, 56.
  REQUIRE(callee.parameters.size() == 3);
  CHECK(callee.parameters[0].offset == 16);
  CHECK(callee.parameters[1].offset == 32);
  CHECK(callee.parameters[2].offset == 56);
  CHECK(callee.frame_bytes == 64);
  const CallSite& call = program.calls[only(program, Opcode::call).target];
  REQUIRE(call.arguments.size() == 3);
  CHECK(call.arguments[0].bytes == 1);
  CHECK(call.arguments[1].bytes == 20);
  CHECK(call.arguments[2].bytes == 8);
  for (size_t k = 0; k < 3; ++k) CHECK(call.arguments[k].callee_offset == callee.parameters[k].offset);
  REQUIRE(call.results.size() == 1);
  CHECK(call.results[0].callee_offset == 0);
  CHECK(call.results[0].bytes == 16);
  // Areas of the caller are aligned, inside its frame and apart from each other.
  const ProgramFunction& caller = function_named(program, "k");
  std::vector<std::pair<uint32_t, uint32_t>> areas;
  for (const ParameterCopy& copy : call.arguments) areas.emplace_back(copy.caller_offset, copy.bytes);
  areas.emplace_back(call.results[0].caller_offset, call.results[0].bytes);
  CHECK(areas[1].first % 16 == 0);
  CHECK(areas[2].first % 8 == 0);
  for (size_t a = 0; a < areas.size(); ++a) {
    CHECK(areas[a].first + areas[a].second <= caller.frame_bytes);
    for (size_t b = 0; b < a; ++b)
      CHECK((areas[a].first + areas[a].second <= areas[b].first ||
             areas[b].first + areas[b].second <= areas[a].first));
  }
  // What is stored before the call is what the copy takes.
  for (const uint32_t pc : find_ops(program, Opcode::st)) {
    const Op& op = program.code[pc];
    if (!op.frame_relative) continue;
    CHECK(op.modifiers.space == Space::local);
    CHECK(op.latency != LatencyClass::memory);
  }
}

TEST_CASE("arguments and results in registers travel through the frame", "[contract]") {
  const Program program = lower_text(
      ".func (.reg .b32 r) f(.reg .b32 a, .reg .b64 b) { add.s32 r, a, 1; ret; }\n"
      ".visible .entry k(.param .u64 p) { .reg .b32 %r<3>; .reg .b64 %rd<3>; ld.param.u64 %rd1, [p];\n"
      "call.uni (%r1), f, (7, %rd1); st.global.b32 [%rd1], %r1; ret; }");
  const ProgramFunction& k = function_named(program, "k");
  uint32_t call_pc = k.entry_pc;
  while (program.code[call_pc].opcode != Opcode::call) ++call_pc;
  const CallSite& call = program.calls[program.code[call_pc].target];
  REQUIRE(call.arguments.size() == 2);
  REQUIRE(call.results.size() == 1);
  // Two stores feed the call, one load takes the result.
  const Op& immediate = program.code[call_pc - 2];
  CHECK(immediate.opcode == Opcode::st);
  CHECK(immediate.frame_relative);
  CHECK(constant_value(program, immediate.src[1]) == 7);
  CHECK(constant_value(program, immediate.src[0]) == call.arguments[0].caller_offset);
  CHECK(constant_value(program, program.code[call_pc - 1].src[0]) == call.arguments[1].caller_offset);
  const Op& result = program.code[call_pc + 1];
  CHECK(result.opcode == Opcode::ld);
  CHECK(constant_value(program, result.src[0]) == call.results[0].caller_offset);
  // The callee loads its parameters first and stores its result last, at the offsets the call copies.
  const ProgramFunction& f = function_named(program, "f");
  CHECK(constant_value(program, program.code[f.entry_pc].src[0]) == call.arguments[0].callee_offset);
  CHECK(constant_value(program, program.code[f.entry_pc + 1].src[0]) == call.arguments[1].callee_offset);
  CHECK(program.code[f.end_pc - 2].opcode == Opcode::st);
  CHECK(constant_value(program, program.code[f.end_pc - 2].src[0]) == call.results[0].callee_offset);
}

TEST_CASE("calls in sibling blocks use the same bytes of the frame", "[contract]") {
  std::string calls;
  for (int i = 0; i < 10; ++i)
    calls += "{ .param .align 4 .b8 p[256]; st.param.b32 [p], %r1; call.uni f, (p); }\n";
  const Program program = lower_text(
      ".func f(.param .align 4 .b8 p[256]) { ret; }\n"
      ".visible .entry k() { .reg .b32 %r1; mov.b32 %r1, 1;\n" +
      calls + "ret; }");
  CHECK(function_named(program, "k").frame_bytes == 256);
}

TEST_CASE("an indirect call takes its layout from the prototype", "[contract]") {
  const Program program = lower_text(
      ".func (.param .b32 r) f(.param .b64 a) { ret; }\n"
      ".global .align 8 .u64 table[1] = {f};\n"
      ".visible .entry k() { .reg .b64 %rd<3>; .reg .b32 %r1; ld.global.u64 %rd1, [table]; mov.b64 %rd2, 1; "
      "{\n"
      ".param .b64 p0; .param .b32 r0; st.param.b64 [p0], %rd2;\n"
      "proto: .callprototype (.param .b32 _) _ (.param .b64 _);\n"
      "call (r0), %rd1, (p0), proto; ld.param.b32 %r1, [r0]; } ret; }");
  const Op& op = only(program, Opcode::call);
  CHECK(op.src[0].kind == Slot::Kind::reg);
  const CallSite& call = program.calls[op.target];
  CHECK(call.function == UINT32_MAX);
  CHECK(call.intrinsic.empty());
  REQUIRE(call.arguments.size() == 1);
  CHECK(call.arguments[0].callee_offset == function_named(program, "f").parameters[0].offset);
  CHECK(call.arguments[0].callee_offset == 8);  // after the result, aligned
  CHECK(call.results[0].callee_offset == 0);
}

TEST_CASE("local variables are reached relative to the frame, or through its address", "[contract]") {
  const Program program = lower_body(
      ".local .align 8 .b8 depot[24]; .local .align 16 .b8 more[16];\n"
      "mov.u64 %rd1, depot; cvta.local.u64 %rd2, %rd1; st.local.u32 [more+4], %r1; st.local.u32 [%rd1+8], "
      "%r1;\n"
      "st.u32 [%rd2], %r1; cvta.local.u64 %rd3, more; st.u32 [%rd3], %r1; ret;");
  CHECK(function_named(program, "k").frame_bytes == 48);
  const std::vector<uint32_t> addresses = find_ops(program, Opcode::frame_address);
  REQUIRE(addresses.size() == 2);
  CHECK(constant_value(program, program.code[addresses[0]].src[0]) == 0);
  CHECK(constant_value(program, program.code[addresses[1]].src[0]) == 32);
  const std::vector<uint32_t> stores = find_ops(program, Opcode::st);
  REQUIRE(stores.size() == 4);
  const Op& direct = program.code[stores[0]];
  CHECK(direct.frame_relative);
  CHECK(constant_value(program, direct.src[0]) + static_cast<uint64_t>(direct.offset) == 36);
  CHECK(direct.latency == LatencyClass::memory);
  const Op& through_register = program.code[stores[1]];
  CHECK_FALSE(through_register.frame_relative);
  CHECK(through_register.modifiers.space == Space::local);
}

TEST_CASE("parameters of a function can be addressed through a register", "[contract]") {
  const Program program = lower_text(
      ".visible .func f(.param .align 4 .b8 s[64]) { .reg .b64 %rd<3>; .reg .b32 %r1;\n"
      "mov.b64 %rd1, s; ld.param.b32 %r1, [%rd1+12]; st.local.b32 [0], %r1; ret; }");
  CHECK(constant_value(program, only(program, Opcode::frame_address).src[0]) == 0);
  CHECK(only(program, Opcode::ld).modifiers.space == Space::local);
}

TEST_CASE("static shared memory is aligned and includes what callees need", "[contract]") {
  const Program program = lower_text(
      ".shared .align 4 .b8 common[12];\n.shared .align 16 .b8 unused[1000];\n"
      ".func f() { .reg .b32 %r1; .shared .align 8 .b8 own[40]; mov.u32 %r1, own; st.shared.b32 [%r1], %r1;\n"
      "st.shared.b32 [common], %r1; ret; }\n"
      ".visible .entry a() { .reg .b32 %r1; .shared .align 32 .b8 big[100]; mov.u32 %r1, big;\n"
      "st.shared.b32 [%r1], %r1; call.uni f, (); ret; }\n"
      ".visible .entry b() { .reg .b32 %r1; .shared .b8 bytes[3]; mov.u32 %r1, common; st.shared.b32 "
      "[bytes], %r1; ret; }\n"
      ".visible .entry c() { ret; }\n");
  const ProgramFunction& a = function_named(program, "a");
  CHECK(a.static_shared_bytes >= 152);
  CHECK(a.static_shared_bytes <= 152 + 31 + 7);
  CHECK(a.shared_align == 32);
  CHECK(function_named(program, "b").static_shared_bytes >= 15);
  CHECK(function_named(program, "b").static_shared_bytes < 152);
  CHECK(function_named(program, "c").static_shared_bytes == 0);
  CHECK_FALSE(a.uses_dynamic_shared);
}

TEST_CASE("dynamic shared memory starts after the static part at its own alignment", "[contract]") {
  const Program program = lower_text(
      ".extern .shared .align 128 .b8 dynamic[];\n"
      ".visible .entry k() { .reg .b32 %r<3>; .shared .align 4 .b8 fixed[20]; mov.u32 %r1, dynamic;\n"
      "mov.u32 %r2, dynamic+16; st.shared.b32 [fixed], %r1; st.shared.b32 [%r1], %r2; ret; }\n");
  const ProgramFunction& k = function_named(program, "k");
  CHECK(k.uses_dynamic_shared);
  CHECK(k.static_shared_bytes == 20);
  CHECK(k.shared_align == 128);
  const std::vector<uint32_t> moves = find_ops(program, Opcode::mov);
  REQUIRE(moves.size() == 2);
  const Constant& start = program.constants[program.code[moves[0]].src[0].index];
  CHECK(start.relocation == RelocationKind::shared_dynamic);
  CHECK(start.value == 0);
  CHECK(program.constants[program.code[moves[1]].src[0].index].value == 16);
}

}  // namespace ptxwire::ptx
