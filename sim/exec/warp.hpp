// State of CTAs, warps and fragments. A warp is a set of fragments (pc, lanes) that run independently and
// merge at post-dominators (Join): independent thread scheduling.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <memory>
#include <memory_resource>
#include <vector>

#include "models/base/units.hpp"
#include "sim/exec/exec_program.hpp"
#include "sim/exec/register_memory.hpp"
#include "sim/exec/store_tracker.hpp"

namespace ptxwire::sim {

/// Why a fragment does not issue. The order is that of WaitReason in the public API.
/// Warps of one index in even CTAs (0..31) or in odd ones (32..63): communication kernels give each a role.
inline constexpr uint32_t kWarpSlots = 64;
/// Whose write ended a poll: that of a warp slot, or of one of these.
enum Waker : uint8_t { kWokenByNic = kWarpSlots, kWokenByHost, kWokenOtherwise, kWakers };

enum class Wait : uint8_t {
  issuing,
  local_load,
  remote_load,
  local_poll,
  remote_poll,
  shared_memory,
  store_window,
  release_fence,
  barrier,
  named_barrier,
  cluster_barrier,
  mbarrier,
  bulk_copy,
  sleep,
  atomic,
  reconverge,
  tensor_core,
  count
};

struct Cta;
struct Warp;
struct Fragment;

/// A register whose producer is in flight is ready at kPending + reason.
inline constexpr int64_t kPending = INT64_C(1) << 60;

/// What a poll read, to park on.
struct PollRead {
  uint64_t address = 0;  ///< device address, or shared window offset
  uint8_t bytes = 0;
  bool shared = false;
  int64_t sample_cycle = 0;
  std::array<uint8_t, 16> value{};
};

struct PollState {
  static constexpr size_t kMaxReads = 40;
  uint32_t loop = UINT32_MAX;  ///< Program::poll_loops index of the back edge that all else is since
  int64_t back_edge_cycle = 0;
  uint64_t instructions = 0;  ///< of the warp at that back edge; parked: of one period
  uint32_t turns = 0;         ///< since that back edge
  uint32_t most_turns = 1;    ///< after which another back edge takes its place
  bool remote = false, overflow = false, impure = false;
  uint32_t give_ups = 0;  ///< of a try_wait, one after the other
  std::vector<PollRead> reads;
  std::vector<uint32_t> saved;  ///< state rows and predicates at that back edge
};

/// Lanes that split at a branch and come together again at `pc`.
struct Join {
  uint32_t pc = ptx::kNoPc;
  uint32_t depth = 0;  ///< call depth at which it holds
  uint32_t mask = 0;   ///< lanes still expected
  Join* parent = nullptr;
  Fragment* waiting = nullptr;  ///< lanes that are there, merged
  uint32_t spins = 0;           ///< backward branches taken by the others while someone waits
  /// Of the fragment that split inside a poll loop, for the one that goes on behind the join.
  std::unique_ptr<PollState> poll;
};

struct CallFrame {
  bool operator==(const CallFrame&) const = default;

