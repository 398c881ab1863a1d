// The tree that the parser builds.
#include <catch2/catch.hpp>

#include "tests/ptx_frontend/front_end_driver.hpp"

namespace ptxwire::ptx {
namespace {

using namespace test;

Checked parse_good(const std::string& text) {
  Checked parsed = parse_text(header() + text);
  INFO(parsed.rendered());
  REQUIRE_FALSE(parsed.diagnostics.has_errors());
  return parsed;
}

TEST_CASE("syntax: header", "[contract]") {
  const auto parsed =
      parse_text("// comment\n.version 8.5 /* here */\n.target sm_90a, debug\r\n.address_size 64\n");
  CHECK_FALSE(parsed.diagnostics.has_errors());
  CHECK(parsed.module.version_major == 8);
  CHECK(parsed.module.version_minor == 5);
  CHECK(parsed.module.target == "sm_90a");
  CHECK(parsed.module.target_sm == 90);
  CHECK(parsed.module.target_arch_specific);
  CHECK(parsed.module.target_debug);
}

TEST_CASE("syntax: variables and initialisers", "[contract]") {
  const auto parsed = parse_good(
      ".visible .global .align 16 .v4 .f32 a;\n"
      ".weak .const .b8 b[2][3] = {{1, 2}, {4}};\n"
      ".extern .shared .align 1024 .b8 c[];\n"
      ".global .u64 d[2] = {generic(a)+8, b};\n"
      ".global .u16 e[] = {1, 2, 65537};\n"
      ".global .b8 f[2] = {0xff(a), 0xff00(a)};\n"
      ".global .f32 g = 1.5;\n");
  const auto& symbols = parsed.module.symbols;
  REQUIRE(symbols.size() == 7);
  CHECK(symbols[0].linkage == Linkage::visible);
  CHECK(symbols[0].vector == 4);
  CHECK(symbols[0].align == 16);
  CHECK(symbols[0].bytes() == 16);
  CHECK(symbols[1].space == Space::constant);
  CHECK(symbols[1].bytes() == 6);
  REQUIRE(symbols[1].initialiser.size() == 3);
  CHECK(symbols[1].initialiser[2].offset == 3);  // row 1 begins at 3
  CHECK(symbols[1].initialiser[2].value == 4);
  CHECK(symbols[2].unsized);
  CHECK(symbols[2].linkage == Linkage::external);
  CHECK(symbols[3].initialiser[0].generic);
  CHECK(symbols[3].initialiser[0].name == "a");
  CHECK(symbols[3].initialiser[0].value == 8);
  CHECK(symbols[3].initialiser[1].offset == 8);
  CHECK_FALSE(symbols[3].initialiser[1].generic);
  CHECK(symbols[4].elements == 3);
  CHECK(symbols[4].initialiser[2].value == 1);  // 65537 modulo 2^16
  CHECK(symbols[5].initialiser[1].mask_shift == 8);
  CHECK(symbols[6].initialiser[0].value == 0x3FC00000U);
}

TEST_CASE("syntax: functions, parameters and directives", "[contract]") {
  const auto parsed = parse_good(
      ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
      ".func (.param .align 8 .b8 out[12]) f(.param .b32 x, .param .align 8 .b8 s[]);\n"
      ".visible .entry k(.param .u64 .ptr .global .align 16 p, .param .align 8 .b8 q[896])\n"
      ".maxntid 1024, 1, 1\n.minnctapersm 2\n.explicitcluster .reqnctapercluster 2\n{ ret; }\n"
      ".func (.param .align 8 .b8 out[12]) f(.param .b32 x, .param .align 8 .b8 s[]) { ret; }\n");
  REQUIRE(parsed.module.functions.size() == 4);
  const Function& kernel = parsed.module.functions[2];
  CHECK(kernel.is_entry);
  CHECK(kernel.linkage == Linkage::visible);
  CHECK(kernel.directives.maxntid[0] == 1024);
  CHECK(kernel.directives.minnctapersm == 2);
  CHECK(kernel.directives.explicit_cluster);
  CHECK(kernel.directives.reqnctapercluster[0] == 2);
  CHECK(kernel.directives.reqnctapercluster[1] == 1);
  CHECK(kernel.symbols[kernel.parameters[0]].pointer);
  CHECK(kernel.symbols[kernel.parameters[1]].bytes() == 896);
  const auto f = std::find_if(parsed.module.symbols.begin(), parsed.module.symbols.end(),
                              [](const Symbol& s) { return s.name == "f"; });
  REQUIRE(f != parsed.module.symbols.end());
  CHECK(f->function == 3);  // the definition, not the declaration
  CHECK(parsed.module.functions[0].linkage == Linkage::external);
  CHECK_FALSE(parsed.module.functions[0].is_definition);
}

TEST_CASE("syntax: operands", "[contract]") {
  const auto parsed = parse_good(
      ".entry k() {\n"
      "@!p ld.global .v2.u32 {a, _}, [ rd + -16 ];\n"
      "shfl.sync.idx.b32 a|p, b, 0, 31, -1;\n"
      "mov.u64 rd, sym+8;\n"
      "call.uni (r0, r1), f, (a, 5), proto;\n"
      "mov.u32 a, %tid.y;\n"
      "add.f32 a, v.y, v.w;\n"
      "ld.relaxed.gpu.u64 {rd}, [rd];\n"
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [map, {c0, c1}], [s];\n"
      "mov.u32 a, %envreg3;\n"
      "}\n");
  const auto& body = parsed.module.functions[0].body;
  REQUIRE(body.size() == 9);
  CHECK(body[0].guard.present);
  CHECK(body[0].guard.negated);
  CHECK(body[0].line == 5);
  CHECK(body[0].operands[0].kind == OperandKind::vector);
  CHECK(body[0].operands[0].elements[1].kind == OperandKind::sink);
  CHECK(body[0].operands[1].kind == OperandKind::address);
  CHECK(body[0].operands[1].offset == -16);
  CHECK(body[1].text == "shfl.sync.idx.b32");
  CHECK(body[1].operands[0].kind == OperandKind::pair);
  CHECK(body[2].operands[1].kind == OperandKind::name_offset);
  CHECK(body[2].operands[1].offset == 8);
  REQUIRE(body[3].operands.size() == 4);
  CHECK(body[3].operands[0].elements.size() == 2);
  CHECK(body[3].operands[2].elements[1].value == 5);
  CHECK(body[4].operands[1].special == SpecialRegister::tid_y);
  CHECK(body[5].operands[1].component == 2);
  CHECK(body[5].operands[2].component == 4);
  CHECK(body[6].operands[0].elements.size() == 1);
  CHECK(body[7].operands[0].elements[1].elements.size() == 2);
  CHECK(static_cast<int>(body[8].operands[1].special) == static_cast<int>(SpecialRegister::envreg0) + 3);
}

TEST_CASE("syntax: blocks, labels, tables and prototypes", "[contract]") {
  const auto parsed = parse_good(
      ".entry k() {\n"
      "L0: L1: bar.sync 0;\n"
      "{ .reg .b32 t<3>; { L0: ret; } }\n"
      "ts: .branchtargets L0, L1;\n"
      "pr: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[16]);\n"
      ".pragma \"nounroll\";\n"
      "END: }\n");
  const Function& kernel = parsed.module.functions[0];
  REQUIRE(kernel.scopes.size() == 3);
  CHECK(kernel.scopes[2].parent == 1);
  CHECK(kernel.body[0].scope == 0);
  CHECK(kernel.body[1].scope == 2);
  const auto find = [&](std::string_view name) {
    return *std::find_if(kernel.symbols.rbegin(), kernel.symbols.rend(),
                         [&](const Symbol& s) { return s.name == name; });
  };
  CHECK(find("t").count == 3);
  CHECK(find("L1").instruction == 0);
  CHECK(find("L0").instruction == 1);
  CHECK(find("END").instruction == 2);
  CHECK(find("ts").targets == std::vector<std::string_view>{"L0", "L1"});
  CHECK(find("pr").prototype_returns.size() == 1);
  CHECK(find("pr").prototype_parameters[1].bytes() == 16);
}

TEST_CASE("syntax: debug information is skipped or kept as locations", "[contract]") {
  const auto parsed = parse_good(
      ".file 1 \"a.cu\", 17, 4\n"
      ".section .debug_abbrev\n{\n.b8 1, 2\n.b32 $L__a - $L__b\n}\n"
      "#line 7\n"
      ".entry k() {\n"
      "ret;\n.loc 1 10 3\nret;\n"
      ".loc 1 20 5, function_name $L__info_string0+4, inlined_at 1 10 3\nret;\n}\n");
  const auto& module = parsed.module;
  CHECK(module.files.at(0).second == "a.cu");
  const auto& body = module.functions[0].body;
  CHECK(body[0].location == 0);
  CHECK(module.locations[body[1].location].line == 10);
  const Location& inlined = module.locations[body[2].location];
  CHECK(inlined.line == 20);
  CHECK(module.locations[inlined.inlined_at].line == 10);
}

}  // namespace
}  // namespace ptxwire::ptx
