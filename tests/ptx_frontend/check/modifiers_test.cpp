// What the modifiers of a spelling mean: the fields that execution reads.
#include <catch2/catch.hpp>

#include "tests/ptx_frontend/front_end_driver.hpp"

namespace ptxwire::ptx {
namespace {

using test::check_instruction;

TEST_CASE("check: a scoped load with every hint fills its fields in any order of modifiers", "[contract]") {
  for (const char* text :
       {"ld.acquire.sys.global.L1::no_allocate.L2::256B.v4.s32 {%r1,%r2,%r3,%r4}, [%d1];",
        "ld.global.acquire.sys.L2::256B.L1::no_allocate.s32.v4 {%r1,%r2,%r3,%r4}, [%d1];"}) {
    const Instruction i = check_instruction(text);
    CHECK(i.opcode == Opcode::ld);
    CHECK(i.executable);
    CHECK(i.modifiers.order == Order::acquire);
    CHECK(i.modifiers.scope == Scope::sys);
    CHECK(i.modifiers.space == Space::global);
    CHECK(i.modifiers.l1 == EvictPriority::no_allocate);
    CHECK(i.modifiers.l2_prefetch_bytes == 256);
    CHECK(i.modifiers.vector == 4);
    CHECK(i.modifiers.type == Type::s32);
  }
}

TEST_CASE("check: membar is a sequentially consistent fence", "[contract]") {
  const std::pair<const char*, Scope> cases[] = {
      {"membar.cta;", Scope::cta}, {"membar.gl;", Scope::gpu}, {"membar.sys;", Scope::sys}};
  for (const auto& [text, scope] : cases) {
    const Instruction i = check_instruction(text);
    CHECK(i.opcode == Opcode::fence);
    CHECK(i.modifiers.order == Order::sc);
    CHECK(i.modifiers.scope == scope);
  }
  CHECK(check_instruction("fence.acq_rel.gpu;").modifiers.order == Order::acq_rel);
  CHECK(check_instruction("fence.gpu.release;").modifiers.order == Order::release);
  CHECK(check_instruction("fence.proxy.async.shared::cta;").modifiers.proxy == Proxy::async);
}

TEST_CASE("check: one opcode stands for all spellings of a family", "[contract]") {
  const std::pair<const char*, Opcode> cases[] = {
      {"bar.sync 0;", Opcode::bar},
      {"barrier.sync.aligned %r1, 64;", Opcode::bar},
      {"barrier.cta.arrive 1, 64;", Opcode::bar},
      {"mov.b32 %r1, %r2;", Opcode::mov},
      {"mov.b64 %d1, {%r1, %r2};", Opcode::mov_pack},
      {"mov.b64 {%r1, _}, %d1;", Opcode::mov_unpack},
      {"mov.u32 %r1, %tid.x;", Opcode::read_special},
      {"mov.u64 %d1, %clock64;", Opcode::read_special},
      {"mov.u32 %r1, WARP_SZ;", Opcode::mov},
      {"mad.rn.f32 %f1, %f2, %f3, %f4;", Opcode::fma},
      {"mad.lo.s32 %r1, %r2, %r3, %r4;", Opcode::mad},
      {"bra.uni L0;", Opcode::bra},
      {"brx.idx %r1, ts;", Opcode::brx},
      {"call.uni fn;", Opcode::call},
      {"cp.async.bulk.commit_group;", Opcode::cp_async_bulk_commit_group},
      {"cp.async.wait_all;", Opcode::cp_async_wait_all},
      {"mbarrier.try_wait.parity.shared::cta.b64 %p1, [sm], %r1;", Opcode::mbarrier_try_wait},
  };
  for (const auto& [text, opcode] : cases) {
    INFO(text);
    CHECK(check_instruction(text).opcode == opcode);
  }
}

TEST_CASE("check: barrier actions", "[contract]") {
  const std::pair<const char*, BarrierAction> cases[] = {
      {"bar.sync 0;", BarrierAction::sync},
      {"bar.arrive 0, 64;", BarrierAction::arrive},
      {"bar.red.popc.u32 %r1, 0, %p1;", BarrierAction::red_popc},
      {"bar.red.and.pred %p2, 0, 64, !%p1;", BarrierAction::red_and},
      {"barrier.red.or.pred %p2, 0, %p1;", BarrierAction::red_or},
      {"barrier.cluster.arrive.release.aligned;", BarrierAction::arrive},
      {"barrier.cluster.wait.acquire;", BarrierAction::wait}};
  for (const auto& [text, action] : cases) {
    INFO(text);
    CHECK(check_instruction(text).modifiers.barrier == action);
  }
}

TEST_CASE("check: conversions carry destination and source type", "[contract]") {
  const Instruction pack = check_instruction("cvt.rn.bf16x2.f32 %r1, %f1, %f2;");
  CHECK(pack.modifiers.type == Type::bf16x2);
  CHECK(pack.modifiers.source_type == Type::f32);
  CHECK(pack.modifiers.rounding == Rounding::rn);
  const Instruction narrow = check_instruction("cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;");
  CHECK(narrow.modifiers.type == Type::e4m3x2);
  CHECK(narrow.modifiers.satfinite);
  const Instruction widen = check_instruction("cvt.s64.s32 %d1, %r1;");
  CHECK(widen.modifiers.type == Type::s64);
  CHECK(widen.modifiers.source_type == Type::s32);
  CHECK(check_instruction("mul.wide.s32 %d1, %r1, %r2;").modifiers.half == HalfSelect::wide);
}

TEST_CASE("check: bulk copies name both spaces and how they complete", "[contract]") {
  const Instruction in = check_instruction(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [sm], [%d1], %r1, "
      "[sm], %d2;");
  CHECK(in.opcode == Opcode::cp_async_bulk);
  CHECK(in.modifiers.space == Space::shared);
  CHECK(in.modifiers.sub_space == SubSpace::cluster);
  CHECK(in.modifiers.source_space == Space::global);
  CHECK(in.modifiers.completion == Completion::mbarrier);
  CHECK(in.modifiers.cache_hint);
  const Instruction out = check_instruction("cp.async.bulk.global.shared::cta.bulk_group [%d1], [sm], 16;");
  CHECK(out.modifiers.space == Space::global);
  CHECK(out.modifiers.source_space == Space::shared);
  CHECK(out.modifiers.source_sub_space == SubSpace::cta);
  CHECK(out.modifiers.completion == Completion::bulk_group);
}

TEST_CASE("check: atomics, extended precision, votes", "[contract]") {
  const Instruction cas = check_instruction("atom.cas.release.gpu.b32 %r1, [%d1], %r2, %r3;");
  CHECK(cas.modifiers.atomic == AtomicOp::cas);
  CHECK(cas.modifiers.order == Order::release);
  CHECK(cas.modifiers.scope == Scope::gpu);
  const Instruction plain = check_instruction("atom.global.add.u32 _, [%d1], 1;");
  CHECK(plain.modifiers.order == Order::none);
  CHECK(plain.modifiers.scope == Scope::none);
  const Instruction carry = check_instruction("addc.cc.u32 %r1, %r2, %r3;");
  CHECK((carry.modifiers.carry_in && carry.modifiers.carry_out));
  CHECK_FALSE(check_instruction("add.cc.u32 %r1, %r2, %r3;").modifiers.carry_in);
  CHECK(check_instruction("vote.sync.ballot.b32 %r1, !%p1, -1;").modifiers.vote == VoteMode::ballot);
  CHECK(check_instruction("match.all.sync.b32 %r1|%p1, %r2, -1;").modifiers.match == MatchMode::all);
  CHECK(check_instruction("shf.l.wrap.b32 %r1, %r2, %r3, 4;").modifiers.left);
  CHECK(check_instruction("setp.ltu.and.f32 %p1|%p2, %f1, %f2, !%p3;").modifiers.compare == Compare::ltu);
}

TEST_CASE("check: what execution does not know yet is checked and marked", "[contract]") {
  for (const char* text : {"movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;",
                           "multimem.red.release.sys.global.add.u32 [%d1], %r1;"}) {
    INFO(text);
    const Instruction i = check_instruction(text);
    CHECK(i.opcode != Opcode::invalid);
    CHECK_FALSE(i.executable);
  }
}

}  // namespace
}  // namespace ptxwire::ptx
