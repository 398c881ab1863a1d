// What only targets after sm_90 have (PTX ISA 8.6 to 9.0): the 5th generation of tensor cores and smaller
// additions. Rows of them are known so that a module that uses them is told which target it needs.
#include "ptx_frontend/isa/instruction_form.hpp"

namespace ptxwire::ptx {
namespace {

constexpr auto kChecked = Support::checked_only;
constexpr auto kOp = Opcode::unsupported;
constexpr Requirement kA{86, 100, true};
constexpr Requirement kPlain{86, 100};
constexpr Requirement kThreeInputs{88, 100};

constexpr InstructionForm kForms[] = {
    // ---- tcgen05
    {"tcgen05.alloc", kOp, "CTAGROUP flag:sync flag:aligned space?:shared::cta type:b32", "[A], u32", kA,
     kChecked},
    {"tcgen05.dealloc", kOp, "CTAGROUP flag:sync flag:aligned type:b32", "u32, u32", kA, kChecked},
    {"tcgen05.relinquish_alloc_permit", kOp, "CTAGROUP flag:sync flag:aligned", "", kA, kChecked},
    {"tcgen05.ld", kOp, "flag:sync flag:aligned TMEMSHAPE word?:pack::16b type:b32", "=matrix, [tmem]", kA,
     kChecked},
    {"tcgen05.ld", kOp, "flag:sync flag:aligned word:16x32bx2 TMEMCOUNT word?:pack::16b type:b32",
     "=matrix, [tmem], u32#", kA, kChecked},
    {"tcgen05.st", kOp, "flag:sync flag:aligned TMEMSHAPE word?:unpack::16b type:b32", "[tmem], matrix", kA,
     kChecked},
    {"tcgen05.st", kOp, "flag:sync flag:aligned word:16x32bx2 TMEMCOUNT word?:unpack::16b type:b32",
     "[tmem], u32#, matrix", kA, kChecked},
    {"tcgen05.wait::ld", kOp, "flag:sync flag:aligned", "", kA, kChecked},
    {"tcgen05.wait::st", kOp, "flag:sync flag:aligned", "", kA, kChecked},
    {"tcgen05.cp", kOp,
     "CTAGROUP word:128x256b|4x256b|128x128b|64x128b|32x128b "
     "word?:warpx2::02_13|warpx2::01_23|warpx4 word?:b8x16 word?:b6x16_p32|b4x16_p64",
     "[tmem], b64", kA, kChecked},
    {"tcgen05.shift", kOp, "CTAGROUP word:down", "[tmem]", kA, kChecked},
    {"tcgen05.mma", kOp, "CTAGROUP TCKIND", "[tmem], tcmatrix, b64, b32, pred, u32?", kA, kChecked},
    {"tcgen05.mma", kOp, "CTAGROUP TCKIND", "[tmem], tcmatrix, b64, b32, offsets, pred, u32?", kA, kChecked},
    {"tcgen05.mma", kOp, "CTAGROUP TCSCALED", "[tmem], tcmatrix, b64, b32, [tmem], [tmem], pred", kA,
     kChecked},
    {"tcgen05.mma.sp", kOp, "CTAGROUP TCKIND", "[tmem], tcmatrix, b64, [tmem], b32, pred, u32?", kA,
     kChecked},
    {"tcgen05.mma.sp", kOp, "CTAGROUP TCKIND", "[tmem], tcmatrix, b64, [tmem], b32, offsets, pred, u32?", kA,
     kChecked},
    {"tcgen05.mma.sp", kOp, "CTAGROUP TCSCALED", "[tmem], tcmatrix, b64, [tmem], b32, [tmem], [tmem], pred",
     kA, kChecked},
    {"tcgen05.mma.ws", kOp, "word:cta_group::1 TCWS", "[tmem], tcmatrix, b64, b32, pred, b64?", kA, kChecked},
    {"tcgen05.mma.ws.sp", kOp, "word:cta_group::1 TCWS", "[tmem], tcmatrix, b64, [tmem], b32, pred, b64?", kA,
     kChecked},
    {"tcgen05.fence::before_thread_sync", kOp, "", "", kA, kChecked},
    {"tcgen05.fence::after_thread_sync", kOp, "", "", kA, kChecked},
    {"tcgen05.commit", kOp,
     "CTAGROUP word:mbarrier::arrive::one space?:shared::cluster flag?:multicast::cluster type:b64",
     "[A], ctamask", kA, kChecked},
    {"setmaxnreg.inc", Opcode::setmaxnreg_inc, "flag:sync flag:aligned type:u32", "u32#24..256/8", kA},
    {"setmaxnreg.dec", Opcode::setmaxnreg_dec, "flag:sync flag:aligned type:u32", "u32#24..256/8", kA},
    // ---- cluster launch control
    {"clusterlaunchcontrol.try_cancel", kOp,
     "word:async space?:shared::cta compl:mbarrier::complete_tx::bytes type:b128", "[A], [shared]", kPlain,
     kChecked},
    {"clusterlaunchcontrol.try_cancel", kOp,
     "word:async space?:shared::cta compl:mbarrier::complete_tx::bytes word:multicast::cluster::all "
     "type:b128",
     "[A], [shared]", kA, kChecked},
    {"clusterlaunchcontrol.query_cancel", kOp, "word:is_canceled type:pred stype:b128", "=pred, S", kPlain,
     kChecked},
    {"clusterlaunchcontrol.query_cancel", kOp, "word:get_first_ctaid vec:v4 type:b32 stype:b128", "=V_, S",
     kPlain, kChecked},
    {"clusterlaunchcontrol.query_cancel", kOp,
     "word:get_first_ctaid::x|get_first_ctaid::y|get_first_ctaid::z type:b32 stype:b128", "=T, S", kPlain,
     kChecked},
    // ---- matrices through shared memory
    {"stmatrix", kOp,
     "flag:sync flag:aligned word:m16n8 word:x1|x2|x4 word:trans space?:shared|shared::cta type:b8",
     "[A], matrix", kA, kChecked},
    {"mma",
     kOp,
     "flag:sync flag:aligned word:m16n8k32 word:row word:col word:kind::f8f6f4 type:f16|f32 "
     "word:e4m3|e5m2|e3m2|e2m3|e2m1 word:e4m3|e5m2|e3m2|e2m3|e2m1 word:f16|f32",
     "=matrix, matrix, matrix, matrix",
     {87, 120, true},
     kChecked},
    // ---- bulk copies
    {"cp.async.bulk.tensor", kOp,
     "word:2d space:shared::cluster|shared::cta sspace:global word:tile::gather4 "
     "compl:mbarrier::complete_tx::bytes "
     "flag?:multicast::cluster word?:cta_group::1|cta_group::2 flag?:L2::cache_hint",
     "[A], tensor, [shared], ctamask, policy", kPlain, kChecked},
    {"cp.async.bulk.tensor", kOp,
     "word:2d space:global sspace:shared::cta word:tile::scatter4 compl:bulk_group flag?:L2::cache_hint",
     "tensor, [B], policy", kA, kChecked},
    {"cp.async.bulk.tensor", kOp,
     "word:3d|4d|5d space:shared::cluster|shared::cta sspace:global word:im2col::w|im2col::w::128 "
     "compl:mbarrier::complete_tx::bytes flag?:multicast::cluster word?:cta_group::1|cta_group::2 "
     "flag?:L2::cache_hint",
     "[A], tensor, [shared], vector, ctamask, policy", kA, kChecked},
    {"cp.async.bulk.prefetch.tensor", kOp,
     "word:2d level:L2 sspace:global word:tile::gather4 flag?:L2::cache_hint", "tensor, policy", kPlain,
     kChecked},
    {"cp.async.bulk.prefetch.tensor", kOp,
     "word:3d|4d|5d level:L2 sspace:global word:im2col::w|im2col::w::128 flag?:L2::cache_hint",
     "tensor, vector, policy", kA, kChecked},
    {"cp.async.bulk", kOp,
     "space:global sspace:shared::cta compl:bulk_group flag:L2::cache_hint word:cp_mask",
     "[A], [B], bulksize, policy, u16", kPlain, kChecked},
    {"cp.async.bulk", kOp, "space:global sspace:shared::cta compl:bulk_group word:cp_mask",
     "[A], [B], bulksize, u16", kPlain, kChecked},
    {"tensormap.replace", kOp,
     "word:tile word:swizzle_atomicity space?:global|shared::cta word:b1024 type:b32", "[A], u32#0..3", kA,
     kChecked},
    // ---- narrow floats and stochastic rounding
    {"cvt", kOp, "rnd:rn flag:satfinite flag?:relu word:e2m1x2 stype:f32", "=b8, f32, f32", kA, kChecked},
    {"cvt", kOp, "rnd:rn flag:satfinite flag?:relu word:e2m3x2|e3m2x2 stype:f32", "=b16, f32, f32", kA,
     kChecked},
    {"cvt", kOp, "rnd:rn flag?:relu type:f16x2 word:e2m1x2", "=b32, b8", kA, kChecked},
    {"cvt", kOp, "rnd:rn flag?:relu type:f16x2 word:e2m3x2|e3m2x2", "=b32, b16", kA, kChecked},
    {"cvt", kOp, "rnd:rz|rp flag?:satfinite word:ue8m0x2 stype:f32", "=b16, f32, f32", kA, kChecked},
    {"cvt", kOp, "rnd:rz|rp flag?:satfinite word:ue8m0x2 stype:bf16x2", "=b16, b32", kA, kChecked},
    {"cvt", kOp, "rnd:rn type:bf16x2 word:ue8m0x2", "=b32, b16", kA, kChecked},
    {"cvt",
     kOp,
     "rnd:rs flag?:relu flag?:satfinite type:f16x2|bf16x2 stype:f32",
     "=T, f32, f32, b32",
     {87, 100, true},
     kChecked},
    {"cvt",
     kOp,
     "rnd:rs flag?:relu flag:satfinite word:e4m3x4|e5m2x4|e2m3x4|e3m2x4 stype:f32",
     "=b32, offsets, b32",
     {87, 100, true},
     kChecked},
    {"cvt",
     kOp,
     "rnd:rs flag?:relu flag:satfinite word:e2m1x4 stype:f32",
     "=b16, offsets, b32",
     {87, 100, true},
     kChecked},
    // ---- arithmetic
    {"sub", kOp, "rnd?:rn|rz|rm|rp flag?:sat type:f32 stype:f16|bf16", "=T, S, T", kPlain, kChecked},
    {"fma", kOp, "rnd:rn|rz|rm|rp flag?:sat type:f32 stype:f16|bf16", "=T, S, S, T", kPlain, kChecked},
    {"min", kOp, "flag?:ftz flag?:NaN word?:abs type:f32", "=T, T, T, T", kThreeInputs, kChecked},
    {"max", kOp, "flag?:ftz flag?:NaN word?:abs type:f32", "=T, T, T, T", kThreeInputs, kChecked},
    // ---- memory
    {"red.async",
     kOp,
     "flag?:mmio order:release scope:gpu|sys|cluster space?:global op:add type:u32|s32|u64",
     "[A], T",
     {87, 100},
     kChecked},
    {"multimem.ld_reduce", kOp,
     "order?:weak space?:global op:add word?:acc::f16 vec?:v2|v4|v8 "
     "word:e4m3|e5m2|e4m3x2|e5m2x2|e4m3x4|e5m2x4",
     "=any, [A]", kA, kChecked},
    {"multimem.ld_reduce", kOp,
     "order?:weak space?:global op:min|max vec?:v2|v4|v8 word:e4m3|e5m2|e4m3x2|e5m2x2|e4m3x4|e5m2x4",
     "=any, [A]", kA, kChecked},
    {"multimem.st", kOp, "order?:weak space?:global vec?:v2|v4|v8 word:e4m3|e5m2|e4m3x2|e5m2x2|e4m3x4|e5m2x4",
     "[A], any", kA, kChecked},
};

}  // namespace

std::span<const InstructionForm> later_forms() { return kForms; }

}  // namespace ptxwire::ptx