  uint32_t return_pc = 0;
  uint32_t call_site = 0;
  uint32_t function = 0;
  uint32_t row_base = 0, predicate_base = 0, local_base = 0;
};

/// How far an op has come that is executed again after a wait.
enum Phase : uint8_t {
  kFresh,
  kReleased,         ///< earlier stores were acknowledged
  kWaitedForRoom,    ///< for accesses in flight
  kNearLanesDone,    ///< of a generic access over several windows; device lanes are left
  kSuspended,        ///< a try_wait that will not suspend again
  kWaitedForCopies,  ///< asynchronous ones
};

struct Fragment {
  Warp* warp = nullptr;
  uint32_t pc = 0;
  uint32_t mask = 0;
  uint32_t join_pc = ptx::kNoPc;
  uint32_t token = 0;  ///< a scheduled event with another token is stale
  int64_t cycle = 0;   ///< earliest next issue
  Join* join = nullptr;
  std::vector<CallFrame> frames;  ///< frames.back() is the current function
  // waiting
  bool waiting = false;
  bool on_scoreboard = false;
  bool parked = false;
  uint8_t waker = kWokenOtherwise;  ///< who ended the poll at hand
  Wait reason = Wait::issuing;
  int64_t wait_since = 0;
  uint64_t wait_detail = 0;  ///< epoch, address or barrier number, by reason
  uint32_t sync_mask = 0;    ///< lanes awaited by a warp-level sync
  uint8_t phase = 0;         ///< Phase: progress inside a multi-step op
  bool wait_result = false;  ///< outcome handed to a waiting op (mbarrier.try_wait)
  uint32_t index = 0;        ///< in the SM's pool
  uint64_t executed = 0;
  PollState poll;
};

/// Bulk groups of one thread: copies that write global memory and are not done.
struct BulkGroups {
  uint32_t open_writes = 0;        ///< since the last commit
  std::deque<uint32_t> committed;  ///< per committed group, oldest first
  uint64_t first_group = 0;        ///< number of committed.front()
};

/// A matrix product of a warpgroup that not all of its four warps have issued yet.
struct MatrixIssue {
  const ptx::Op* op = nullptr;
  uint32_t warps = 0;  ///< that have
  int64_t cycle = 0;   ///< of the latest
  uint64_t a = 0, b = 0;
  bool accumulate = false;
  std::array<uint32_t, 4> row_base{};  ///< by warp
  std::vector<uint32_t> left;          ///< A from registers: [warp][register][lane]
};

/// Four warps that multiply matrices together; their products are numbered in order.
struct Warpgroup {
  std::deque<MatrixIssue> open;
  uint64_t first_open = 0;     ///< number of open.front()
  int64_t finished = 0;        ///< when the latest before it is done
  std::deque<int64_t> finish;  ///< of the products just before it

  void done(int64_t cycle) {
    constexpr size_t kKept = 1024;  // no kernel waits for one so far back
    open.pop_front();
    ++first_open;
    finished = cycle;
    finish.push_back(cycle);
    if (finish.size() > kKept) finish.pop_front();
  }
  /// When all products before `number`, none of them open, are done.
  [[nodiscard]] int64_t finish_of(uint64_t number) const {
    if (number == 0) return 0;
    const uint64_t back = first_open - number;
    return back < finish.size() ? finish[finish.size() - 1 - back] : finish.front();
  }
};

struct Warp {
  Warp(std::pmr::memory_resource* memory, RegisterMemory& register_memory)
      : rows(register_memory),
        row_ready(memory),
        row_pending(memory),
        predicates(memory),
        predicate_ready(memory),
        local(memory) {}

  Cta* cta = nullptr;
  uint32_t index = 0;  ///< in the CTA
  uint32_t scheduler = 0;
  uint32_t existing = 0;  ///< lanes that have a thread
  uint32_t alive = 0;     ///< lanes that have not exited
  uint32_t carry = 0;
  RegisterRows rows;
  std::pmr::vector<int64_t> row_ready;
  std::vector<uint32_t> marks;             ///< rows that hold elided payload (sm_marks.cpp); empty: none yet
  std::pmr::vector<uint32_t> row_pending;  ///< lanes whose bytes of the row are in flight
  std::pmr::vector<uint32_t> predicates;
  std::pmr::vector<int64_t> predicate_ready;
  std::pmr::vector<uint8_t> local;  ///< lane-major: lane * local_bytes + offset
  uint32_t local_bytes = 0;
  uint32_t stowed_rows = 0, stowed_local = 0;  ///< sizes to come back to while `rows` is stowed
  std::vector<Fragment*> fragments;
  std::array<std::unique_ptr<BulkGroups>, 32> bulk_groups;
  uint32_t cluster_generation = 0;  ///< of the cluster barrier when lanes of this warp last arrived
  uint32_t cluster_arrived = 0;     ///< lanes that arrived in that generation; the others wait for none
  /// cp.async.mbarrier.arrive that waits for copies: [group that must be done, mbarrier offset, arrivals]
  std::vector<std::array<uint64_t, 3>> async_arrivals;
  // cp.async: copies in flight per open/committed group, for the whole warp
  std::deque<uint32_t> async_groups{0};
  uint64_t async_first = 0;
  uint64_t matrix_issued = 0;           ///< matrix products
  std::vector<uint64_t> matrix_groups;  ///< products issued at each commit that was not waited for
  int64_t started = 0;
  uint64_t instructions = 0;
  std::array<int64_t, static_cast<size_t>(Wait::count)> waited{};  ///< cycles, by reason

