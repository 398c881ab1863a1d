// One row of the instruction table: one form of an instruction, in a small notation that reads like the
// syntax lines of the ISA.
//
//   {"mul", Opcode::mul, "half:hi|lo type:INT", "=T, T, T"}
//   {"mul", Opcode::mul, "half:wide type:u16|u32|s16|s32", "=W, T, T"}
//   {"ld",  Opcode::ld,  "order:relaxed|acquire scope:SCOPE space?:GSPACE vec?:v2|v4 type:DATA", "=V~, [A]"}
//
// Modifiers are groups with blanks between:
//   field:word|word    one of the words must be written
//   field?:word|word   one of them may be written
//   ^field:word|word   one of the words must be written, and first: mul.lo.s32, never mul.s32.lo
//   field=word         the default, which a written word overrides
// The words of a spelling form a set: in any order, each goes to the first group that takes it and is not yet
// filled (only types, and the two spaces of a copy, keep their order). A field names what the word sets
// (modifier_field.hpp). UPPERCASE words and groups stand for sets (instruction_table.cpp). A word may carry
// what it needs: `v8@88/100` is PTX 8.8 and sm_100, `add@81/90a` is PTX 8.1 and sm_90a.
//
// Operands are separated by commas; `=` marks a destination. Then the type or kind:
//   T, S, W            type of the first or second type word; W is twice as wide as T
//   u32, b64, pred     that type
//   V                  a vector of Modifiers::vector elements of T (a scalar where that is 1)
//   value, variable    as T, but the address of a variable is accepted too
//   parts              { ... } whose elements make up T
//   [A], [B], [shared] address in Modifiers::space, in source_space, in shared memory
//   sign               constant 1 or -1
//   policy, ctamask    there exactly if .L2::cache_hint, .multicast::cluster is written
//   tensor             [map, {c0, ...}]
//   texture, surface   [handle, {c0, ...}];  handle: 64 bits or the variable of a texture or surface
//   part, negpart      a register with a selector of a byte or half, %r1.h0, or without; with a sign
//   lanes2, lanes4     a register with a permutation, %r1.h10, %r1.b3210; mask2, mask4: with a mask
//   gradient           derivatives of the coordinates
//   offsets, any       a vector of any size, or a register; anything of that sort
//   [tmem], tcmatrix   address in tensor memory, in 32 bits; such an address or a descriptor
//   matrix, descriptor registers of a matrix instruction in braces; 64 bits that describe one in shared
//   memory label, targets, call, barrier, threads, srcsize, bulksize, parity, vector, sink   as they say
// Then suffixes:
//   ~  wider registers are accepted            ?  may be left out          _  `_` is accepted
//   1  one register in braces is accepted
//   $  no constant: a register
//   !  `!p` is accepted                        %  special registers are accepted
//   |pred  a second result, d|p, may follow    &pred  must follow
//   #  a constant    #a..b  in this range      #a..b/n  and a multiple of n    #a..b/^  and a power of two
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
  /// Where it exists no more: from this PTX version on for targets from this one on.
  Requirement until{.ptx = UINT8_MAX};
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
std::span<const InstructionForm> warp_matrix_forms();
std::span<const InstructionForm> texture_forms();
std::span<const InstructionForm> video_forms();
std::span<const InstructionForm> later_forms();

}  // namespace ptxwire::ptx
