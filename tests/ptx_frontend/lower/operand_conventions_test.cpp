// Every operand lands where the table in program.hpp says.
#include "tests/ptx_frontend/lower/lower_text.hpp"

namespace ptxwire::ptx {

using namespace test;  // NOLINT(google-build-using-namespace)

namespace {

constexpr uint8_t kReg = static_cast<uint8_t>(Slot::Kind::reg);
constexpr uint8_t kPredicate = static_cast<uint8_t>(Slot::Kind::predicate);
constexpr uint8_t kConstant = static_cast<uint8_t>(Slot::Kind::constant);
constexpr uint8_t kSink = static_cast<uint8_t>(Slot::Kind::sink);
constexpr uint8_t kNone = 0;

uint8_t kind(const Slot& slot) { return static_cast<uint8_t>(slot.kind); }

/// The single op that `statement` becomes, with its sources defined before.
struct Single {
  explicit Single(const std::string& statement, Opcode opcode)
      : program(lower_body(
            "mov.b32 %r1, %tid.x; mov.b32 %r2, %tid.y; mov.b64 %rd1, %clock64; mov.b64 %rd2, %clock64;\n"
            "setp.eq.u32 %p1, %r1, %r2; cvt.u16.u32 %h1, %r1; mov.b32 %f1, %r1; cvt.f64.f32 %fd1, %f1;\n" +
            statement + "\nret;")),
        op(program.code[find_ops(program, opcode).back()]) {}
  uint64_t constant(size_t k) const { return constant_value(program, op.src[k]); }
  Program program;
  const Op& op;
};

}  // namespace

TEST_CASE("immediates take the format of their reader", "[contract]") {
  CHECK(Single("add.s32 %r3, %r1, -1;", Opcode::add).constant(1) == 0xFFFFFFFFU);
  CHECK(Single("add.s64 %rd3, %rd1, -1;", Opcode::add).constant(1) == UINT64_MAX);
  CHECK(Single("add.s16 %h2, %h1, -1;", Opcode::add).constant(1) == 0xFFFFU);
  CHECK(Single("add.f32 %f2, %f1, 0f3F800000;", Opcode::add).constant(1) == 0x3F800000U);
  CHECK(Single("add.f32 %f2, %f1, 1.5;", Opcode::add).constant(1) == 0x3FC00000U);
  CHECK(Single("add.f64 %fd2, %fd1, 1.5;", Opcode::add).constant(1) == 0x3FF8000000000000U);
  CHECK(Single("add.f64 %fd2, %fd1, 0d4000000000000000;", Opcode::add).constant(1) == 0x4000000000000000U);
  CHECK(Single("mad.wide.s32 %rd3, %r1, 4, -8;", Opcode::mad).constant(2) == static_cast<uint64_t>(-8));
  CHECK(Single("setp.lt.s16 %p2, %h1, -2;", Opcode::setp).constant(1) == 0xFFFEU);
  CHECK(Single("mov.u64 %rd3, 0xFFFFFFFF80000000;", Opcode::mov).constant(0) == 0xFFFFFFFF80000000U);
}

TEST_CASE("slots know the width of their register", "[contract]") {
  const Single wide("ld.global.u8 %rd3, [%rd1+-8];", Opcode::ld);
  CHECK(wide.op.dst[0].rows == 2);
  CHECK(wide.op.src[0].rows == 2);
  CHECK(wide.op.offset == -8);
  const Single narrow("ld.shared.u32 %r3, [%r1+12];", Opcode::ld);
  CHECK(narrow.op.src[0].rows == 1);
  CHECK(narrow.op.offset == 12);
  const Single quad("mov.b128 %q1, {%rd1, %rd2}; st.relaxed.sys.global.b128 [%rd1], %q1;", Opcode::st);
  CHECK(quad.op.src[1].rows == 4);
  CHECK(quad.op.src[1].index % 4 == 0);
}

TEST_CASE("vector loads and stores spread over slots", "[contract]") {
  const Single load("ld.global.v4.u32 {%r3, _, %r4, %r5}, [%rd1];", Opcode::ld);
  CHECK(kind(load.op.dst[0]) == kReg);
  CHECK(kind(load.op.dst[1]) == kSink);
  CHECK(kind(load.op.dst[3]) == kReg);
  const Single store("st.global.v4.b32 [%rd1+16], {1, 2, %r1, %r2};", Opcode::st);
  CHECK(store.op.offset == 16);
  CHECK(store.constant(1) == 1);
  CHECK(store.constant(2) == 2);
  CHECK(kind(store.op.src[3]) == kReg);
  CHECK(kind(store.op.src[4]) == kReg);
  const Single braced("ld.relaxed.gpu.u64 {%rd3}, [%rd1];", Opcode::ld);
  CHECK(kind(braced.op.dst[0]) == kReg);
  CHECK(kind(braced.op.dst[1]) == kNone);
}

TEST_CASE("a cache policy is source 5", "[contract]") {
  CHECK(kind(Single("ld.global.L2::cache_hint.u32 %r3, [%rd1], %rd2;", Opcode::ld).op.src[5]) == kReg);
  const Single store("st.global.L2::cache_hint.v2.u32 [%rd1], {%r1, %r2}, %rd2;", Opcode::st);
  CHECK(kind(store.op.src[2]) == kReg);
  CHECK(kind(store.op.src[3]) == kNone);
  CHECK(kind(store.op.src[5]) == kReg);
}

TEST_CASE("mov packs, unpacks and reads special registers", "[contract]") {
  const Single pack("mov.b64 %rd3, {%r1, 7};", Opcode::mov_pack);
  CHECK(kind(pack.op.src[0]) == kReg);
  CHECK(pack.constant(1) == 7);
  CHECK(pack.op.dst[0].rows == 2);
  const Single unpack("mov.b32 {%h2, _}, %r1;", Opcode::mov_unpack);
  CHECK(kind(unpack.op.dst[0]) == kReg);
  CHECK(kind(unpack.op.dst[1]) == kSink);
  const Single special("mov.u32 %r3, %laneid;", Opcode::read_special);
  CHECK(special.constant(0) == static_cast<uint64_t>(SpecialRegister::laneid));
}

TEST_CASE("compare, select and predicates", "[contract]") {
  const Single compare("setp.lt.and.s32 %p2|%p3, %r1, 5, !%p1;", Opcode::setp);
  CHECK(kind(compare.op.dst[0]) == kPredicate);
  CHECK(kind(compare.op.dst[1]) == kPredicate);
  CHECK(compare.constant(1) == 5);
  CHECK(kind(compare.op.src[2]) == kPredicate);
  CHECK(compare.op.src[2].negated);
  const Single guarded("@!%p1 add.s32 %r3, %r1, %r2;", Opcode::add);
  CHECK(kind(guarded.op.guard) == kPredicate);
  CHECK(guarded.op.guard.negated);
  CHECK(kind(Single("selp.b32 %r3, %r1, -1, %p1;", Opcode::selp).op.src[2]) == kPredicate);
}

TEST_CASE("warp exchanges", "[contract]") {
  const Single shuffle("shfl.sync.bfly.b32 %r3|%p2, %r1, 16, 31, -1;", Opcode::shfl);
  CHECK(kind(shuffle.op.dst[0]) == kReg);
  CHECK(kind(shuffle.op.dst[1]) == kPredicate);
  CHECK(kind(shuffle.op.src[0]) == kReg);
  CHECK(shuffle.constant(1) == 16);
  CHECK(shuffle.constant(2) == 31);
  CHECK((shuffle.constant(3) & 0xFFFFFFFFU) == 0xFFFFFFFFU);
  const Single vote("vote.sync.ballot.b32 %r3, !%p1, %r2;", Opcode::vote);
  CHECK(kind(vote.op.dst[0]) == kReg);
  CHECK(vote.op.src[0].negated);
  CHECK(kind(vote.op.src[1]) == kReg);
  const Single match("match.all.sync.b64 %r3|%p2, %rd1, -1;", Opcode::match);
  CHECK(kind(match.op.dst[1]) == kPredicate);
  CHECK(match.op.src[0].rows == 2);
  const Single elect("elect.sync _|%p2, -1;", Opcode::elect);
  CHECK(kind(elect.op.dst[0]) == kSink);
  CHECK(kind(elect.op.dst[1]) == kPredicate);
  CHECK(kind(elect.op.src[0]) == kConstant);
}

TEST_CASE("atomics", "[contract]") {
  const Single cas("atom.acquire.sys.global.cas.b32 %r3, [%rd1+4], 0, %r2;", Opcode::atom);
  CHECK(cas.op.offset == 4);
  CHECK(cas.constant(1) == 0);
  CHECK(kind(cas.op.src[2]) == kReg);
  const Single add("red.release.gpu.global.add.u32 [%rd1], -1;", Opcode::red);
  CHECK(kind(add.op.dst[0]) == kNone);
  CHECK(add.constant(1) == 0xFFFFFFFFU);
}

TEST_CASE("barriers", "[contract]") {
  const Single all("bar.sync 0;", Opcode::bar);
  CHECK(all.constant(0) == 0);
  CHECK(kind(all.op.src[1]) == kNone);
  const Single some("barrier.sync %r1, 64;", Opcode::bar);
  CHECK(kind(some.op.src[0]) == kReg);
  CHECK(some.constant(1) == 64);
  const Single red("barrier.red.or.pred %p2, 1, 96, !%p1;", Opcode::bar);
  CHECK(kind(red.op.dst[0]) == kPredicate);
  CHECK(red.constant(0) == 1);
  CHECK(red.constant(1) == 96);
  CHECK(red.op.src[2].negated);
  const Single count("bar.red.popc.u32 %r3, 0, %p1;", Opcode::bar);
  CHECK(kind(count.op.dst[0]) == kReg);
  CHECK(kind(count.op.src[1]) == kNone);
  CHECK(kind(count.op.src[2]) == kPredicate);
}

TEST_CASE("mbarrier operations", "[contract]") {
  const Single init("mbarrier.init.shared::cta.b64 [%r1+8], 3;", Opcode::mbarrier_init);
  CHECK(init.op.offset == 8);
  CHECK(init.constant(1) == 3);
  const Single arrive("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], %r2;", Opcode::mbarrier_arrive);
  CHECK(kind(arrive.op.dst[0]) == kSink);
  CHECK(arrive.op.src[0].rows == 1);
  CHECK(kind(arrive.op.src[1]) == kReg);
  const Single wait("mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], %r2, 1000;",
                    Opcode::mbarrier_try_wait);
  CHECK(kind(wait.op.dst[0]) == kPredicate);
  CHECK(kind(wait.op.src[1]) == kReg);
  CHECK(wait.constant(2) == 1000);
}

TEST_CASE("asynchronous copies", "[contract]") {
  const Single in(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r1+16], [%rd1+32], "
      "%r2, "
      "[%r1+8], %rd2;",
      Opcode::cp_async_bulk);
  CHECK(in.op.offset == 16);
  CHECK(in.op.offset2 == 32);
  CHECK(in.op.offset3 == 8);
  CHECK(in.op.src[0].rows == 1);
  CHECK(in.op.src[1].rows == 2);
  CHECK(kind(in.op.src[2]) == kReg);
  CHECK(kind(in.op.src[3]) == kReg);
  CHECK(kind(in.op.src[4]) == kNone);
  CHECK(kind(in.op.src[5]) == kReg);
  const Single out("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 128;", Opcode::cp_async_bulk);
  CHECK(out.constant(2) == 128);
  CHECK(kind(out.op.src[3]) == kNone);
  const Single small("cp.async.ca.shared.global.L2::128B [%r1], [%rd1], 16, %r2;", Opcode::cp_async);
  CHECK(small.constant(2) == 16);
  CHECK(kind(small.op.src[3]) == kReg);
}

