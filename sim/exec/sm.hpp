// One streaming multiprocessor: resident CTAs, four schedulers, the load/store unit, L1, the bulk-copy
// engine. A fragment runs from event to event: it executes ops at the cycles its scheduler gives it until it
// has to wait.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sim/exec/device.hpp"
#include "sim/exec/l1_cache.hpp"
#include "sim/exec/slot_calendar.hpp"
#include "sim/exec/tensor_box.hpp"

namespace ptxwire::sim {

/// One bulk copy command while its chunks are on the way.
struct BulkCopy {
  uint32_t index = 0;  ///< in the SM's pool
  Cta* cta = nullptr;  ///< issuing
  Warp* warp = nullptr;
  uint32_t lane = 0;
  bool load = false;            ///< global -> shared (else shared -> global)
  bool between_shared = false;  ///< shared::cta -> shared::cluster
  uint64_t global_address = 0;
  uint32_t source_offset = 0;  ///< between_shared: in the issuing CTA
  uint32_t shared_offset = 0;
  Cta* shared_cta = nullptr;
  uint32_t bytes = 0;
  uint32_t chunks_left = 0;
  Cta* mbarrier_cta = nullptr;
  uint32_t mbarrier_offset = 0;
  uint64_t group = 0;
  uint32_t pc = 0;
  uint16_t receivers = 0;  ///< multicast: CTAs of the cluster that get the bytes instead of `shared_cta`
  std::shared_ptr<const TensorBox> box;  ///< of a tensor copy
  const ptx::Op* reduction = nullptr;    ///< cp.reduce: combines with the destination instead of replacing it
  ptx::Type reduction_type = ptx::Type::none;  ///< of a tensor copy
  models::L2Hint hint;
};

class Sm {
 public:
  Sm(Device& device, uint32_t id);
  ~Sm();

  // ---- grid scheduler
  /// `first_scheduler` has its first warp; `shared_bytes` are in use on this SM, its own included.
  Cta& place(Launch& launch, uint64_t linear, uint32_t first_scheduler, uint32_t shared_bytes, int64_t cycle);
  void start(Cta& cta, int64_t cycle);  ///< after all CTAs of its cluster are placed
  [[nodiscard]] uint32_t id() const { return id_; }
  [[nodiscard]] double tensor_busy_clk() const { return tensor_busy_clk_; }

  // ---- memory answers
  void transaction_completed(WarpTransaction& transaction, models::Picoseconds now);
  /// A watched sector was written at `now`.
  void wake_parked(Fragment& fragment, models::Picoseconds now, uint8_t waker);
  /// Lanes that wait at a join for others go on without them.
  bool nudge_joins(int64_t cycle);
  /// Polls that read a clock and were parked at or before `parked_since` take another turn.
  bool nudge_clocks(int64_t cycle, int64_t parked_since);
  void waiting_report(std::vector<std::string>& lines, size_t limit) const;
  /// Nothing in flight names it any more: freed at the next event of this SM, or when it gets a new one.
  void release_cta_later(Cta& cta);

 private:
  void free_released();
  enum class Timer : uint64_t { resume, chunk, join_check };
  static constexpr uint32_t kSchedulers = models::SmRoom::kSchedulers;

