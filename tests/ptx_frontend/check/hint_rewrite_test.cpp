// Cache hints of loads and stores, changed in the text.
#include "ptx_frontend/check/hint_rewrite.hpp"

#include <catch2/catch.hpp>

using namespace ptxwire;
using namespace ptxwire::ptx;

namespace {

std::string module_of(const std::string& body) {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 a) {\n"
         ".reg .b64 %rd<4>; .reg .b32 %r<9>;\nld.param.u64 %rd1, [a];\n" +
         body + "\nret;\n}\n";
}

RewrittenText rewritten(const std::string& body, const std::string& rules) {
  const auto parsed = parse_hint_rules(rules);
  REQUIRE(parsed);
  return rewrite_hints(module_of(body), "k.ptx", *parsed);
}

}  // namespace

TEST_CASE("hint rewrite: the first rule whose words an access has replaces its hints", "[frontend]") {
  struct Case {
    const char *from, *rules, *to;
  };
  const Case c = GENERATE(
      Case{"ld.global.nc.L1::no_allocate.L2::256B.v4.s32 {%r1, %r2, %r3, %r4}, [%rd1];",
           "ld.v4:", "ld.global.nc.v4.s32 {%r1, %r2, %r3, %r4}, [%rd1];"},
      Case{"ld.global.nc.v4.s32 {%r1, %r2, %r3, %r4}, [%rd1];", "ld.nc: L1::no_allocate L2::256B",
           "ld.global.nc.L1::no_allocate.L2::256B.v4.s32 {%r1, %r2, %r3, %r4}, [%rd1];"},
      Case{"@%p ld.global.cs.u32 %r1, [%rd1];", "ld: cg",
           "@%p ld.global.cs.u32 %r1, [%rd1];"},  // no %p: unchecked
      Case{"ld.global.cs.u32 %r1, [%rd1];", "ld.v4: cg; ld: cg; ld:", "ld.global.cg.u32 %r1, [%rd1];"},
      Case{"st.weak.global.u32 [%rd1], %r1;", "ld: cg; st: L1::evict_first",
           "st.weak.global.L1::evict_first.u32 [%rd1], %r1;"},
      Case{"st.global.L1::no_allocate.v4.s32 [%rd1], {%r1, %r2, %r3, %r4};", "st.v2: L1::evict_last",
           "st.global.L1::no_allocate.v4.s32 [%rd1], {%r1, %r2, %r3, %r4};"},
      // what orders is left alone
      Case{"ld.volatile.global.u32 %r1, [%rd1];", "ld: L1::no_allocate",
           "ld.volatile.global.u32 %r1, [%rd1];"},
      Case{"ld.acquire.sys.global.u32 %r1, [%rd1];", "ld: L1::no_allocate",
           "ld.acquire.sys.global.u32 %r1, [%rd1];"},
      Case{"ld.u32 %r1, [%rd1];", "ld: L1::no_allocate", "ld.u32 %r1, [%rd1];"});
  CHECK(rewritten(c.from, c.rules).text == module_of(c.to));
}

TEST_CASE("hint rewrite: counts what it changed and keeps the rest to the byte", "[frontend]") {
  const RewrittenText result = rewritten(
      "ld.global.u32 %r1, [%rd1]; // ld.global.u32\n  ld.global.u32 %r2,\t[%rd1];\nst.global.u32 [%rd1], "
      "%r1;",
      "ld: L2::128B");
  CHECK(result.changed == 2);
  CHECK(result.text == module_of("ld.global.L2::128B.u32 %r1, [%rd1]; // ld.global.u32\n"
                                 "  ld.global.L2::128B.u32 %r2,\t[%rd1];\nst.global.u32 [%rd1], %r1;"));
}

TEST_CASE("hint rewrite: rules that make no sense are refused", "[frontend][contract]") {
  struct Case {
    const char *rules, *message;
  };
  const Case c =
      GENERATE(Case{"ld.v4 L1::no_allocate", "has no ':'"}, Case{"mov: cg", "does not begin with ld or st"},
               Case{": cg", "does not begin"}, Case{"ld: L1::no_alocate", "is no cache hint"},
               Case{"ld: v4", "'v4' is no cache hint"});
  const auto rules = parse_hint_rules(c.rules);
  REQUIRE_FALSE(rules);
  CHECK_THAT(rules.error().message, Catch::Contains(c.message));
}

TEST_CASE("hint rewrite: nothing written, no rules", "[frontend]") {
  CHECK(parse_hint_rules("")->empty());
  CHECK(parse_hint_rules(" ; ")->empty());
  CHECK(parse_hint_rules("st:")->front().hints.empty());
}
