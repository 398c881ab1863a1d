// Exchange and agreement between the lanes of a warp (PTX ISA 9.7.9.6, 9.7.13.8 to 9.7.13.14).
#include "ptx_frontend/isa/instruction_form.hpp"

namespace ptxwire::ptx {
namespace {

constexpr Requirement kNoSync{64, 70};

constexpr InstructionForm kForms[] = {
    {"shfl", Opcode::shfl, "flag:sync shfl:up|down|bfly|idx type:b32", "=T|pred, T, u32, u32, u32", {60, 30}},
    {"vote", Opcode::vote, "flag:sync vote:all|any|uni type:pred", "=pred, pred!, u32", {60, 30}},
    {"vote", Opcode::vote, "flag:sync vote:ballot type:b32", "=b32, pred!, u32", {60, 30}},
    {"match", Opcode::match, "match:any flag:sync type:b32|b64", "=b32, T, u32", {60, 70}},
    {"match", Opcode::match, "match:all flag:sync type:b32|b64", "=b32_|pred, T, u32", {60, 70}},
    {"activemask", Opcode::activemask, "type:b32", "=b32", {62, 30}},
    {"redux", Opcode::redux, "flag:sync op:add|min|max type:u32|s32", "=T, T, u32", {70, 80}},
    {"redux", Opcode::redux, "flag:sync op:and|or|xor type:b32", "=T, T, u32", {70, 80}},
    {"redux",
     Opcode::redux,
     "flag:sync op:min|max flag?:abs flag?:NaN type:f32",
     "=T, T, u32",
     {86, 100, true},
     Support::checked_only},
    // ---- without `.sync` the lanes that take part are whoever comes along: gone since sm_70
    {"shfl",
     Opcode::unsupported,
     "shfl:up|down|bfly|idx type:b32",
     "=T|pred, T, u32, u32",
     {30, 30},
     Support::checked_only,
     kNoSync},
    {"vote",
     Opcode::unsupported,
     "vote:all|any|uni type:pred",
     "=pred, pred!",
     {12, 12},
     Support::checked_only,
     kNoSync},
    {"vote",
     Opcode::unsupported,
     "vote:ballot type:b32",
     "=b32, pred!",
     {20, 20},
     Support::checked_only,
     kNoSync},
    {"elect", Opcode::elect, "flag:sync", "=b32_&pred, u32", {80, 90}},
};

}  // namespace

std::span<const InstructionForm> warp_forms() { return kForms; }

}  // namespace ptxwire::ptx
