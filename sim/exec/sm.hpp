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
  uint32_t shared_offset = 0;
  Cta* shared_cta = nullptr;
  uint32_t bytes = 0;
  uint32_t chunks_left = 0;
  Cta* mbarrier_cta = nullptr;
  uint32_t mbarrier_offset = 0;
  uint64_t group = 0;
  uint32_t pc = 0;
  const ptx::Op* reduction = nullptr;  ///< cp.reduce: combines with the destination instead of replacing it
  models::L2Priority priority = models::L2Priority::normal;
};

class Sm {
 public:
  Sm(Device& device, uint32_t id);
  ~Sm();

  // ---- grid scheduler
  [[nodiscard]] bool fits(const Launch& launch) const;
  Cta& place(Launch& launch, uint64_t linear, int64_t cycle);
  void start(Cta& cta, int64_t cycle);  ///< after all CTAs of its cluster are placed
  [[nodiscard]] uint32_t resident() const { return static_cast<uint32_t>(ctas_.size()); }
  [[nodiscard]] uint32_t id() const { return id_; }

  // ---- memory answers
  void transaction_completed(WarpTransaction& transaction, models::Picoseconds now);
  /// A watched sector was written at `now`.
  void wake_parked(Fragment& fragment, models::Picoseconds now);
  bool nudge(int64_t cycle, bool clocks);
  void waiting_report(std::vector<std::string>& lines, size_t limit) const;
  void release_cta_later(
      Cta& cta);  ///< nothing in flight names it any more: freed at the next event of this SM
  [[nodiscard]] uint32_t free_slots(const Launch& launch) const;  ///< CTAs of this launch that fit now

 private:
  enum class Timer : uint64_t { resume, chunk, join_check };
  static constexpr size_t kSchedulers = 4;

  // sm.cpp: the issue loop
  void on_event(models::Picoseconds now, uint64_t argument);
  void run(Fragment& fragment);
  bool operands_ready(Fragment& fragment, const ExecOp& exec, int64_t& cycle);
  void set_results(const Fragment& fragment, const ExecOp& exec, int64_t ready);
  void set_pending(const Fragment& fragment, const ExecOp& exec, uint32_t mask, Wait reason);
  static bool waits_for_flight(const Fragment& fragment, const ExecOp& exec, int64_t& ready);
  bool execute(Fragment& fragment, const ExecOp& exec, const ptx::Op& op, uint32_t mask, int64_t cycle);
  void schedule(Fragment& fragment, int64_t cycle);
  void wait(Fragment& fragment, Wait reason, int64_t cycle);
  void resume(Fragment& fragment, int64_t cycle);
  static void account_wait(Fragment& fragment, int64_t cycle);
  Fragment& new_fragment(Warp& warp);
  void free_fragment(Fragment& fragment);
  LaneFrame lane_frame(const Fragment& fragment) const;
  const uint32_t* source32(const Fragment& fragment, const ptx::Slot& slot) const;
  const uint64_t* source64(const Fragment& fragment, const ptx::Slot& slot) const;
  uint64_t uniform_source(const Fragment& fragment, const ptx::Slot& slot, uint32_t mask) const;
  void write_lane(const Fragment& fragment, const ptx::Slot& slot, uint32_t lane, uint64_t value);
  void stop(const Fragment& fragment, std::string what, uint32_t lane, std::string hint = {});
  [[nodiscard]] std::string where(const Fragment& fragment, uint32_t lane) const;

