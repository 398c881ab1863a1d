// Video instructions (PTX ISA 9.7.18): of the words, bytes or halves that a selector picks. Executed are the
// two that compilers emit on sm_90 (CUDA's __vabsdiff and __vsad functions); the rest is parsed and checked.
#include "ptx_frontend/isa/instruction_form.hpp"

namespace ptxwire::ptx {
namespace {

constexpr auto kChecked = Support::checked_only;
constexpr Requirement kScalar{20, 20}, kSimd{30, 30};

constexpr InstructionForm kForms[] = {
    {"vabsdiff2", Opcode::vabsdiff2, "type:u32 stype:u32 word:u32 op?:add", "=T, T$, T$, T$", kSimd},
    {"vabsdiff4", Opcode::vabsdiff4, "type:u32 stype:u32 word:u32 op?:add", "=T, T$, T$, T$", kSimd},
    // ---- one value of a register each
    {"vadd", Opcode::unsupported, "VIDEO3 flag?:sat", "=u32, part, part", kScalar, kChecked},
    {"vadd", Opcode::unsupported, "VIDEO3 flag?:sat", "=part, part, part, u32", kScalar, kChecked},
    {"vadd", Opcode::unsupported, "VIDEO3 flag?:sat op:add|min|max", "=u32, part, part, u32", kScalar,
     kChecked},
    {"vsub", Opcode::unsupported, "VIDEO3 flag?:sat", "=u32, part, part", kScalar, kChecked},
    {"vsub", Opcode::unsupported, "VIDEO3 flag?:sat", "=part, part, part, u32", kScalar, kChecked},
    {"vsub", Opcode::unsupported, "VIDEO3 flag?:sat op:add|min|max", "=u32, part, part, u32", kScalar,
     kChecked},
    {"vabsdiff", Opcode::unsupported, "VIDEO3 flag?:sat", "=u32, part, part", kScalar, kChecked},
    {"vabsdiff", Opcode::unsupported, "VIDEO3 flag?:sat", "=part, part, part, u32", kScalar, kChecked},
    {"vabsdiff", Opcode::unsupported, "VIDEO3 flag?:sat op:add|min|max", "=u32, part, part, u32", kScalar,
     kChecked},
    {"vmin", Opcode::unsupported, "VIDEO3 flag?:sat", "=u32, part, part", kScalar, kChecked},
    {"vmin", Opcode::unsupported, "VIDEO3 flag?:sat", "=part, part, part, u32", kScalar, kChecked},
    {"vmin", Opcode::unsupported, "VIDEO3 flag?:sat op:add|min|max", "=u32, part, part, u32", kScalar,
     kChecked},
    {"vmax", Opcode::unsupported, "VIDEO3 flag?:sat", "=u32, part, part", kScalar, kChecked},
    {"vmax", Opcode::unsupported, "VIDEO3 flag?:sat", "=part, part, part, u32", kScalar, kChecked},
    {"vmax", Opcode::unsupported, "VIDEO3 flag?:sat op:add|min|max", "=u32, part, part, u32", kScalar,
     kChecked},
    {"vshl", Opcode::unsupported, "VIDEOSHIFT flag?:sat", "=u32, part, part", kScalar, kChecked},
    {"vshl", Opcode::unsupported, "VIDEOSHIFT flag?:sat", "=part, part, part, u32", kScalar, kChecked},
    {"vshl", Opcode::unsupported, "VIDEOSHIFT flag?:sat op:add|min|max", "=u32, part, part, u32", kScalar,
     kChecked},
    {"vshr", Opcode::unsupported, "VIDEOSHIFT flag?:sat", "=u32, part, part", kScalar, kChecked},
    {"vshr", Opcode::unsupported, "VIDEOSHIFT flag?:sat", "=part, part, part, u32", kScalar, kChecked},
    {"vshr", Opcode::unsupported, "VIDEOSHIFT flag?:sat op:add|min|max", "=u32, part, part, u32", kScalar,
     kChecked},
    {"vmad", Opcode::unsupported, "VIDEO3 flag?:sat word?:shr7|shr15", "=u32, negpart, negpart, negvalue",
     kScalar, kChecked},
    {"vmad", Opcode::unsupported, "VIDEO3 word:po flag?:sat word?:shr7|shr15", "=u32, part, part, u32",
     kScalar, kChecked},
    {"vset", Opcode::unsupported, "VIDEO2", "=u32, part, part", kScalar, kChecked},
    {"vset", Opcode::unsupported, "VIDEO2", "=part, part, part, u32", kScalar, kChecked},
    {"vset", Opcode::unsupported, "VIDEO2 op:add|min|max", "=u32, part, part, u32", kScalar, kChecked},
    // ---- two halves or four bytes of a register
    {"vadd2", Opcode::unsupported, "VIDEO3 flag?:sat", "=mask2, lanes2, lanes2, u32$", kSimd, kChecked},
    {"vadd2", Opcode::unsupported, "VIDEO3 op:add", "=mask2, lanes2, lanes2, u32$", kSimd, kChecked},
    {"vsub2", Opcode::unsupported, "VIDEO3 flag?:sat", "=mask2, lanes2, lanes2, u32$", kSimd, kChecked},
    {"vsub2", Opcode::unsupported, "VIDEO3 op:add", "=mask2, lanes2, lanes2, u32$", kSimd, kChecked},
    {"vavrg2", Opcode::unsupported, "VIDEO3 flag?:sat", "=mask2, lanes2, lanes2, u32$", kSimd, kChecked},
    {"vavrg2", Opcode::unsupported, "VIDEO3 op:add", "=mask2, lanes2, lanes2, u32$", kSimd, kChecked},
    {"vabsdiff2", Opcode::unsupported, "VIDEO3 flag?:sat", "=mask2, lanes2, lanes2, u32$", kSimd, kChecked},
    {"vabsdiff2", Opcode::unsupported, "VIDEO3 op:add", "=mask2, lanes2, lanes2, u32$", kSimd, kChecked},
    {"vmin2", Opcode::unsupported, "VIDEO3 flag?:sat", "=mask2, lanes2, lanes2, u32$", kSimd, kChecked},
    {"vmin2", Opcode::unsupported, "VIDEO3 op:add", "=mask2, lanes2, lanes2, u32$", kSimd, kChecked},
    {"vmax2", Opcode::unsupported, "VIDEO3 flag?:sat", "=mask2, lanes2, lanes2, u32$", kSimd, kChecked},
    {"vmax2", Opcode::unsupported, "VIDEO3 op:add", "=mask2, lanes2, lanes2, u32$", kSimd, kChecked},
    {"vset2", Opcode::unsupported, "VIDEO2 op?:add", "=mask2, lanes2, lanes2, u32$", kSimd, kChecked},
    {"vadd4", Opcode::unsupported, "VIDEO3 flag?:sat", "=mask4, lanes4, lanes4, u32$", kSimd, kChecked},
    {"vadd4", Opcode::unsupported, "VIDEO3 op:add", "=mask4, lanes4, lanes4, u32$", kSimd, kChecked},
    {"vsub4", Opcode::unsupported, "VIDEO3 flag?:sat", "=mask4, lanes4, lanes4, u32$", kSimd, kChecked},
    {"vsub4", Opcode::unsupported, "VIDEO3 op:add", "=mask4, lanes4, lanes4, u32$", kSimd, kChecked},
    {"vavrg4", Opcode::unsupported, "VIDEO3 flag?:sat", "=mask4, lanes4, lanes4, u32$", kSimd, kChecked},
    {"vavrg4", Opcode::unsupported, "VIDEO3 op:add", "=mask4, lanes4, lanes4, u32$", kSimd, kChecked},
    {"vabsdiff4", Opcode::unsupported, "VIDEO3 flag?:sat", "=mask4, lanes4, lanes4, u32$", kSimd, kChecked},
    {"vabsdiff4", Opcode::unsupported, "VIDEO3 op:add", "=mask4, lanes4, lanes4, u32$", kSimd, kChecked},
    {"vmin4", Opcode::unsupported, "VIDEO3 flag?:sat", "=mask4, lanes4, lanes4, u32$", kSimd, kChecked},
    {"vmin4", Opcode::unsupported, "VIDEO3 op:add", "=mask4, lanes4, lanes4, u32$", kSimd, kChecked},
    {"vmax4", Opcode::unsupported, "VIDEO3 flag?:sat", "=mask4, lanes4, lanes4, u32$", kSimd, kChecked},
    {"vmax4", Opcode::unsupported, "VIDEO3 op:add", "=mask4, lanes4, lanes4, u32$", kSimd, kChecked},
    {"vset4", Opcode::unsupported, "VIDEO2 op?:add", "=mask4, lanes4, lanes4, u32$", kSimd, kChecked},
};

}  // namespace

std::span<const InstructionForm> video_forms() { return kForms; }

}  // namespace ptxwire::ptx