TEST_CASE("registers that are never written read as zero", "[contract]") {
  const Program program =
      lower_body("{ .reg .b32 ign; prmt.b32 %r1, %r1, ign, 0x0123; st.global.b32 [out], %r1; } ret;");
  const Op& op = only(program, Opcode::prmt);
  CHECK(constant_value(program, op.src[1]) == 0);
  CHECK(kind(op.src[0]) == kReg);  // written by the same op
}

TEST_CASE("a predicate that is never written is cleared first", "[contract]") {
  const Program program = lower_body("LOOP:\n@%p1 bra LOOP;\nret;");
  const Op& clear = program.code[0];
  CHECK(clear.opcode == Opcode::setp);
  CHECK(clear.modifiers.compare == Compare::ne);
  CHECK(constant_value(program, clear.src[0]) == constant_value(program, clear.src[1]));
  CHECK(clear.dst[0].index == program.code[1].guard.index);
  CHECK(program.code[1].target == 1);
  // As a source it is the constant 0.
  const Program selected = lower_body("selp.b32 %r1, 1, 2, !%p1; st.global.b32 [out], %r1; ret;");
  const Op& select = only(selected, Opcode::selp);
  CHECK(constant_value(selected, select.src[2]) == 0);
  CHECK(select.src[2].negated);
}

TEST_CASE("a huge register declaration costs nothing", "[contract]") {
  const Program program = lower_text(
      ".visible .entry k() { .reg .b32 %r<131101>; mov.u32 %r131100, %tid.x; st.local.b32 [0], %r131100; "
      "ret; }");
  CHECK(function_named(program, "k").register_rows == 1);
}

TEST_CASE("an instruction without semantics stays in place, not executable", "[contract]") {
  const Program program = lower_body("movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2; ret;");
  const Op& op = only(program, Opcode::unsupported);
  CHECK_FALSE(op.executable);
  CHECK(program.texts[0] == "movmatrix.sync.aligned.m8n8.trans.b16");
}

TEST_CASE("every op knows its line and spelling", "[contract]") {
  const Program program = lower_body("mov.u32 %r1, %tid.x;\nst.global.b32 [out], %r1;\nret;");
  REQUIRE(program.texts.size() == program.code.size());
  CHECK(program.texts[1] == "st.global.b32");
  CHECK(program.code[1].line == program.code[0].line + 1);
}

}  // namespace ptxwire::ptx
