// Matrix instructions: parsed and checked, not executed yet (PTX ISA 9.7.14, 9.7.15).
#include "ptx_frontend/isa/instruction_form.hpp"

namespace ptxwire::ptx {
namespace {

constexpr Requirement kWgmma{80, 90, true};

constexpr InstructionForm kForms[] = {
    {"ldmatrix",
     Opcode::ldmatrix,
     "flag:sync flag:aligned word:m8n8 word:x1|x2|x4 word?:trans space?:shared|shared::cta type:b16",
     "=matrix, [A]",
     {65, 75},
     Support::checked_only},
    {"ldmatrix",
     Opcode::ldmatrix,
     "flag:sync flag:aligned word:m16n16|m8n16 word:x1|x2|x4 word?:trans space?:shared|shared::cta type:b8 "
     "word:b8x16",
     "=matrix, [A]",
     {86, 100, true},
     Support::checked_only},
    {"stmatrix",
     Opcode::stmatrix,
     "flag:sync flag:aligned word:m8n8 word:x1|x2|x4 word?:trans space?:shared|shared::cta type:b16",
     "[A], matrix",
     {78, 90},
     Support::checked_only},
    {"movmatrix",
     Opcode::unsupported,
     "flag:sync flag:aligned word:m8n8 word:trans type:b16",
     "=b32, b32",
     {78, 75},
     Support::checked_only},
    {"mma",
     Opcode::mma,
     "flag:sync flag:aligned word:m16n8*|m8n8* word:row|col word:col|row flag?:satfinite "
     "type:f16|f32|f64|s32 word:MMATYPE word:MMATYPE word:f16|f32|f64|s32",
     "=matrix, matrix, matrix, matrix",
     {65, 75},
     Support::checked_only},
    {"wgmma.mma_async", Opcode::wgmma_mma_async,
     "flag:sync flag:aligned word:m64n* type:f16|f32 word:f16|bf16|tf32 word:f16|bf16|tf32",
     "=matrix, matrix, matrix, pred, s32#, s32#, s32#?, s32#?", kWgmma, Support::checked_only},
    {"wgmma.mma_async", Opcode::wgmma_mma_async,
     "flag:sync flag:aligned word:m64n* type:f16|f32 word:e4m3|e5m2 word:e4m3|e5m2",
     "=matrix, matrix, matrix, pred, s32#, s32#", kWgmma, Support::checked_only},
    {"wgmma.mma_async", Opcode::wgmma_mma_async,
     "flag:sync flag:aligned word:m64n* flag?:satfinite type:s32 word:s8|u8 word:s8|u8",
     "=matrix, matrix, matrix, pred", kWgmma, Support::checked_only},
    {"wgmma.fence", Opcode::wgmma_fence, "flag:sync flag:aligned", "", kWgmma, Support::checked_only},
    {"wgmma.commit_group", Opcode::wgmma_commit_group, "flag:sync flag:aligned", "", kWgmma,
     Support::checked_only},
    {"wgmma.wait_group", Opcode::wgmma_wait_group, "flag:sync flag:aligned", "u32#0..7", kWgmma,
     Support::checked_only},
};

}  // namespace

std::span<const InstructionForm> matrix_forms() { return kForms; }

}  // namespace ptxwire::ptx