  // sm.cpp: the issue loop
  void on_event(models::Picoseconds now, uint64_t argument);
  void prepare(uint64_t argument) const;
  void run(Fragment& fragment);
  bool operands_ready(Fragment& fragment, const ExecOp& exec, int64_t& cycle);
  void set_results(const Fragment& fragment, const ExecOp& exec, int64_t ready);
  void set_pending(const Fragment& fragment, const ExecOp& exec, uint32_t mask, Wait reason);
  static bool waits_for_flight(const Fragment& fragment, const ExecOp& exec, int64_t& ready);
  bool execute(Fragment& fragment, const ExecOp& exec, const ptx::Op& op, uint32_t mask, int64_t cycle);
  bool sleep(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  void schedule(Fragment& fragment, int64_t cycle);
  static void prefetch_operands(const Fragment& fragment);
  void wait(Fragment& fragment, Wait reason, int64_t cycle);
  void resume(Fragment& fragment, int64_t cycle);
  static void account_wait(Fragment& fragment, int64_t cycle);
  Fragment& new_fragment(Warp& warp);
  void free_fragment(Fragment& fragment);

  // sm_marks.cpp
  static uint32_t marks_of(const Fragment& fragment, const ptx::Slot& slot);
  static void mark(const Fragment& fragment, const ptx::Slot& slot, uint32_t mask, uint32_t marked);
  static bool shared_marked(const Cta& cta, uint64_t offset, uint64_t bytes);
  static void mark_shared(Cta& cta, uint64_t offset, uint64_t bytes, bool marked);
  bool follow_marks(const Fragment& fragment, const ExecOp& exec, const ptx::Op& op, uint32_t mask);
  bool follow_access(const Fragment& fragment, const ExecOp& exec, const ptx::Op& op, uint32_t mask);
  bool follow_bulk(const Fragment& fragment, const BulkCopy& copy, bool to_global);
  bool stop_marked(const Fragment& fragment, uint32_t mask, std::string_view what);
  // sm_report.cpp
  void stop(const Fragment& fragment, std::string what, uint32_t lane, std::string hint = {});
  [[nodiscard]] static std::string wait_detail(const Fragment& fragment);
  [[nodiscard]] std::string where(const Fragment& fragment, uint32_t lane) const;

  // sm_registers.cpp
  static LaneFrame lane_frame(const Fragment& fragment);
  static const uint32_t* source32(const Fragment& fragment, const ptx::Slot& slot);
  static const uint64_t* source64(const Fragment& fragment, const ptx::Slot& slot);
  static uint64_t uniform_source(const Fragment& fragment, const ptx::Slot& slot, uint32_t mask);
  void stow_registers(const Fragment& fragment, uint32_t pc);
  static void restore_registers(Warp& warp);
  static void write_lane(const Fragment& fragment, const ptx::Slot& slot, uint32_t lane, uint64_t value);
  static void addresses(const Fragment& fragment, const ptx::Slot& slot, int64_t offset, uint64_t* out);
  static void gather_operands(const Fragment& fragment, const ptx::Op& op, uint32_t first_source,
                              uint32_t mask, uint32_t lane_bytes, uint8_t* out);
  static void scatter(Warp& warp, uint32_t row_base, const ptx::Op& op, uint32_t mask, uint32_t lane_bytes,
                      const uint8_t* data);

  // sm_control.cpp: branches, joins, exits
  void branch(Fragment& fragment, const ptx::Op& op, uint32_t taken, int64_t cycle);
  void branch_indexed(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  void join_at(Fragment& fragment, uint32_t pc);
  void split_around(Fragment& fragment, uint32_t executing, uint32_t mask);
  void exit_lanes(Fragment& fragment, uint32_t mask, int64_t cycle);
  /// Lanes leave the joins from `join` outwards down to call depth `min_depth`; returns the first one beyond.
  Join* leave_joins(Join* join, uint32_t mask, uint32_t min_depth, int64_t cycle);
  bool arrive_at_join(Fragment& fragment);
  void release_waiting(Join& join, int64_t cycle);
  void set_join(Fragment& fragment, Join* join);
  Join& new_join();
  Fragment& split(Fragment& fragment, uint32_t mask);

  // sm_call.cpp
  bool call(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  [[nodiscard]] static uint32_t place_rows(const Fragment& fragment, uint32_t function);
  static void reserve_frame(Warp& warp, const CallFrame& frame, const ptx::ProgramFunction& callee);
  void do_return(Fragment& fragment, uint32_t mask, int64_t cycle);

  // sm_exchange.cpp
  bool warp_exchange(Fragment& fragment, const ExecOp& exec, const ptx::Op& op, uint32_t mask, int64_t cycle);
  void wait_for_lanes(Fragment& fragment, uint32_t wanted, uint32_t mask, int64_t cycle);
  void recheck_syncs(Warp& warp, int64_t cycle);
  static void exchange(const std::vector<Fragment*>& group, const ExecOp& exec, const ptx::Op& op,
                       uint32_t lanes);

  // sm_special.cpp
  void read_special(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  void convert_address(Fragment& fragment, const ptx::Op& op, uint32_t mask);
  void cluster_address(Fragment& fragment, const ptx::Op& op, uint32_t mask);

  // sm_intrinsic.cpp
  void intrinsic(Fragment& fragment, const ptx::CallSite& site, uint32_t mask);

  // sm_poll.cpp: parking
  static void hand_over_polls(Fragment& fragment, const ptx::Op& op);
  static void add_polls(PollState& poll, const Fragment& fragment);
  void on_back_edge(Fragment& fragment, uint32_t loop, int64_t cycle);
  bool try_park(Fragment& fragment, const ptx::PollLoop& loop, int64_t cycle);
  void note_poll(Fragment& fragment, uint64_t address, uint32_t bytes, const uint8_t* value, bool shared,
                 int64_t cycle);
  void unpark(Fragment& fragment, int64_t change_cycle);
  void notify_shared_write(Cta& cta, uint32_t offset, uint32_t bytes, int64_t cycle, uint8_t waker);

  // sm_memory.cpp
  bool memory_access(Fragment& fragment, const ExecOp& exec, const ptx::Op& op, uint32_t mask, int64_t cycle);
  bool access_generic(Fragment& fragment, const ExecOp& exec, const ptx::Op& op, uint32_t mask,
                      const uint64_t* address, int64_t cycle);
  [[nodiscard]] uint32_t fence_cycles(const ptx::Op& op) const;
  bool release_first(Fragment& fragment, const ptx::Op& op, int64_t cycle);
  void wake_release_waiters(Cta& cta, int64_t cycle);

  // sm_near_access.cpp
  bool access_near(Fragment& fragment, const ExecOp& exec, const ptx::Op& op, Window window, uint32_t mask,
                   const uint64_t* address, int64_t cycle);
  [[nodiscard]] int64_t cluster_load(Sm& owner, uint32_t bytes, uint32_t packets, int64_t cycle);
  int64_t claim_cluster_port(uint32_t bytes, int64_t cycle);
  static uint8_t* near_pointer(Fragment& fragment, Window window, uint64_t address, uint32_t lane,
                               uint32_t bytes, Cta** shared_owner);

  // sm_device_access.cpp
  bool access_device(Fragment& fragment, const ExecOp& exec, const ptx::Op& op, uint32_t mask,
                     const uint64_t* address, int64_t cycle);
  bool move_at_once(Fragment& fragment, const ExecOp& exec, const ptx::Op& op, const uint64_t* address,
                    int64_t cycle);
  void access_home(Fragment& fragment, const ExecOp& exec, const ptx::Op& op, uint32_t mask,
                   const uint64_t* address, uint32_t home, int64_t cycle, bool blocking);
  bool build_parts(WarpTransaction& transaction, const uint64_t* addresses_of_lanes) const;
  void stop_unmapped(const Fragment& fragment, uint32_t mask, const uint64_t* address, uint32_t bytes);
  void submit(WarpTransaction& transaction, int64_t cycle);
  void fill_l1(const WarpTransaction& transaction);

  // sm_cache_control.cpp
  bool cache_control(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  WarpTransaction& new_cache_control(Fragment& fragment, const ptx::Op& op, models::AccessKind kind,
                                     uint64_t address);

  // sm_answer.cpp
  enum Room : uint8_t { kLoadRoom, kLocalStoreRoom, kRemoteStoreRoom };
  [[nodiscard]] bool has_room(Room room, uint64_t amount) const;
  bool room_for(Fragment& fragment, Room room, uint64_t amount, int64_t cycle);
  void wake_window_waiters(int64_t cycle);
  /// How far issue may run ahead of a unit that gives no answer.
  static constexpr int64_t kBookedAhead_clk = 896;
  int64_t claim_lsu(Fragment& fragment, int64_t cycle, uint32_t width);

  // sm_barrier.cpp
  bool barrier(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  static void arrive_at_barrier(NamedBarrier& barrier, Warp& warp, uint32_t lanes,
                                const BarrierReduction& reduction, Fragment* waiting);
  static void count_whole_warps(NamedBarrier& barrier);
  void barrier_check(Cta& cta, NamedBarrier& barrier, int64_t cycle);
  bool cluster_barrier(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  void cluster_barrier_check(Cta& leader, int64_t cycle);
  bool mbarrier(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  bool mbarrier_wait(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  int64_t suspend_cycles(const Fragment& fragment, const ptx::Op& op, uint32_t mask) const;
  void mbarrier_update(Cta& cta, uint32_t offset, int32_t arrivals, int32_t tx, bool drop, int64_t cycle);

  // sm_bulk.cpp
  bool bulk_copy(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  bool bulk_control(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  void send_chunk(BulkCopy& copy, uint32_t offset, uint32_t bytes, int64_t cycle);
  void chunk_completed(const WarpTransaction& transaction, int64_t cycle);
  void bulk_finished(BulkCopy& copy, int64_t cycle);
  bool describe_bulk_copy(Fragment& fragment, const ptx::Op& op, uint32_t lane, uint64_t destination,
                          uint64_t source, uint64_t barrier, BulkCopy& copy);
  void start_bulk_copy(BulkCopy& copy, int64_t cycle);
  /// A copy in flight as described, in a slot with a number of its own.
  BulkCopy& new_bulk_copy(BulkCopy described);
  bool take_mbarrier(Fragment& fragment, const ptx::Op& op, uint32_t lane, uint64_t barrier, BulkCopy& copy);
  int64_t admit_bulk_copy(BulkCopy& copy, int64_t cycle);
  void bulk_completes(BulkCopy& copy, int64_t cycle);
  void finish_bulk_copy_at(const BulkCopy& copy, int64_t cycle);
  template <typename Receive>
  static void for_each_receiver(const BulkCopy& copy, Receive&& receive);

  // sm_tensor_copy.cpp
  bool tensor_copy(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  bool tensor_prefetch(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  bool describe_box(Fragment& fragment, const ptx::Op& op, uint32_t lane, uint64_t map_address,
                    TensorBox& box);
  bool describe_tensor_copy(Fragment& fragment, const ptx::Op& op, uint32_t lane, uint64_t shared,
                            uint64_t barrier, BulkCopy& copy);
  bool start_tensor_copy(Fragment& fragment, BulkCopy& copy, int64_t cycle);
  WarpTransaction& new_box_transaction(BulkCopy& copy, uint64_t address);
  static void box_arrived(const WarpTransaction& transaction);
  void finish_box(const BulkCopy& copy);

  // sm_matrix.cpp
  bool warp_matrix(Fragment& fragment, const ExecOp& exec, const ptx::Op& op, uint32_t mask, int64_t cycle);
  void warp_product(Fragment& fragment, const ExecOp& exec, const ptx::Op& op, int64_t cycle);
  bool move_matrices(Fragment& fragment, const ExecOp& exec, const ptx::Op& op, int64_t cycle);

  // sm_tensor_map.cpp
  bool tensor_map_change(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  uint8_t* tensor_map_bytes(Fragment& fragment, uint64_t address, uint32_t lane, bool in_shared);

  // sm_wgmma.cpp
  bool whole_warp(Fragment& fragment, uint32_t mask, int64_t cycle);
  Warpgroup* warpgroup_of(Fragment& fragment, uint32_t mask, int64_t cycle);
  bool sums_ready(Fragment& fragment, const ptx::Op& op, const Warpgroup& group, int64_t& cycle);
  bool matrix_product(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  bool perform_product(Fragment& fragment, Warpgroup& group);
  int64_t claim_tensor_cores(const ptx::Op& op, int64_t cycle);
  bool matrix_control(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);

  // sm_async_copy.cpp
  bool async_copy(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  bool async_control(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  bool send_async(Fragment& fragment, const ptx::Op& op, uint32_t mask, const uint64_t* source,
                  const std::array<uint32_t, 32>& offset, const std::array<uint8_t, 32>& valid,
                  int64_t cycle);
  void async_copy_arrived(const WarpTransaction& transaction, int64_t cycle);
  void finish_async_group(Warp& warp, uint64_t group, int64_t cycle);

  Device& device_;
  const models::SmParameters& parameters_;
  uint32_t id_;
  models::EventMember<Sm, &Sm::on_event, &Sm::prepare> event_{*this};
  std::vector<std::unique_ptr<Cta>> ctas_, retired_;
  std::vector<Cta*> releasable_;
  L1Cache l1_;
  std::array<SlotCalendar, kSchedulers> issue_;
  std::array<std::array<SlotCalendar, kPipeCount>, kSchedulers> pipes_;
  SlotCalendar lsu_;
  SlotCalendar cluster_port_;  ///< to the other SMs of its cluster
  uint32_t outstanding_lines_ = 0, remote_store_bytes_ = 0, local_store_bytes_ = 0;
  std::array<std::deque<Fragment*>, 3> window_waiters_;  ///< by Room: loads, local stores, remote stores
  double store_port_free_ = 0;  ///< cycle at which the port to the crossbar has taken all stores so far
  int64_t tma_free_ = 0;        ///< the bulk engine takes its next command
  std::array<int64_t, 2> tma_width_free_{};         ///< its bytes: loads, stores
  std::array<int64_t, kSchedulers> tensor_free_{};  ///< each scheduler's tensor core takes its next product
  double tensor_busy_clk_ = 0;                      ///< of all four together
  std::pmr::deque<Fragment> fragments_;
  std::vector<uint32_t> free_fragments_;
  std::deque<Join> joins_;
  std::vector<Join*> free_joins_;
  std::deque<BulkCopy> bulk_copies_;
  std::vector<BulkCopy*> free_bulk_copies_;
};

template <typename Receive>
void Sm::for_each_receiver(const BulkCopy& copy, Receive&& receive) {
  if (copy.receivers == 0) return receive(*copy.shared_cta);
  for (size_t rank = 0; rank < copy.cta->cluster.size(); ++rank)
    if ((copy.receivers >> rank & 1U) != 0) receive(*copy.cta->cluster[rank]);
}

/// Carries out parts [first, first + count) of a box at their home; calls written(address, bytes) for what
/// they change.
void perform_box(WarpTransaction& transaction, unsigned first, unsigned count, const MemorySpace& space,
                 const std::function<void(uint64_t, uint64_t)>& written);

// Inline: the issue loop and every instruction go through these.

inline LaneFrame Sm::lane_frame(const Fragment& fragment) {
  Warp& warp = *fragment.warp;
  const CallFrame& frame = fragment.frames.back();
  return {warp.rows.data() + size_t{frame.row_base} * 32, warp.predicates.data() + frame.predicate_base,
          warp.cta->constants->narrow.data(), warp.cta->constants->wide.data(), &warp.carry};
}

inline const uint32_t* Sm::source32(const Fragment& fragment, const ptx::Slot& slot) {
  const LaneFrame frame = lane_frame(fragment);
  return slot.kind == ptx::Slot::Kind::constant ? frame.constants32 + size_t{slot.index} * 32
                                                : frame.rows + size_t{slot.index} * 32;
}

inline const uint64_t* Sm::source64(const Fragment& fragment, const ptx::Slot& slot) {
  const LaneFrame frame = lane_frame(fragment);
  return slot.kind == ptx::Slot::Kind::constant
             ? frame.constants64 + size_t{slot.index} * 32
             : reinterpret_cast<const uint64_t*>(frame.rows + size_t{slot.index} * 32);
}

}  // namespace ptxwire::sim
