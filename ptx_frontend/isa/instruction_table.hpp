// The instruction table in the form the checker uses: the rows of instruction_form.hpp, read once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx_frontend/isa/instruction_form.hpp"
#include "ptx_frontend/isa/modifier_field.hpp"
#include "ptx_frontend/isa/types.hpp"

namespace ptxwire::ptx {

struct ModifierWord {
  std::string_view word;  ///< a '*' matches anything in its place: m64n*k16
  Requirement needs;
  [[nodiscard]] bool matches(std::string_view spelling) const {
    const size_t star = word.find('*');
    if (star == std::string_view::npos) return word == spelling;
    return spelling.size() >= word.size() && spelling.starts_with(word.substr(0, star)) &&
           spelling.ends_with(word.substr(star + 1));
  }
};

struct ModifierGroup {
  ModifierField field = ModifierField::word;
  bool optional = false;
  bool leading = false;  ///< `^`: only as the first word
  std::vector<ModifierWord> words;
};

/// What an operand must be, apart from its type.
enum class OperandClass : uint8_t {
  value,           ///< register or constant of the type
  address,         ///< [a]
  source_address,  ///< [b] in the source space
  shared_address,  ///< [mbar]
  label,
  targets,
  call,
  policy,         ///< 64-bit cache policy, there iff .L2::cache_hint
  sign,           ///< constant 1 or -1
  cta_mask,       ///< 16-bit mask, there iff .multicast::cluster
  source_size,    ///< cp.async: bytes to read, or a predicate that ignores the source
  bulk_size,      ///< 32 bits; a constant must be a multiple of 16
  parity,         ///< 32 bits; a constant must be 0 or 1
  tensor,         ///< [map, {coordinates}]
  vector,         ///< { ... } of any 16-bit or 32-bit values
  matrix,         ///< fragment: { ... }
  descriptor,     ///< of a matrix in shared memory: 64 bits
  parts,          ///< mov: { ... } whose elements make up the type
  barrier,        ///< barrier number
  threads,        ///< thread count of a barrier
  variable,       ///< register of the type, or a variable's address
  sink,           ///< `_` only
  texture,        ///< [handle, coordinates]
  surface,        ///< [handle, coordinates]
  handle,         ///< 64 bits, or the variable of a texture, sampler or surface
  part,           ///< video: register, possibly with a selector of a byte or half
  lanes,          ///< video: register, possibly with a permutation of its halves or bytes
  mask,           ///< video: destination, possibly with a mask of its halves or bytes
  gradient,       ///< texture: { ... } of .f32, one per dimension
  values,         ///< one or several values of any type
  tensor_memory,  ///< [address in tensor memory]: 32 bits
  tensor_matrix,  ///< the same, or a 64-bit descriptor
};

/// Which type an operand has.
enum class TypeSource : uint8_t { fixed, type, source_type, wide, none };

struct OperandSpec {
  OperandClass kind = OperandClass::value;
  TypeSource type_source = TypeSource::none;
  Type fixed = Type::none;
  bool destination = false;
  bool vector = false;            ///< Modifiers::vector elements
  bool wider = false;             ///< `~`
  bool may_brace = false;         ///< `1`
  bool optional = false;          ///< `?`
  bool may_sink = false;          ///< `_`
  bool constant = false;          ///< `#`
  bool ranged = false;            ///< `#a..b`
  bool negatable = false;         ///< `!`
  bool needs_second = false;      ///< `&pred`
  bool second_predicate = false;  ///< `|pred`
  bool special = false;           ///< `%`
  bool symbol = false;            ///< mov: address of a variable or function
  bool register_only = false;     ///< `$`
  bool power_of_two = false;      ///< `/^`
  bool in_vector = false;         ///< an element of a vector, set by the checker
  bool signed_part = false;       ///< video: a minus may stand before
  uint8_t lane_count = 0;         ///< video: 2 or 4
  uint64_t low = 0, high = 0, step = 1;
};

struct CompiledForm {
  const InstructionForm* form = nullptr;
  std::vector<ModifierGroup> groups;
  std::vector<std::pair<ModifierField, std::string_view>> defaults;
  std::vector<OperandSpec> operands;
};

class InstructionTable {
 public:
  /// The one table; read on first use, immutable.
  static const InstructionTable& get();

  /// Forms whose head is the longest one that `spelling` ("ld.global.u32") begins with; `head` receives it.
  /// Empty if there is none.
  [[nodiscard]] std::span<const CompiledForm> find(std::string_view spelling, std::string_view& head) const;

  /// All forms of a head.
  [[nodiscard]] std::span<const CompiledForm> forms(std::string_view head) const;

  /// All heads, in table order.
  [[nodiscard]] const std::vector<std::string_view>& heads() const { return heads_; }

  /// The head most like a misspelt one; empty if none is close.
  [[nodiscard]] std::string nearest_head(std::string_view head) const;

 private:
  InstructionTable();
  std::unordered_map<std::string_view, std::vector<CompiledForm>> forms_;
  std::vector<std::string_view> heads_;
};

}  // namespace ptxwire::ptx
