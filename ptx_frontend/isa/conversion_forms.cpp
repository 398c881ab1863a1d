// Conversions between types and between address spaces (PTX ISA 9.7.9.20 to 9.7.9.24).
#include "ptx_frontend/isa/instruction_form.hpp"

namespace ptxwire::ptx {
namespace {

constexpr InstructionForm kForms[] = {
    // integer to integer
    {"cvt", Opcode::cvt, "type:INT8 stype:INT8", "=T~, S~%"},
    // .sat where the destination cannot hold every source value
    {"cvt", Opcode::cvt, "flag:sat type:u8 stype:u16|u32|u64|s8|s16|s32|s64", "=T~, S~%"},
    {"cvt", Opcode::cvt, "flag:sat type:u16 stype:u32|u64|s8|s16|s32|s64", "=T~, S~%"},
    {"cvt", Opcode::cvt, "flag:sat type:u32 stype:u64|s8|s16|s32|s64", "=T~, S~%"},
    {"cvt", Opcode::cvt, "flag:sat type:u64 stype:s8|s16|s32|s64", "=T~, S~%"},
    {"cvt", Opcode::cvt, "flag:sat type:s8 stype:s16|s32|s64|u8|u16|u32|u64", "=T~, S~%"},
    {"cvt", Opcode::cvt, "flag:sat type:s16 stype:s32|s64|u16|u32|u64", "=T~, S~%"},
    {"cvt", Opcode::cvt, "flag:sat type:s32 stype:s64|u32|u64", "=T~, S~%"},
    {"cvt", Opcode::cvt, "flag:sat type:s64 stype:u64", "=T~, S~%"},
    // float to integer, integer to float: a rounding mode is required
    {"cvt", Opcode::cvt, "rnd:rni|rzi|rmi|rpi flag?:ftz flag?:sat type:INT8 stype:f32", "=T~, S~%"},
    {"cvt", Opcode::cvt, "rnd:rni|rzi|rmi|rpi flag?:sat type:INT8 stype:f16", "=T~, S~%"},
    {"cvt", Opcode::cvt, "rnd:rni|rzi|rmi|rpi flag?:sat type:INT8 stype:f64", "=T~, S~%"},
    {"cvt", Opcode::cvt, "rnd:rni|rzi|rmi|rpi type:INT stype:bf16", "=T~, S~%", {78, 90}},
    {"cvt", Opcode::cvt, "rnd:rn|rz|rm|rp flag?:ftz flag?:sat type:f32 stype:INT8", "=T~, S~%"},
    {"cvt", Opcode::cvt, "rnd:rn|rz|rm|rp flag?:sat type:f64|f16 stype:INT8", "=T~, S~%"},
    {"cvt", Opcode::cvt, "rnd:rn|rz|rm|rp type:bf16 stype:INT", "=T~, S~%", {78, 90}},
    // widening float: exact, no rounding mode
    {"cvt", Opcode::cvt, "flag?:ftz flag?:sat type:f32 stype:f16", "=T~, S~%"},
    {"cvt", Opcode::cvt, "type:f32 stype:bf16", "=T~, S~%", {71, 80}},
    {"cvt", Opcode::cvt, "flag?:ftz flag?:sat type:f64 stype:f32", "=T~, S~%"},
    {"cvt", Opcode::cvt, "flag?:sat type:f64 stype:f16", "=T~, S~%"},
    {"cvt", Opcode::cvt, "type:f64 stype:bf16", "=T~, S~%", {78, 90}},
    // narrowing float
    {"cvt", Opcode::cvt, "rnd:rn|rz|rm|rp flag?:ftz flag?:sat type:f32 stype:f64", "=T~, S~%"},
    {"cvt", Opcode::cvt, "rnd:rn|rz|rm|rp flag?:ftz flag?:sat type:f16 stype:f32", "=T~, S~%"},
    {"cvt", Opcode::cvt, "rnd:rn|rz|rm|rp flag?:sat type:f16 stype:f64", "=T~, S~%"},
    {"cvt",
     Opcode::cvt,
     "rnd:rn|rz flag?:relu flag?:satfinite@81 type:f16|bf16 stype:f32",
     "=T~, S~%",
     {70, 80}},
    {"cvt", Opcode::cvt, "rnd:rn|rz|rm|rp type:bf16 stype:f16|f32|f64", "=T~, S~%", {78, 90}},
    {"cvt", Opcode::cvt, "rnd:rn|rz|rm|rp type:f16 stype:bf16", "=T~, S~%", {78, 90}},
    // to an integral value of the same format
    {"cvt", Opcode::cvt, "rnd?:rni|rzi|rmi|rpi flag?:ftz flag?:sat type:f32 stype:f32", "=T~, S~%"},
    {"cvt", Opcode::cvt, "rnd?:rni|rzi|rmi|rpi flag?:sat type:f64 stype:f64", "=T~, S~%"},
    {"cvt", Opcode::cvt, "rnd?:rni|rzi|rmi|rpi flag?:sat type:f16 stype:f16", "=T~, S~%"},
    {"cvt", Opcode::cvt, "rnd?:rni|rzi|rmi|rpi type:bf16 stype:bf16", "=T~, S~%", {78, 90}},
    // packed halves from two floats
    {"cvt",
     Opcode::cvt,
     "rnd:rn|rz flag?:relu flag?:satfinite@81 type:f16x2|bf16x2 stype:f32",
     "=T, S, S",
     {70, 80}},
    {"cvt", Opcode::cvt, "rnd:rna flag?:satfinite@81/89 type:tf32 stype:f32", "=b32, f32", {70, 80}},
    {"cvt",
     Opcode::cvt,
     "rnd:rn|rz flag?:relu flag?:satfinite@86/100 type:tf32 stype:f32",
     "=b32, f32",
     {78, 90}},
    // FP8 pairs: from 7.8 on sm_90; sm_89 would ask for 8.1.
    {"cvt",
     Opcode::cvt,
     "rnd:rn flag:satfinite flag?:relu type:e4m3x2|e5m2x2 stype:f32",
     "=b16, f32, f32",
     {78, 89}},
    {"cvt",
     Opcode::cvt,
     "rnd:rn flag:satfinite flag?:relu type:e4m3x2|e5m2x2 stype:f16x2",
     "=b16, b32",
     {78, 89}},
    {"cvt", Opcode::cvt, "rnd:rn flag?:relu type:f16x2 stype:e4m3x2|e5m2x2", "=b32, b16$", {78, 89}},
    {"cvt.pack", Opcode::cvt_pack, "flag:sat type:u16|s16 stype:s32", "=u32, s32, s32", {65, 72}},
    {"cvt.pack", Opcode::cvt_pack, "flag:sat type:u8|s8 stype:s32 word:b32", "=u32, s32, s32, b32", {65, 72}},
    // addresses
    {"cvta",
     Opcode::cvta,
     "space:const|global|local|shared|shared::cta@78|shared::cluster@78/90|param@77/70|param::entry@83/70 "
     "type:u64",
     "=u64, variable",
     {20, 20}},
    {"cvta",
     Opcode::cvta,
     "^flag:to "
     "space:const|global|local|shared|shared::cta@78|shared::cluster@78/90|param@77/70|param::entry@83/70 "
     "type:u64",
     "=u64, u64",
     {20, 20}},
    {"isspacep",
     Opcode::isspacep,
     "space:const|global|local|shared|shared::cta@78|shared::cluster@78/90|param@77/70|param::entry@83/70",
     "=pred, u64",
     {20, 20}},
    {"mapa", Opcode::mapa, "space?:shared::cluster type:u32|u64", "=T, variable, u32", {78, 90}},
    {"getctarank", Opcode::getctarank, "space?:shared::cluster type:u32|u64", "=u32, variable", {78, 90}},
};

}  // namespace

std::span<const InstructionForm> conversion_forms() { return kForms; }

}  // namespace ptxwire::ptx
