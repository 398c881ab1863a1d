// mov in its meanings (PTX ISA 9.7.9.4, 9.7.9.5).
#include "ptx_frontend/isa/instruction_form.hpp"

namespace ptxwire::ptx {
namespace {

constexpr InstructionForm kForms[] = {
    {"mov", Opcode::mov, "type:pred|BITS|INT|f32|f64", "=T, value%"},
    {"mov", Opcode::mov, "type:b128", "=T, T", {83, 70}},
    {"mov", Opcode::mov_pack, "type:BITS|b128@83/70", "=T, parts"},
    {"mov", Opcode::mov_unpack, "type:BITS|b128@83/70", "=parts, T"},
    {"mov", Opcode::mov, "vec:v2|v4 type:BITS|INT|f32|f64", "=V, V%"},
};

}  // namespace

std::span<const InstructionForm> movement_forms() { return kForms; }

}  // namespace ptxwire::ptx
