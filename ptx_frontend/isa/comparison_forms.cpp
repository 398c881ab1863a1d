// Comparison and selection (PTX ISA 9.7.6, 9.7.7).
#include "ptx_frontend/isa/instruction_form.hpp"

namespace ptxwire::ptx {
namespace {

constexpr InstructionForm kForms[] = {
    {"setp", Opcode::setp, "cmp:eq|ne type:BITS", "=pred_|pred, T, T"},
    {"setp", Opcode::setp, "cmp:eq|ne|lt|le|gt|ge|lo|ls|hi|hs type:UINT", "=pred_|pred, T, T"},
    {"setp", Opcode::setp, "cmp:eq|ne|lt|le|gt|ge type:SINT", "=pred_|pred, T, T"},
    {"setp", Opcode::setp, "cmp:FCMP flag?:ftz type:f32", "=pred_|pred, T, T"},
    {"setp", Opcode::setp, "cmp:FCMP type:f64", "=pred_|pred, T, T"},
    {"setp", Opcode::setp, "cmp:FCMP flag?:ftz type:f16", "=pred, T, T", {42, 53}},
    {"setp", Opcode::setp, "cmp:FCMP flag?:ftz type:f16x2", "=pred|pred, T, T", {42, 53}},
    {"setp", Opcode::setp, "cmp:FCMP type:bf16", "=pred, T, T", {78, 90}},
    {"setp", Opcode::setp, "cmp:FCMP type:bf16x2", "=pred|pred, T, T", {78, 90}},
    {"setp", Opcode::setp, "cmp:eq|ne bool:BOOL type:BITS", "=pred_|pred, T, T, pred!"},
    {"setp", Opcode::setp, "cmp:eq|ne|lt|le|gt|ge|lo|ls|hi|hs bool:BOOL type:UINT",
     "=pred_|pred, T, T, pred!"},
    {"setp", Opcode::setp, "cmp:eq|ne|lt|le|gt|ge bool:BOOL type:SINT", "=pred_|pred, T, T, pred!"},
    {"setp", Opcode::setp, "cmp:FCMP bool:BOOL flag?:ftz type:f32", "=pred_|pred, T, T, pred!"},
    {"setp", Opcode::setp, "cmp:FCMP bool:BOOL type:f64", "=pred_|pred, T, T, pred!"},
    {"setp", Opcode::setp, "cmp:FCMP bool:BOOL flag?:ftz type:f16", "=pred, T, T, pred!", {42, 53}},
    {"setp", Opcode::setp, "cmp:FCMP bool:BOOL flag?:ftz type:f16x2", "=pred|pred, T, T, pred!", {42, 53}},
    {"setp", Opcode::setp, "cmp:FCMP bool:BOOL type:bf16", "=pred, T, T, pred!", {78, 90}},
    {"setp", Opcode::setp, "cmp:FCMP bool:BOOL type:bf16x2", "=pred|pred, T, T, pred!", {78, 90}},
    {"set", Opcode::set, "cmp:eq|ne type:u32|s32|f32 stype:BITS", "=T, S, S"},
    {"set", Opcode::set, "cmp:eq|ne|lt|le|gt|ge|lo|ls|hi|hs type:u32|s32|f32 stype:UINT", "=T, S, S"},
    {"set", Opcode::set, "cmp:eq|ne|lt|le|gt|ge type:u32|s32|f32 stype:SINT", "=T, S, S"},
    {"set", Opcode::set, "cmp:FCMP flag?:ftz type:u32|s32|f32 stype:f32", "=T, S, S"},
    {"set", Opcode::set, "cmp:FCMP type:u32|s32|f32 stype:f64", "=T, S, S"},
    {"set", Opcode::set, "cmp:FCMP flag?:ftz type:f16|u16|s16|u32|s32 stype:f16", "=T, S, S", {42, 53}},
    {"set", Opcode::set, "cmp:FCMP flag?:ftz type:f16x2|u32|s32 stype:f16x2", "=T, S, S", {42, 53}},
    {"set", Opcode::set, "cmp:FCMP type:bf16|u16|s16|u32|s32 stype:bf16", "=T, S, S", {78, 90}},
    {"set", Opcode::set, "cmp:FCMP type:bf16x2|u32|s32 stype:bf16x2", "=T, S, S", {78, 90}},
    {"set", Opcode::set, "cmp:eq|ne bool:BOOL type:u32|s32|f32 stype:BITS", "=T, S, S, pred!"},
    {"set", Opcode::set, "cmp:eq|ne|lt|le|gt|ge|lo|ls|hi|hs bool:BOOL type:u32|s32|f32 stype:UINT",
     "=T, S, S, pred!"},
    {"set", Opcode::set, "cmp:eq|ne|lt|le|gt|ge bool:BOOL type:u32|s32|f32 stype:SINT", "=T, S, S, pred!"},
    {"set", Opcode::set, "cmp:FCMP bool:BOOL flag?:ftz type:u32|s32|f32 stype:f32", "=T, S, S, pred!"},
    {"set", Opcode::set, "cmp:FCMP bool:BOOL type:u32|s32|f32 stype:f64", "=T, S, S, pred!"},
    {"set",
     Opcode::set,
     "cmp:FCMP bool:BOOL flag?:ftz type:f16|u16|s16|u32|s32 stype:f16",
     "=T, S, S, pred!",
     {42, 53}},
    {"set",
     Opcode::set,
     "cmp:FCMP bool:BOOL flag?:ftz type:f16x2|u32|s32 stype:f16x2",
     "=T, S, S, pred!",
     {42, 53}},
    {"set",
     Opcode::set,
     "cmp:FCMP bool:BOOL type:bf16|u16|s16|u32|s32 stype:bf16",
     "=T, S, S, pred!",
     {78, 90}},
    {"set", Opcode::set, "cmp:FCMP bool:BOOL type:bf16x2|u32|s32 stype:bf16x2", "=T, S, S, pred!", {78, 90}},
    {"selp", Opcode::selp, "type:BITS|INT|f32|f64", "=T, T, T, pred"},
    {"slct", Opcode::slct, "type:BITS|INT|f32|f64 stype:s32", "=T, T, T, S"},
    {"slct", Opcode::slct, "flag?:ftz type:BITS|INT|f32|f64 stype:f32", "=T, T, T, S"},
};

}  // namespace

std::span<const InstructionForm> comparison_forms() { return kForms; }

}  // namespace ptxwire::ptx