  [[nodiscard]] uint8_t slot() const;
};

/// What barrier.red gathers from the threads that arrive.
struct BarrierReduction {
  uint32_t population = 0;
  bool all = true, any = false;

  void add(uint32_t lanes, uint32_t predicate) {
    population += static_cast<uint32_t>(std::popcount(predicate & lanes));
    all = all && (predicate & lanes) == lanes;
    any = any || (predicate & lanes) != 0;
  }
  void add(const BarrierReduction& other) {
    population += other.population;
    all = all && other.all;
    any = any || other.any;
  }
};

/// A warp of which some lanes are at a barrier with a thread count: it arrives once all that have not exited
/// are.
struct WarpArrival {
  Warp* warp = nullptr;
  uint32_t lanes = 0;
  BarrierReduction reduction;
  std::vector<Fragment*> waiting;
};

struct NamedBarrier {
  uint32_t arrived = 0;   ///< threads; with a thread count whole warps
  uint32_t expected = 0;  ///< threads; 0: unused, or all of the CTA
  BarrierReduction reduction;
  std::vector<Fragment*> waiting;
  std::vector<WarpArrival> partial;  ///< in order of arrival; a later entry of a warp is for a later round

  [[nodiscard]] bool in_use() const { return arrived != 0 || !partial.empty(); }
};

/// A kernel launch as the SMs see it.
struct Launch;

struct Cta {
  Launch* launch = nullptr;
  ExecProgram* program = nullptr;
  std::shared_ptr<const ExecProgram::ConstantLanes> constants;
  uint32_t function = 0;
  uint32_t linear = 0;  ///< in the grid
  std::array<uint32_t, 3> id{};
  uint32_t sm = 0;
  uint32_t first_scheduler = 0;  ///< that its first warp runs on; the others follow in turn
  uint32_t cluster_rank = 0;
  std::vector<Cta*> cluster;               ///< all CTAs of the cluster by rank
  uint32_t cluster_arrived = 0;            ///< threads at the cluster barrier; kept by rank 0
  uint32_t cluster_generation = 0;         ///< completed cluster barriers; kept by rank 0
  std::vector<Fragment*> cluster_waiting;  ///< kept by rank 0
  std::vector<uint8_t> shared;
  std::vector<uint8_t> shared_marks;  ///< elided payload in it (sm_marks.cpp); empty: none yet
  std::vector<std::unique_ptr<Warp>> warps;
  uint32_t warps_alive = 0;
  uint32_t threads = 0;
  uint32_t threads_alive = 0;
  std::array<NamedBarrier, 16> barriers;
  std::vector<Warpgroup> warpgroups;  ///< as far as they multiplied
  StoreTracker stores;
  std::vector<Fragment*> release_waiting;
  std::vector<Fragment*> mbarrier_waiting;
  std::vector<Fragment*> shared_parked;
  uint32_t transactions = 0;  ///< in flight that name this CTA
  bool finished = false;
};

inline uint8_t Warp::slot() const { return static_cast<uint8_t>(cta->linear % 2 * 32 + index % 32); }

}  // namespace ptxwire::sim