  // sm_control.cpp: branches, calls, exits, joins, warp-level syncs
  void branch(Fragment& fragment, const ptx::Op& op, uint32_t taken, int64_t cycle);
  void branch_indexed(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  bool call(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  [[nodiscard]] static uint32_t place_rows(const Fragment& fragment, uint32_t function);
  static void reserve_frame(Warp& warp, const CallFrame& frame, const ptx::ProgramFunction& callee);
  void join_at(Fragment& fragment, uint32_t pc);
  void split_around(Fragment& fragment, uint32_t executing, uint32_t mask);
  void do_return(Fragment& fragment, uint32_t mask, int64_t cycle);
  void exit_lanes(Fragment& fragment, uint32_t mask, int64_t cycle);
  /// Lanes leave the joins from `join` outwards down to call depth `min_depth`; returns the first one beyond.
  Join* leave_joins(Join* join, uint32_t mask, uint32_t min_depth, int64_t cycle);
  bool arrive_at_join(Fragment& fragment);
  void release_waiting(Join& join, int64_t cycle);
  void set_join(Fragment& fragment, Join* join);
  Join& new_join();
  Fragment& split(Fragment& fragment, uint32_t mask);
  bool warp_exchange(Fragment& fragment, const ExecOp& exec, const ptx::Op& op, uint32_t mask, int64_t cycle);
  void recheck_syncs(Warp& warp, int64_t cycle);
  void read_special(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  void convert_address(Fragment& fragment, const ptx::Op& op, uint32_t mask);
  void cluster_address(Fragment& fragment, const ptx::Op& op, uint32_t mask);
  void intrinsic(Fragment& fragment, const ptx::CallSite& site, uint32_t mask);

  // sm_poll.cpp: parking
  void on_back_edge(Fragment& fragment, uint32_t loop, int64_t cycle);
  bool try_park(Fragment& fragment, const ptx::PollLoop& loop, int64_t cycle);
  void note_poll(Fragment& fragment, uint64_t address, uint32_t bytes, const uint8_t* value, bool shared,
                 int64_t cycle);
  void unpark(Fragment& fragment, int64_t change_cycle);
  void notify_shared_write(Cta& cta, uint32_t offset, uint32_t bytes, int64_t cycle);

  // sm_memory.cpp
  bool memory_access(Fragment& fragment, const ExecOp& exec, const ptx::Op& op, uint32_t mask, int64_t cycle);
  bool release_first(Fragment& fragment, const ptx::Op& op, int64_t cycle);
  void addresses(const Fragment& fragment, const ptx::Slot& slot, int64_t offset, uint32_t mask,
                 uint64_t* out) const;
  bool access_near(Fragment& fragment, const ExecOp& exec, const ptx::Op& op, Window window, uint32_t mask,
                   const uint64_t* address, int64_t cycle);
  bool access_device(Fragment& fragment, const ExecOp& exec, const ptx::Op& op, uint32_t mask,
                     const uint64_t* address, int64_t cycle);
  void access_home(Fragment& fragment, const ExecOp& exec, const ptx::Op& op, uint32_t mask,
                   const uint64_t* address, uint32_t home, int64_t cycle, bool blocking);
  bool build_parts(WarpTransaction& transaction) const;
  uint8_t* near_pointer(Fragment& fragment, Window window, uint64_t address, uint32_t lane, uint32_t bytes,
                        Cta** shared_owner);
  uint32_t bank_wavefronts(const uint64_t* address, uint32_t mask, uint32_t lane_bytes) const;
  void gather_operands(const Fragment& fragment, const ptx::Op& op, uint32_t first_source, uint32_t mask,
                       uint32_t lane_bytes, uint8_t* out) const;
  void scatter_results(const WarpTransaction& transaction);
  void scatter(Warp& warp, uint32_t row_base, const ptx::Op& op, uint32_t mask, uint32_t lane_bytes,
               const uint8_t* data) const;
  enum Room : uint8_t { kLoadRoom, kLocalStoreRoom, kRemoteStoreRoom };
  [[nodiscard]] bool has_room(Room room, uint64_t amount) const;
  bool room_for(Fragment& fragment, Room room, uint64_t amount, int64_t cycle);
  void wake_window_waiters(int64_t cycle);
  void wake_release_waiters(Cta& cta, int64_t cycle);
  void submit(WarpTransaction& transaction, int64_t cycle);

  // sm_barrier.cpp
  bool barrier(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  void barrier_check(Cta& cta, NamedBarrier& barrier, int64_t cycle);
  bool cluster_barrier(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  void cluster_barrier_check(Cta& leader, int64_t cycle);
  void mbarrier(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  bool mbarrier_wait(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  void mbarrier_update(Cta& cta, uint32_t offset, int32_t arrivals, int32_t tx, bool drop, int64_t cycle);

  // sm_bulk.cpp
  bool bulk_copy(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  bool bulk_control(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  void send_chunk(BulkCopy& copy, uint32_t offset, uint32_t bytes, int64_t cycle);
  void finish_async_group(Warp& warp, uint64_t group, int64_t cycle);
  void chunk_completed(WarpTransaction& transaction, models::Picoseconds now);
  void bulk_finished(BulkCopy& copy, int64_t cycle);
  bool async_copy(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);
  bool async_control(Fragment& fragment, const ptx::Op& op, uint32_t mask, int64_t cycle);

  Device& device_;
  const models::SmParameters& parameters_;
  uint32_t id_;
  models::EventMember<Sm, &Sm::on_event> event_{*this};
  std::vector<std::unique_ptr<Cta>> ctas_, retired_;
  std::vector<Cta*> releasable_;
  uint32_t used_warps_ = 0, used_registers_ = 0, used_shared_ = 0;
  L1Cache l1_;
  std::array<SlotCalendar, kSchedulers> issue_;
  std::array<std::array<SlotCalendar, kPipeCount>, kSchedulers> pipes_;
  SlotCalendar lsu_;
  uint32_t outstanding_lines_ = 0, remote_store_bytes_ = 0, local_store_bytes_ = 0;
  std::array<std::deque<Fragment*>, 3> window_waiters_;  ///< by Room: loads, local stores, remote stores
  double store_port_free_ = 0;  ///< cycle at which the port to the crossbar has taken all stores so far
  int64_t tma_free_ = 0;        ///< the bulk engine takes its next command
  std::array<int64_t, 2> tma_width_free_{};  ///< its bytes: loads, stores
  std::deque<Fragment> fragments_;
  std::vector<uint32_t> free_fragments_;
  std::deque<Join> joins_;
  std::vector<Join*> free_joins_;
  std::deque<BulkCopy> bulk_copies_;
  std::vector<BulkCopy*> free_bulk_copies_;
};

}  // namespace ptxwire::sim
