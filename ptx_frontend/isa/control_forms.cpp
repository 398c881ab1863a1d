// Control flow and miscellaneous (PTX ISA 9.7.12, 9.7.19).
#include "ptx_frontend/isa/instruction_form.hpp"

namespace ptxwire::ptx {
namespace {

constexpr InstructionForm kForms[] = {
    {"bra", Opcode::bra, "flag?:uni", "label"},
    {"brx.idx", Opcode::brx, "flag?:uni", "u32, targets", {60, 30}},
    {"call", Opcode::call, "flag?:uni", "call"},
    {"ret", Opcode::ret, "flag?:uni", ""},
    {"exit", Opcode::exit, "", ""},
    {"trap", Opcode::trap, "", ""},
    {"brkpt", Opcode::brkpt, "", "", {10, 11}},
    {"nanosleep", Opcode::nanosleep, "type:u32", "u32", {63, 70}},
    {"pmevent", Opcode::nop, "", "u32#0..15", {14}},
    {"pmevent", Opcode::nop, "word:mask", "u32#0..65535", {30, 20}},
    {"alloca",
     Opcode::unsupported,
     "type:u32|u64",
     "=T, T, u32#1..65536/^?",
     {73, 52},
     Support::checked_only},
    {"stacksave", Opcode::unsupported, "type:u32|u64", "=T", {73, 52}, Support::checked_only},
    {"stackrestore", Opcode::unsupported, "type:u32|u64", "T$", {73, 52}, Support::checked_only},
};

}  // namespace

std::span<const InstructionForm> control_forms() { return kForms; }

}  // namespace ptxwire::ptx
