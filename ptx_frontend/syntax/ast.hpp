// The tree of one PTX module: what the parser builds, what the checker resolves in place, what
// linking and lowering read. Names are views into the module's own text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ptx_frontend/isa/opcode.hpp"
#include "ptx_frontend/isa/types.hpp"

namespace ptxwire::ptx {

/// Half-open byte range [begin, end) of the module text.
struct SourceRange {
  uint32_t begin = 0;
  uint32_t end = 0;
};

inline constexpr uint32_t kNoSymbol = UINT32_MAX;

enum class OperandKind : uint8_t {
  none,
  identifier,   ///< register, variable, label, function or parameter: `symbol` after checking
  special,      ///< special register: `special`
  integer,      ///< `value` (two's complement), `is_unsigned`
  float32,      ///< bits of an f32 in `value` (0f...)
  float64,      ///< bits of an f64 in `value` (0d... or a decimal floating literal)
  vector,       ///< { a, b, ... }: `elements`
  address,      ///< [base + offset]: elements[0] is the base (identifier or integer), `offset`; may have more
                ///< elements for tensor coordinates [map, {c0, c1}]
  pair,         ///< p|q: elements[0], elements[1]
  sink,         ///< _
  list,         ///< ( a, b ) of a call: `elements`
  name_offset,  ///< sym+imm outside brackets (mov.u64 %rd, sym+8): elements[0], `offset`
};

struct Operand {
  OperandKind kind = OperandKind::none;
  bool negated = false;  ///< !p
  bool is_unsigned = false;
  bool indexed = false;   ///< a[3]: until checking, `offset` counts elements
  uint8_t component = 0;  ///< .x .y .z .w / .r .g .b .a of a vector register: 1..4; 0 none
  SpecialRegister special = SpecialRegister::count;
  SourceRange range;
  std::string_view name;
  uint64_t value = 0;
  int64_t offset = 0;
  /// After checking. For identifiers: index into Function::symbols, or, with bit 31 set, into
  /// Module::symbols. `element` is the number in a parametrised name (%r<10>: %r7 has element 7).
  uint32_t symbol = kNoSymbol;
  uint32_t element = 0;
  std::vector<Operand> elements;
};

inline constexpr uint32_t kModuleSymbolBit = 0x80000000U;

struct Guard {
  bool present = false;
  bool negated = false;
  Operand predicate;
};

struct Instruction {
  SourceRange range;       ///< from the guard to the ';'
  SourceRange head_range;  ///< the opcode word
  std::string_view text;   ///< full spelling, e.g. "ld.global.nc.v4.s32"
  Guard guard;
  std::vector<Operand> operands;  ///< in written order
  uint32_t line = 0;              ///< 1-based
  uint32_t scope = 0;             ///< index into Function::scopes
  uint32_t location = 0;          ///< index into Module::locations of the .loc in force (0: none)
  // ---- filled by the checker
  Opcode opcode = Opcode::invalid;
  Modifiers modifiers;
  bool executable = false;  ///< semantics exist in sim/exec (else refused at run time by name and line)
};

enum class SymbolKind : uint8_t {
  reg,
  variable,
  parameter,
  label,
  function,
  alias,
  call_prototype,
  branch_targets,
  call_targets
};
enum class Linkage : uint8_t { none, visible, external, weak, common };

/// One entry of an initialiser: raw bytes, or the address of a symbol (generic() or not) plus addend.
struct InitialiserItem {
  uint64_t offset = 0;  ///< bytes from the start of the variable
  uint8_t bytes = 0;    ///< 1, 2, 4, 8
  uint64_t value = 0;   ///< literal, or addend when `name` is set
  std::string_view name;
  bool generic = false;
  uint8_t mask_shift = 0;       ///< mask() initialisers: shift of the taken byte; bytes == 1
  uint32_t symbol = kNoSymbol;  ///< resolved by the checker (module symbol)
};

struct Symbol {
  SymbolKind kind = SymbolKind::reg;
  Space space = Space::generic;
  Linkage linkage = Linkage::none;
  Type type = Type::none;
  uint8_t vector = 1;
  bool parametrised = false;  ///< %r<N>: `count` registers named <name>0 .. <name>N-1
  bool is_array = false;      ///< dimensions were written
  bool unsized = false;       ///< first dimension [] (dynamic shared memory, flexible parameter)
  bool pointer = false;       ///< .ptr on a kernel parameter
  uint32_t count = 1;         ///< parametrised registers
  uint32_t align = 0;         ///< bytes; 0: natural alignment of the type
  uint32_t scope = 0;         ///< index into Function::scopes; 0 for the outermost
  uint64_t elements = 1;      ///< product of the dimensions (0: unsized)
  std::string_view name;
  SourceRange range;              ///< of the name
  uint32_t instruction = 0;       ///< label: index of the instruction that follows it in Function::body
  uint32_t function = kNoSymbol;  ///< function symbol: index into Module::functions
  std::vector<InitialiserItem> initialiser;
  std::vector<std::string_view> targets;  ///< branch_targets/call_targets
  // call_prototype: sizes of return value and parameters
  std::vector<Symbol> prototype_returns, prototype_parameters;
  [[nodiscard]] uint64_t bytes() const { return elements * vector * type_bytes(type); }
};

/// A { } block of a function; scope 0 is the function body. Lookup walks `parent`.
struct BlockScope {
  uint32_t parent = UINT32_MAX;
  SourceRange range;
};

/// Launch bounds and resource directives; 0 where absent.
struct LaunchDirectives {
  uint32_t maxntid[3] = {0, 0, 0};
  uint32_t reqntid[3] = {0, 0, 0};
  uint32_t reqnctapercluster[3] = {0, 0, 0};
  uint32_t minnctapersm = 0, maxnctapersm = 0, maxnreg = 0, maxclusterrank = 0;
  bool explicit_cluster = false, no_return = false, blocks_are_clusters = false;
};

struct Function {
  std::string_view name;
  SourceRange name_range;
  bool is_entry = false;
  bool is_definition = false;  ///< has a body; a forward declaration or .extern has none
  Linkage linkage = Linkage::none;
  LaunchDirectives directives;
  std::vector<uint32_t> returns;     ///< indices into symbols (kind parameter)
  std::vector<uint32_t> parameters;  ///< indices into symbols (kind parameter)
  std::vector<Symbol> symbols;
  std::vector<BlockScope> scopes;
  std::vector<Instruction> body;  ///< flattened in order; blocks are kept through Instruction::scope
};

/// `.loc file line column` (and inlined_at) in force for instructions.
struct Location {
  uint32_t file = 0;  ///< number of the .file directive
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t inlined_at = 0;  ///< index into Module::locations, 0 none
};

struct Module {
  std::string path;  ///< as given by the user, for messages
  std::shared_ptr<const std::string> text;
  uint32_t version_major = 0, version_minor = 0;
  std::string_view target;            ///< "sm_90a"
  uint32_t target_sm = 0;             ///< 90
  bool target_arch_specific = false;  ///< the trailing 'a'
  bool target_debug = false;
  std::vector<Symbol> symbols;  ///< module scope: variables, functions, aliases
  std::vector<Function> functions;
  std::vector<Location> locations{Location{}};  ///< entry 0 means none
  std::vector<std::pair<uint32_t, std::string_view>> files;
};

}  // namespace ptxwire::ptx
