// The executable form of linked modules: what lowering makes and what the simulator runs.
// Nothing here knows of time except static facts (issue slots, latency class) about an instruction.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ptx_frontend/isa/opcode.hpp"
#include "ptx_frontend/isa/types.hpp"
#include "ptx_frontend/syntax/ast.hpp"

namespace ptxwire::ptx {

/// Where an operand lives.
///  reg:       `index` counts 128-byte rows (32 lanes x 4 B) from the function's register base. Registers of
///  up to
///             32 bits take one row (8/16-bit values zero-extended), 64-bit registers two consecutive rows
///             read as uint64_t[32], b128 registers four rows: low uint64_t[32], then high uint64_t[32].
///  predicate: `index` into the predicate file; one uint32_t lane mask each.
///  constant:  `index` into Program::constants; the runtime broadcasts it to 32 lanes of 64 bits
///             (a 32-bit reader sees the low half: constants keep one array per width, see the runtime).
///  sink:      destination not wanted.
struct Slot {
  enum class Kind : uint8_t { none, reg, predicate, constant, sink };
  uint16_t index = 0;
  Kind kind = Kind::none;
  bool negated : 1 = false;  ///< predicate sources: !p (the source may be a constant, except as a guard)
  uint8_t rows : 3 =
      1;  ///< registers: rows of the register itself (1, 2 or 4), which `ld`, `st` and `cvt` allow to be
          ///< wider than the instruction's type; an address register of one row is a 32-bit address
  [[nodiscard]] bool present() const { return kind != Kind::none; }
};

/// Which unit executes an instruction; machine files give latency and throughput per class.
enum class LatencyClass : uint8_t {
  none,       ///< removed by the back end (mov, cvta, ...): no issue slot, no latency
  alu,        ///< 32-bit integer add/logic/compare/select/shift
  imad,       ///< integer multiply(-add), 64-bit address arithmetic
  imad_wide,  ///< 64-bit products
  fp32,
  fp16,
  fp64,
  sfu,         ///< ex2, rcp, rsqrt, lg2, sin, cos
  conversion,  ///< cvt between formats, popc, clz, bfind, brev
  division,    ///< integer or IEEE division sequences
  shuffle,
  vote,
  redux,
  match,
  branch,
  barrier,
  special_register,
  memory,  ///< loads, stores, atomics, copies: latency comes from the memory models
  fence,
  control,
  count
};

enum class RelocationKind : uint8_t {
  none,            ///< value is final
  global,          ///< + device address of module variable `symbol` on the executing GPU
  constant,        ///< + address of a .const variable in constant space
  function,        ///< + code handle of function `symbol`
  shared_dynamic,  ///< + offset at which dynamic shared memory starts in this launch
};

struct Constant {
  uint64_t value = 0;
  RelocationKind relocation = RelocationKind::none;
  uint32_t symbol = 0;  ///< index into Program::variables or Program::functions
};

/// Bytes copied between parameter areas at a call or return. Offsets are within the frames.
struct ParameterCopy {
  uint32_t caller_offset = 0;
  uint32_t callee_offset = 0;
  uint32_t bytes = 0;
};

struct CallSite {
  uint32_t function = UINT32_MAX;  ///< index into Program::functions; UINT32_MAX: indirect through src[0]
  std::string intrinsic;           ///< "vprintf", "__assertfail", ... for functions the loader provides
  std::vector<ParameterCopy>
      arguments;  ///< caller -> callee. For intrinsics callee_offset packs them in order, naturally aligned
  std::vector<ParameterCopy> results;  ///< callee -> caller, done by ret
};

inline constexpr uint32_t kNoPc = UINT32_MAX;

/// Elements of a matrix operand; `b1` has no type of its own in registers.
enum class MatrixElement : uint8_t { none, f16, bf16, tf32, e4m3, e5m2, s8, u8, b1 };

/// Fields of a tensor map that tensormap.replace names.
enum class TensorField : uint8_t {
  none,
  global_address,
  rank,
  box_dim,
  global_dim,
  global_stride,
  element_stride,
  elemtype,
  interleave_layout,
  swizzle_mode,
  fill_mode
};

/// What a matrix instruction does beyond its modifiers.
///   wgmma.mma_async:     D (64 x n) = A (64 x k) * B (k x n) + D, where k elements are 32 bytes
///   mma:                 the same with 16 rows, n = 8, and row_bytes of 16 or 32
///   ldmatrix, stmatrix:  n matrices of 8 x 8 elements of 16 bits; transpose_a for `.trans`
struct MatrixForm {
  MatrixElement a = MatrixElement::none, b = MatrixElement::none;
  uint16_t n = 0;
  uint8_t row_bytes = 32;                                 ///< of k
  bool a_in_registers : 1 = false;                        ///< else A comes from shared memory, as B does
  bool transpose_a : 1 = false, transpose_b : 1 = false;  ///< shared operand with m or n innermost, not k
  bool negate_a : 1 = false, negate_b : 1 = false;
};

/// One decoded instruction. `pc` values are indices into Program::code.
///
/// Operand conventions (src order):
///   ld:    dst[0..v), src[0] address base, offset; src[5] cache policy if cache_hint
///   st:    src[0] address base, offset; src[1..1+v) data; src[5] cache policy if cache_hint (v <= 4)
///   atom:  dst[0]; src[0] address; src[1] operand (cas: compare), src[2] cas new value; src[5] policy
///   red:   as atom without dst. Vectors (v > 1) use operand_list: v destinations (atom only), then v sources
///   setp:  dst[0], dst[1] predicates; src[0], src[1]; src[2] combining predicate
///   shfl:  dst[0] value, dst[1] predicate; src[0] a, src[1] b, src[2] c, src[3] membermask
///   vote:  dst[0] predicate or register; src[0] predicate; src[1] membermask.  match: dst[0], dst[1] pred;
///   src[0]; src[1] mask bar:   src[0] barrier, src[1] thread count (none: all); src[2] predicate (red);
///   dst[0] mbarrier_*: dst[0] state/predicate; src[0] address, offset; src[1] count / tx bytes / state /
///   parity; src[2] suspend hint cp_async:      src[0] dst address (+offset), src[1] src address (+offset2),
///   src[2] cp-size, src[3] src-size/ignore, src[5] policy cp_async_bulk: src[0] dst (+offset), src[1] src
///   (+offset2), src[2] size, src[3] mbarrier (+offset3) , src[4] cta mask, src[5] policy frame_address:
///   dst[0]; src[0] constant: frame base of this call (bytes into local memory) + src[0] mov_pack: dst[0];
///   src[0..n).  mov_unpack: dst[0..n); src[0] elect: dst[0] register (or sink), dst[1] predicate; src[0]
///   membermask bra:   target, reconvergence.  brx: src[0] index, operand_list of targets as constants
///   cp_async_bulk_tensor, cp_reduce_async_bulk_tensor, cp_async_bulk_prefetch_tensor: src[0] shared address
///   (+offset), src[1] tensor map (+offset2), src[3] mbarrier (+offset3), src[4] cta mask, src[5] policy;
///   operand_list: the coordinates, the innermost first
///   wgmma_mma_async: matrix; src[0] descriptor of A, src[1] of B, src[2] predicate: D is added;
///   operand_list: the registers of D twice (as destinations, then as sources), then those of A if it is
///   there everything else: dst and src in written order
struct Op {
  Opcode opcode = Opcode::invalid;
  LatencyClass latency = LatencyClass::alu;
  uint8_t issue_slots = 1;  ///< machine instructions after back-end clean-up; 0: removed
  Slot guard;               ///< predicate kind, or none
  std::array<Slot, 4> dst{};
  std::array<Slot, 6> src{};
  int32_t offset = 0;  ///< of address src[0]
  int32_t offset2 = 0, offset3 = 0;
  Modifiers modifiers;
  MatrixForm matrix;
  TensorField tensor_field = TensorField::none;
  uint32_t target = kNoPc;  ///< bra: destination pc; call: index into Program::calls
  uint32_t reconvergence =
      kNoPc;  ///< bra/brx that may diverge: where its threads meet (MeetingPoints; kNoPc: function end)
  uint32_t operand_list = 0;  ///< index into Program::operand_lists where more operands are needed
  uint32_t line = 0;          ///< PTX line
  uint32_t location = 0;      ///< index into Program::locations
  uint16_t block = 0;         ///< basic block number in its function, saturating
  bool executable = true;
  /// ld/st to Space::local: `offset` counts from the function's frame, whose base the executor adds (src[0]
  /// is a constant). Where `latency` is not LatencyClass::memory the access is a call parameter, which
  /// hardware keeps in a register.
  bool frame_relative = false;
};

/// A natural loop that does nothing but poll: loads, compares, clock reads, sleeps and branches.
/// If the state at the header recurs, the fragment may be parked on the addresses it read.
struct PollLoop {
  uint32_t header = kNoPc;     ///< first pc
  uint32_t back_edge = kNoPc;  ///< pc of the (only) backward branch
  std::vector<Slot>
      state;  ///< registers and predicates written in the loop and live at the header, clocks excluded
  bool reads_clock = false;                         ///< a clock-derived comparison may end the loop
  std::vector<std::pair<uint32_t, uint32_t>> body;  ///< sorted, disjoint half-open pc ranges of its blocks
};

/// Which rows of an entry's registers hold a value that may still be read when its op at `pc` is next, where
/// a warp may wait for long: at barriers, behind them, and at the headers of poll loops.
struct LiveRows {
  uint32_t pc = kNoPc;
  std::vector<uint32_t> rows;  ///< a bit per row
};

struct ProgramParameter {
  uint32_t offset = 0;  ///< in the parameter area
  uint32_t bytes = 0;
  uint32_t align = 1;
  std::string name;
};

struct ProgramFunction {
  std::string name;
  std::string path;  ///< module it came from
  bool is_entry = false;
  uint32_t entry_pc = 0, end_pc = 0;  ///< code range
  uint32_t register_rows = 0;         ///< 128-byte rows after liveness allocation
  uint32_t predicates = 0;
  uint32_t frame_bytes = 0;  ///< per thread: .local variables, .param areas of a .func and of its calls
  uint32_t static_shared_bytes = 0;  ///< including callees'
  uint32_t shared_align =
      1;  ///< of static and dynamic variables; the dynamic part starts at a multiple of it
  bool uses_dynamic_shared = false;
  uint32_t parameter_bytes = 0;  ///< entries: size of the launch parameter block
  std::vector<ProgramParameter> parameters;
  LaunchDirectives directives;
  uint32_t registers_per_thread = 0;  ///< estimate that decides occupancy (0: unknown)
  uint32_t code_size = 0;             ///< estimate of the instructions in its machine code
};

struct ProgramVariable {
  std::string name;
  Space space = Space::global;  ///< global or constant
  uint64_t bytes = 0;
  uint32_t align = 1;
  std::vector<uint8_t> data;  ///< initial bytes (may be shorter than `bytes`: zero)
  /// The stored bytes are the `bytes` low ones of (address of symbol + addend) >> shift; `generic` asks for
  /// the generic address of a .const variable (for .global both are the same).
  struct Fixup {
    uint64_t offset;
    RelocationKind kind;
    uint32_t symbol;
    int64_t addend;
    uint8_t bytes;
    uint8_t shift = 0;
    bool generic = false;
  };
  std::vector<Fixup> fixups;
};

struct Program {
  std::vector<Op> code;
  std::vector<Constant> constants;
  std::vector<std::vector<Slot>> operand_lists{{}};
  std::vector<CallSite> calls;
  std::vector<ProgramFunction> functions;
  std::vector<ProgramVariable> variables;
  std::vector<PollLoop> poll_loops;
  std::vector<LiveRows> live_rows;  ///< ascending by pc
  std::vector<Location> locations{Location{}};
  std::vector<std::string> files;
  std::vector<std::string>
      texts;  ///< per op: its spelling, for messages ("ld.acquire.sys.global.s32"); same size as code

  /// Index of the entry with this name, or UINT32_MAX.
  [[nodiscard]] uint32_t find_entry(std::string_view name) const {
    for (uint32_t i = 0; i < functions.size(); ++i)
      if (functions[i].is_entry && functions[i].name == name) return i;
    return UINT32_MAX;
  }
};

}  // namespace ptxwire::ptx
