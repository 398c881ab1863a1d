// Logic and shift (PTX ISA 9.7.8), and byte permutation.
#include "ptx_frontend/isa/instruction_form.hpp"

namespace ptxwire::ptx {
namespace {

constexpr InstructionForm kForms[] = {
    {"and", Opcode::and_op, "type:pred|BITS", "=T, T, T"},
    {"or", Opcode::or_op, "type:pred|BITS", "=T, T, T"},
    {"xor", Opcode::xor_op, "type:pred|BITS", "=T, T, T"},
    {"not", Opcode::not_op, "type:pred|BITS", "=T, T"},
    {"cnot", Opcode::cnot, "type:BITS", "=T, T"},
    {"lop3", Opcode::lop3, "type:b32", "=T, T, T, T, u32#", {43, 50}},
    {"lop3", Opcode::lop3, "bool:or|and type:b32", "=T_&pred, T, T, T, u32#, pred!", {82, 70}},
    {"shf", Opcode::shf, "^flag:l|r shift:clamp|wrap type:b32", "=T, T, T, u32", {31, 32}},
    {"shl", Opcode::shl, "type:BITS", "=T, T, u32"},
    {"shr", Opcode::shr, "type:BITS|INT", "=T, T, u32"},
    {"prmt", Opcode::prmt, "type:b32 prmt?:f4e|b4e|rc8|ecl|ecr|rc16", "=T, T, T, u32", {20, 20}},
};

}  // namespace

std::span<const InstructionForm> logic_forms() { return kForms; }

}  // namespace ptxwire::ptx
