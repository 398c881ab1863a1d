// One row of the instruction table: one form of an instruction, in a small notation that is read as the ISA's
// own syntax lines are.
//
//   {"mul", Opcode::mul, "half:hi|lo type:INT", "=T, T, T"}
//   {"mul", Opcode::mul, "half:wide type:u16|u32|s16|s32", "=W, T, T"}
//   {"ld",  Opcode::ld,  "order:acquire scope:SCOPE space?:global|shared ...", "=V~, [A], policy"}
//
// Modifiers: groups `field:word|word` (one of the words must be written) and `field?:word|word` (may be). The
// words of one spelling form a set; they are matched in any order, each goes to the first group that takes it
// and is not yet filled. A field names the member of Modifiers that the word sets (see modifier_field.hpp).
// UPPERCASE words are named sets (kWordSets). A word may carry the version and target it needs: `v8@88/100`
// is PTX 8.8 and sm_100, `relu@70`, `add@81/90a`.
//
// Operands, separated by commas: `=` marks a destination, then the type
//   T S        the type of the first / second type word;  W twice as wide as T;  u32, b64, pred ...: that
//   type V          T as vector of Modifiers::vector elements (a scalar for 1); V2 V4 V8 Vn: a vector of that
//   many (any) [A] [B]    address in Modifiers::space / source_space; [shared] [global] [generic]: in that
//   space label function policy ctamask text   as they say; `policy` is there exactly if .L2::cache_hint is
//   written,
//              `ctamask` if .multicast::cluster is
//   tensor     [map, {c0, ...}];  matrix: anything (fragments of matrix instructions are checked by count
//   only)
// and then suffixes
//   ~  wider registers are accepted (ld, st, cvt)     ?  may be left out      _  `_` is accepted
//   #  must be a constant   #a..b  constant in this range    !  `!p` is accepted     |pred  a second result
//   `d|p` %  special registers are accepted
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ptx_frontend/isa/opcode.hpp"

namespace ptxwire::ptx {

/// A PTX version (10 * major + minor) and target that something needs.
struct Requirement {
  uint8_t ptx = 10;
  uint16_t sm = 0;
  bool arch_specific = false;  ///< the 'a' target of exactly this architecture
};

enum class Support : uint8_t { executed, checked_only };

struct InstructionForm {
  std::string_view head;  ///< the positional words: "add", "mbarrier.try_wait"
  Opcode opcode = Opcode::invalid;
  std::string_view modifiers;
  std::string_view operands;
  Requirement needs{};
  Support support = Support::executed;
};

/// The whole table, category after category; forms of one head are tried in this order.
std::span<const std::span<const InstructionForm>> instruction_categories();

// The categories, one file each.
std::span<const InstructionForm> integer_forms();
std::span<const InstructionForm> floating_forms();
std::span<const InstructionForm> comparison_forms();
std::span<const InstructionForm> logic_forms();
std::span<const InstructionForm> conversion_forms();
std::span<const InstructionForm> movement_forms();
std::span<const InstructionForm> memory_forms();
std::span<const InstructionForm> atomic_forms();
std::span<const InstructionForm> async_copy_forms();
std::span<const InstructionForm> barrier_forms();
std::span<const InstructionForm> warp_forms();
std::span<const InstructionForm> control_forms();
std::span<const InstructionForm> matrix_forms();

}  // namespace ptxwire::ptx
