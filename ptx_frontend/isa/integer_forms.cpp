// Integer arithmetic (PTX ISA 9.7.1, 9.7.2).
#include "ptx_frontend/isa/instruction_form.hpp"

namespace ptxwire::ptx {
namespace {

constexpr InstructionForm kForms[] = {
    {"add", Opcode::add, "type:INT", "=T, T, T"},
    {"add", Opcode::add, "flag:sat type:s32", "=T, T, T"},
    {"add", Opcode::add, "type:u16x2|s16x2", "=T, T, T", {80, 90}},
    {"sub", Opcode::sub, "type:INT", "=T, T, T"},
    {"sub", Opcode::sub, "flag:sat type:s32", "=T, T, T"},
    {"add", Opcode::add, "flag:cc type:u32|s32|u64@43|s64@43", "=T, T, T", {12}},
    {"addc", Opcode::add, "flag?:cc type:u32|s32|u64@43|s64@43", "=T, T, T", {12}},
    {"sub", Opcode::sub, "flag:cc type:u32|s32|u64@43|s64@43", "=T, T, T", {12}},
    {"subc", Opcode::sub, "flag?:cc type:u32|s32|u64@43|s64@43", "=T, T, T", {12}},
    {"mul", Opcode::mul, "^half:hi|lo type:INT", "=T, T, T"},
    {"mul", Opcode::mul, "^half:wide type:u16|u32|s16|s32", "=W, T, T"},
    {"mad", Opcode::mad, "^half:hi|lo type:INT", "=T, T, T, T"},
    {"mad", Opcode::mad, "^half:wide type:u16|u32|s16|s32", "=W, T, T, W"},
    {"mad", Opcode::mad, "^half:hi flag:sat type:s32", "=T, T, T, T"},
    {"mad", Opcode::mad, "^half:hi|lo flag:cc type:u32|s32|u64@43|s64@43", "=T, T, T, T", {30, 20}},
    {"madc", Opcode::mad, "^half:hi|lo flag?:cc type:u32|s32|u64@43|s64@43", "=T, T, T, T", {30, 20}},
    {"mul24", Opcode::mul24, "^half:hi|lo type:u32|s32", "=T, T, T"},
    {"mad24", Opcode::mad24, "^half:hi|lo type:u32|s32", "=T, T, T, T"},
    {"mad24", Opcode::mad24, "^half:hi flag:sat type:s32", "=T, T, T, T"},
    {"sad", Opcode::sad, "type:INT", "=T, T, T, T"},
    {"div", Opcode::div, "type:INT", "=T, T, T"},
    {"rem", Opcode::rem, "type:INT", "=T, T, T"},
    {"abs", Opcode::abs, "type:s16|s32|s64", "=T, T"},
    {"neg", Opcode::neg, "type:s16|s32|s64", "=T, T"},
    {"min", Opcode::min, "type:INT", "=T, T, T"},
    {"min", Opcode::min, "type:u16x2|s16x2", "=T, T, T", {80, 90}},
    {"min", Opcode::min, "flag:relu type:s16x2|s32", "=T, T, T", {80, 90}},
    {"max", Opcode::max, "type:INT", "=T, T, T"},
    {"max", Opcode::max, "type:u16x2|s16x2", "=T, T, T", {80, 90}},
    {"max", Opcode::max, "flag:relu type:s16x2|s32", "=T, T, T", {80, 90}},
    {"popc", Opcode::popc, "type:b32|b64", "=u32, T", {20, 20}},
    {"clz", Opcode::clz, "type:b32|b64", "=u32, T", {20, 20}},
    {"bfind", Opcode::bfind, "flag?:shiftamt type:u32|u64|s32|s64", "=u32, T", {20, 20}},
    {"brev", Opcode::brev, "type:b32|b64", "=T, T", {20, 20}},
    {"bfe", Opcode::bfe, "type:u32|u64|s32|s64", "=T, T, u32, u32", {20, 20}},
    {"bfi", Opcode::bfi, "type:b32|b64", "=T, T, T, u32, u32", {20, 20}},
    {"fns", Opcode::fns, "type:b32", "=T, b32, b32, s32", {60, 30}},
    {"bmsk", Opcode::bmsk, "shift:wrap|clamp type:b32", "=u32, u32, u32", {76, 70}},
    {"szext", Opcode::szext, "shift:wrap|clamp type:u32|s32", "=T, T, u32", {76, 70}},
    {"dp4a", Opcode::dp4a, "type:u32|s32 stype:u32|s32", "=b32, b32, b32, b32", {50, 61}},
    {"dp2a", Opcode::dp2a, "^half:lo|hi type:u32|s32 stype:u32|s32", "=b32, b32, b32, b32", {50, 61}},
};

}  // namespace

std::span<const InstructionForm> integer_forms() { return kForms; }

}  // namespace ptxwire::ptx
