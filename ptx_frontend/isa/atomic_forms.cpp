// Atomics and reductions (PTX ISA 9.7.13.5 to 9.7.13.7).
#include "ptx_frontend/isa/instruction_form.hpp"

namespace ptxwire::ptx {
namespace {

constexpr Requirement kVector{81, 90};

constexpr InstructionForm kForms[] = {
    {"atom", Opcode::atom, "ATOMIC op:add type:u32|s32|u64|f32|f64@50/60", "=T_, [A], T, policy", {11, 11}},
    {"atom", Opcode::atom, "ATOMIC op:add flag:noftz type:f16|f16x2", "=T_, [A], T, policy", {63, 70}},
    {"atom", Opcode::atom, "ATOMIC op:add flag:noftz type:bf16|bf16x2", "=T_, [A], T, policy", {78, 90}},
    {"atom", Opcode::atom, "ATOMIC op:min|max type:u32|s32|u64|s64", "=T_, [A], T, policy", {11, 12}},
    {"atom", Opcode::atom, "ATOMIC op:inc|dec type:u32", "=T_, [A], T, policy", {11, 11}},
    {"atom", Opcode::atom, "ATOMIC op:and|or|xor type:b32|b64", "=T_, [A], T, policy", {11, 11}},
    {"atom", Opcode::atom, "ATOMIC op:exch type:b32|b64|b128@83/90", "=T_, [A], T, policy", {11, 11}},
    {"atom",
     Opcode::atom,
     "order?:relaxed@60/70|acquire@60/70|release@60/70|acq_rel@60/70 "
     "scope?:cta@60/70|cluster@78/90|gpu@60/70|sys@50/60 space?:GSPACE op:cas type:b32|b64|b128@83/90",
     "=T_, [A], T, T",
     {11, 11}},
    {"atom",
     Opcode::atom,
     "order?:relaxed|acquire|release|acq_rel scope?:SCOPE space?:GSPACE op:cas type:b16",
     "=T_, [A], T, T",
     {63, 70}},
    {"atom", Opcode::atom, "ATOMIC op:add vec:v2|v4 type:f32", "=V_, [A], V, policy", kVector},
    {"atom", Opcode::atom, "ATOMIC op:add|min|max flag:noftz vec:v2|v4|v8 type:f16|bf16",
     "=V_, [A], V, policy", kVector},
    {"atom", Opcode::atom, "ATOMIC op:add|min|max flag:noftz vec:v2|v4 type:f16x2|bf16x2",
     "=V_, [A], V, policy", kVector},
    {"red", Opcode::red, "REDUCTION op:add type:u32|s32|u64|f32|f64@50/60", "[A], T, policy", {12, 11}},
    {"red", Opcode::red, "REDUCTION op:add flag:noftz type:f16|f16x2", "[A], T, policy", {63, 70}},
    {"red", Opcode::red, "REDUCTION op:add flag:noftz type:bf16|bf16x2", "[A], T, policy", {78, 90}},
    {"red", Opcode::red, "REDUCTION op:min|max type:u32|s32|u64|s64", "[A], T, policy", {12, 12}},
    {"red", Opcode::red, "REDUCTION op:inc|dec type:u32", "[A], T, policy", {12, 11}},
    {"red", Opcode::red, "REDUCTION op:and|or|xor type:b32|b64", "[A], T, policy", {12, 11}},
    {"red", Opcode::red, "REDUCTION op:add vec:v2|v4 type:f32", "[A], V, policy", kVector},
    {"red", Opcode::red, "REDUCTION op:add|min|max flag:noftz vec:v2|v4|v8 type:f16|bf16", "[A], V, policy",
     kVector},
    {"red", Opcode::red, "REDUCTION op:add|min|max flag:noftz vec:v2|v4 type:f16x2|bf16x2", "[A], V, policy",
     kVector},
    {"red.async",
     Opcode::red_async,
     "order:relaxed scope:cluster compl:mbarrier::complete_tx::bytes space?:shared::cluster op:inc|dec "
     "type:u32",
     "[A], T, [A]",
     {81, 90}},
    {"red.async",
     Opcode::red_async,
     "order:relaxed scope:cluster compl:mbarrier::complete_tx::bytes space?:shared::cluster op:min|max "
     "type:u32|s32",
     "[A], T, [A]",
     {81, 90}},
    {"red.async",
     Opcode::red_async,
     "order:relaxed scope:cluster compl:mbarrier::complete_tx::bytes space?:shared::cluster op:add "
     "type:u32|s32|u64",
     "[A], T, [A]",
     {81, 90}},
    {"red.async",
     Opcode::red_async,
     "order:relaxed scope:cluster compl:mbarrier::complete_tx::bytes space?:shared::cluster op:and|or|xor "
     "type:b32",
     "[A], T, [A]",
     {81, 90}},
};

}  // namespace

std::span<const InstructionForm> atomic_forms() { return kForms; }

}  // namespace ptxwire::ptx
