// Matrix products and tensor copies: operand lists, and what only the spelling says.
#include "tests/ptx_frontend/lower/lower_text.hpp"

namespace ptxwire::ptx {

using namespace test;  // NOLINT(google-build-using-namespace)

namespace {

struct Single {
  Single(const std::string& statement, Opcode opcode)
      : program(lower_body(
            "mov.b32 %r1, %tid.x; mov.b32 %r2, %tid.y; mov.b64 %rd1, %clock64; mov.b64 %rd2, %clock64;\n"
            "setp.eq.u32 %p1, %r1, %r2; cvt.u16.u32 %h1, %r1; mov.b32 %f1, %r1; mov.b32 %f2, %r1; "
            "mov.b32 %f3, %r1; mov.b32 %f4, %r1;\n" +
            statement + "\nret;")),
        op(program.code[find_ops(program, opcode).back()]),
        list(program.operand_lists[op.operand_list]) {}
  Program program;
  const Op& op;
  const std::vector<Slot>& list;
};

const std::string kSums = "{%f1, %f2, %f3, %f4}";

}  // namespace

TEST_CASE("a matrix product knows its shape, types and immediates from its spelling", "[contract]") {
  struct Row {
    std::string types, tail;
    Type sum;
    MatrixElement a, b;
    bool transpose_a, transpose_b, negate_a, negate_b;
  };
  const Row rows[] = {
      {"m64n8k16.f32.bf16.bf16", "1, -1, 1, 0", Type::f32, MatrixElement::bf16, MatrixElement::bf16, true,
       false, false, true},
      {"m64n8k16.f32.f16.f16", "-1, 1, 0, 1", Type::f32, MatrixElement::f16, MatrixElement::f16, false, true,
       true, false},
      {"m64n8k8.f32.tf32.tf32", "1, 1", Type::f32, MatrixElement::tf32, MatrixElement::tf32, false, false,
       false, false},
      {"m64n8k32.f32.e4m3.e5m2", "1, 1", Type::f32, MatrixElement::e4m3, MatrixElement::e5m2, false, false,
       false, false},
      {"m64n8k32.s32.u8.s8", "", Type::s32, MatrixElement::u8, MatrixElement::s8, false, false, false, false},
      {"m64n8k256.s32.b1.b1.and.popc", "", Type::s32, MatrixElement::b1, MatrixElement::b1, false, false,
       false, false},
  };
  for (const Row& row : rows) {
    INFO(row.types);
    const Single single("wgmma.mma_async.sync.aligned." + row.types + " " + kSums + ", %rd1, %rd2, %p1" +
                            (row.tail.empty() ? "" : ", ") + row.tail + ";",
                        Opcode::wgmma_mma_async);
    const MatrixForm& form = single.op.matrix;
    CHECK(single.op.executable);
    CHECK(single.op.modifiers.type == row.sum);
    CHECK(form.n == 8);
    CHECK(form.a == row.a);
    CHECK(form.b == row.b);
    CHECK_FALSE(form.a_in_registers);
    CHECK(form.transpose_a == row.transpose_a);
    CHECK(form.transpose_b == row.transpose_b);
    CHECK(form.negate_a == row.negate_a);
    CHECK(form.negate_b == row.negate_b);
    REQUIRE(single.list.size() == 8);
    for (size_t i = 0; i < 4; ++i)
      CHECK(single.list[i].index == single.list[i + 4].index);  // read and written
    CHECK(single.op.src[2].kind == Slot::Kind::predicate);
  }
}

TEST_CASE("A from registers follows the sums; only B may be transposed then", "[contract]") {
  const Single single(
      "mov.b32 %r3, 1; mov.b32 %r4, 2;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " +
          kSums + ", {%r1, %r2, %r3, %r4}, %rd2, !%p1, 1, 1, 1;",
      Opcode::wgmma_mma_async);
  CHECK(single.op.matrix.a_in_registers);
  CHECK_FALSE(single.op.matrix.transpose_a);
  CHECK(single.op.matrix.transpose_b);
  CHECK(single.op.src[2].negated);
  CHECK(single.list.size() == 12);
}

TEST_CASE("tensor copies: shared address, map, coordinates, mbarrier, mask and policy", "[contract]") {
  const Single load(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
      ".L2::cache_hint [%r1+128], [%rd1, {%r2, -3}], [%r2+8], %h1, %rd2;",
      Opcode::cp_async_bulk_tensor);
  CHECK(load.op.offset == 128);
  CHECK(load.op.offset3 == 8);
  CHECK(load.op.src[1].rows == 2);
  CHECK(load.op.src[3].present());
  CHECK(load.op.src[4].present());
  CHECK(load.op.src[5].rows == 2);
  REQUIRE(load.list.size() == 2);
  CHECK(static_cast<int32_t>(load.program.constants[load.list[1].index].value) == -3);
  const Single store("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd1, {%r2}], [%r1];",
                     Opcode::cp_async_bulk_tensor);
  CHECK(store.op.modifiers.space == Space::global);
  CHECK(store.list.size() == 1);
  const Single prefetch("cp.async.bulk.prefetch.tensor.3d.L2.global [%rd1, {%r1, %r2, 7}];",
                        Opcode::cp_async_bulk_prefetch_tensor);
  CHECK(prefetch.list.size() == 3);
}

TEST_CASE("a kernel that moves registers starts with as many as its limits allow", "[contract]") {
  const Program program = lower_text(
      ".visible .entry k() .maxntid 384 .minnctapersm 1 { setmaxnreg.dec.sync.aligned.u32 40; ret; }");
  CHECK(function_named(program, "k").registers_per_thread == 168);  // 65,536 / 384, in steps of 8
}

}  // namespace ptxwire::ptx
