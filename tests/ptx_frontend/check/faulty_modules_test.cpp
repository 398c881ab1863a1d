// Faulty modules, one rule each: the id and the line of the one message that is expected. ptxas refuses them
// too, except where the case says otherwise.
#include <catch2/catch.hpp>

#include "tests/ptx_frontend/front_end_driver.hpp"

namespace ptxwire::ptx {
namespace {

using test::check_text;
using test::header;

struct Case {
  const char* name;
  const char* text;  ///< after a three-line header: its first line is line 4
  std::vector<std::string> expected;
};

const Case kCases[] = {
    {"two definitions of a kernel", ".entry k() { ret; }\n.entry k() { ret; }", {"5: duplicate-definition"}},
    {"two definitions of a variable", ".global .u32 x;\n.weak .global .u32 x;", {"5: duplicate-definition"}},
    {"two registers of one name in a block",
     ".entry k() {\n.reg .b32 a;\n.reg .b32 a;\nret; }",
     {"6: duplicate-definition"}},
    {"a register inside a declared range",
     ".entry k() {\n.reg .b32 r<4>;\n.reg .b32 r3;\nret; }",
     {"6: duplicate-definition"}},
    {"two labels of one name in a block", ".entry k() {\nL: ret;\nL: ret; }", {"6: duplicate-definition"}},
    {"undefined register",
     ".entry k() {\n.reg .b32 %r<4>;\nadd.s32 %r1, %r2, %r4;\nret; }",
     {"6: undefined-register"}},
    {"register used before its declaration",
     ".entry k() {\nmov.u32 a, 1;\n.reg .b32 a;\nret; }",
     {"5: undefined-name"}},
    {"register of an inner block used outside",
     ".entry k() {\n{ .reg .b32 a; }\nmov.u32 a, 1;\nret; }",
     {"6: undefined-name"}},
    {"each undefined name is reported once",
     ".entry k() {\n.reg .b32 a;\nmov.u32 a, b;\nmov.u32 a, b;\nret; }",
     {"6: undefined-name"}},
    {"undefined label", ".entry k() {\nbra LOOP;\nret; }", {"5: undefined-label"}},
    {"branch into a block", ".entry k() {\nbra L;\n{ L: ret; }\n}", {"5: branch-into-block"}},
    {"branch to a register", ".entry k() {\n.reg .b32 a;\nbra a;\nret; }", {"6: undefined-label"}},
    {"guard that is no predicate", ".entry k() {\n.reg .b32 a;\n@a ret;\n}", {"6: bad-guard"}},
    {"unknown function", ".entry k() {\ncall f;\nret; }", {"5: undefined-name"}},
    {"too few arguments",
     ".func f(.param .b32 a) { ret; }\n.entry k() {\ncall f;\nret; }",
     {"6: call-arguments"}},
    {"argument of another size",
     ".func f(.param .b32 a) { ret; }\n.entry k() {\n.param .b64 b;\ncall f, (b);\nret; }",
     {"7: call-arguments"}},
    {"result that the function does not give",
     ".func f() { ret; }\n.entry k() {\n.param .b32 r;\ncall (r), f;\nret; }",
     {"7: call-arguments"}},
    {"indirect call without a prototype",
     ".entry k() {\n.reg .b64 a;\ncall a;\nret; }",
     {"6: missing-prototype"}},
    {"declarations that differ",
     ".func (.param .b32 a) f(.param .b64 b);\n.func (.param .b32 a) f(.param .b32 b) { ret; }",
     {"5: conflicting-prototypes"}},
    {"alias of nothing", ".func a();\n.alias a, b;", {"5: undefined-name"}},
    {"initialiser with an unknown name", ".global .u64 x = y;", {"4: undefined-name"}},
    {"initialised shared variable", ".shared .u32 x = 1;", {"4: bad-initialiser"}},
    {"too many initial values", ".global .u32 x[2] = {1,\n2,\n3};", {"6: bad-initialiser"}},
    {"integer for a float", ".global .f32 x = 1;", {"4: bad-initialiser"}},
    {"global array without size", ".global .b8 x[];", {"4: incomplete-type"}},
    {"predicate variable", ".global .pred x;", {"4: bad-variable-type"}},
    {"alignment that is no power of two", ".global .align 3 .b8 x[4];", {"4: bad-alignment"}},
    {"unknown type", ".global .u33 x;", {"4: unknown-type"}},
    // ptxas takes this one and the launch fails.
    {"more than 1024 threads", ".entry k()\n.maxntid 32, 33\n{ ret; }", {"4: too-many-threads"}},
    {"maxntid and reqntid", ".entry k()\n.maxntid 32\n.reqntid 32\n{ ret; }", {"4: conflicting-directives"}},
    {"too many parameter bytes",
     ".entry k(.param .align 8 .b8 a[32765]) { ret; }",
     {"4: too-many-parameters"}},
    {"register parameter of a kernel", ".entry k(.reg .b32 a) { ret; }", {"4: bad-parameter"}},
    {"too much static shared memory",
     ".entry k() {\n.shared .b8 a[40000];\n.shared .b8 b[9153];\nret; }",
     {"5: too-much-shared"}},
    {"write to an input parameter",
     ".entry k(.param .b32 a) {\n.reg .b32 r;\nst.param.b32 [a], r;\nret; }",
     {"6: write-to-parameter"}},
    {"variable of another space",
     ".global .u32 x;\n.entry k() {\n.reg .b32 r;\nld.shared.u32 r, [x];\nret; }",
     {"7: state-space-mismatch"}},
    {"32-bit global address",
     ".entry k() {\n.reg .b32 r;\nld.global.u32 r, [r];\nret; }",
     {"6: address-width"}},
    {"branch table after its use",
     ".entry k() {\n.reg .b32 r;\nbrx.idx r, ts;\nL: ret;\nts: .branchtargets L;\n}",
     {"6: undefined-label"}},
    {"a table with an unknown label", ".entry k() {\nts: .branchtargets M;\nret; }", {"5: undefined-label"}},
    {"register at module level", ".reg .b32 x;", {"4: misplaced-register"}},
    {"second version", ".version 8.0", {"4: misplaced-directive"}},
    {"several independent errors",
     ".entry k() {\n.reg .b32 %r<4>;\nadd.s33 %r1, %r2, %r3;\nadd.s32 %r1, %r2;\nadd.s32 %r1, %r2, "
     "1.0;\nret; }",
     {"6: unknown-modifier", "7: operand-count", "8: operand-mismatch"}},
};

TEST_CASE("check: faulty modules give the expected message", "[contract]") {
  for (const Case& faulty : kCases) {
    const test::Checked checked = check_text(header() + faulty.text + "\n");
    INFO(faulty.name << "\n" << checked.rendered());
    CHECK(checked.places() == faulty.expected);
  }
}

TEST_CASE("check: versions and targets", "[contract]") {
  const auto places = [](const char* version, const char* target, const char* statement) {
    return test::check_statements(statement, version, target).places();
  };
  using List = std::vector<std::string>;
  const List refused{std::to_string(test::kPrefixLines + 1) + ": unsupported-by-target"};
  CHECK(places("9.0", "sm_90", "wgmma.fence.sync.aligned;") == refused);
  CHECK(places("9.0", "sm_90a", "wgmma.fence.sync.aligned;").empty());
  CHECK(places("9.0", "sm_90", "setmaxnreg.inc.sync.aligned.u32 40;") == refused);
  CHECK(places("9.0", "sm_90a", "st.bulk.shared::cta [sm], %d1, 0;") == refused);
  CHECK(places("8.6", "sm_90a", "fence.acquire.gpu;").empty());
  CHECK(places("7.8", "sm_80", "barrier.cluster.arrive;") == refused);
  CHECK(places("7.8", "sm_80", "mov.u32 %r1, %cluster_ctarank;") == refused);
  CHECK(check_text(".version 7.7\n.target sm_90\n").places() == List{"2: unsupported-target"});
  CHECK(check_text(".version 7.8\n.target sm_90a\n").places() == List{"2: unsupported-target"});
}

TEST_CASE("check: names are scoped by blocks", "[contract]") {
  const auto checked = check_text(header() +
                                  ".visible .entry k() {\n"
                                  ".reg .b32 %r<4>; .reg .pred p;\n"
                                  "{ .reg .b64 p, %r1; mov.u64 p, %r1; LAB: bra LAB; }\n"
                                  "{ LAB: @p bra LAB; mov.u32 %r01, %r3; bra DONE; }\n"
                                  "DONE: ret;\n}\n");
  INFO(checked.rendered());
  REQUIRE(checked.places().empty());
  const Function& kernel = checked.module.functions.at(0);
  const auto symbol = [&](const Operand& operand) { return kernel.symbols.at(operand.symbol); };
  const Instruction& inner = kernel.body.at(0);
  CHECK(symbol(inner.operands[0]).type == Type::b64);
  CHECK(symbol(inner.operands[1]).name == "%r1");
  CHECK_FALSE(symbol(inner.operands[1]).parametrised);
  CHECK(symbol(kernel.body.at(1).operands[0]).instruction == 1);
  CHECK(symbol(kernel.body.at(2).operands[0]).instruction == 2);
  CHECK(symbol(kernel.body.at(2).guard.predicate).type == Type::pred);
  const Instruction& outer = kernel.body.at(3);
  CHECK(symbol(outer.operands[0]).name == "%r");
  CHECK(outer.operands[0].element == 1);  // a leading zero changes nothing
  CHECK(outer.operands[1].element == 3);
  CHECK(symbol(kernel.body.at(4).operands[0]).instruction == 5);
}

// Each of these took minutes when something looked at all lines, names or words for every error or name.
TEST_CASE("check: work grows with the size of the text, not with its square") {
  constexpr int kMany = 20000;
  std::string errors, spellings, nested, blocks, closing;
  for (int i = 0; i < kMany; ++i) {
    const std::string n = std::to_string(i);
    errors.append("add.s32 %u").append(n).append(", %r2, %r3;\nbra X").append(n).append(";\n");
    spellings.append("add.s32.x").append(n).append(" %r1, %r2, %r3;\n");
    nested.append("{ .reg .b32 %a").append(n).append("; add.s32 %a").append(n).append(", %r2, 1;\n");
    closing += "}";
    blocks += "{ .reg .pred q; LOOP: @q bra LOOP; }\n";
  }
  CHECK(test::check_statements(errors).diagnostics.list().size() == size_t{2} * kMany);
  CHECK(test::check_statements(spellings).diagnostics.list().size() == kMany);
  CHECK(test::check_statements(nested + closing).rendered().empty());
  CHECK(test::check_statements(blocks).rendered().empty());
  std::string words = "add";
  for (int i = 0; i < 10 * kMany; ++i) words += ".s32";
  const test::Checked huge = test::check_statements(words + " %r1, %r2, %r3;");
  REQUIRE(huge.diagnostics.list().size() == 1);
  CHECK(huge.diagnostics.list()[0].message.size() < 500);
}

}  // namespace
}  // namespace ptxwire::ptx
