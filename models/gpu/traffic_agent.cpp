#include "models/gpu/traffic_agent.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace ptxwire::models {

uint64_t TrafficLoad::pieces() const {
  return static_cast<uint64_t>(std::ceil(flops * bytes_per_flop / TrafficAgent::kPieceBytes));
}

TrafficAgent::TrafficAgent(const Machine& machine, GpuId gpu, LogicalProcess& process,
                           GpuMemorySystem& memory, std::function<bool(uint32_t)> is_free)
    : parameters_(machine.sm),
      gpu_(gpu),
      process_(process),
      memory_(memory),
      is_free_(std::move(is_free)),
      sms_(machine.sm.count) {}

void TrafficAgent::start(const TrafficLoad& load, uint64_t address, uint8_t owner, Picoseconds now,
                         std::function<void(Picoseconds)> on_done) {
  load_ = load;
  address_ = address;
  owner_ = owner;
  on_done_ = std::move(on_done);
  pieces_ = load.pieces();
  footprint_pieces_ = load.footprint_bytes / kPieceBytes;
  issued_ = completed_ = 0;
  const double clk = kPieceBytes / (load.flops_per_clk * load.bytes_per_flop);
  constexpr double kLongest = 1e15;  // picoseconds; a load this slow has no traffic
  interval_ = {static_cast<int64_t>(std::min(clk / parameters_.clock_hz * 1e12 + 0.5, kLongest))};
  for (uint32_t sm = 0; sm < sms_.size(); ++sm) {
    sms_[sm] = {};
    process_.at(now, step_event_, sm);
  }
}

void TrafficAgent::step(Picoseconds now, uint64_t number) {
  constexpr auto kPatience = microseconds(1);
  const auto sm = static_cast<uint32_t>(number);
  if (issued_ == pieces_) return;
  if (!is_free_(sm)) {
    process_.at(now + kPatience, step_event_, number);
    return;
  }
  if (sms_[sm].lines_in_flight + kPieceLines > parameters_.outstanding_load_lines) {
    sms_[sm].waits = true;
    return;
  }
  issue(sm, now);
  process_.at(now + interval_, step_event_, number);
}

void TrafficAgent::issue(uint32_t sm, Picoseconds now) {
  if (free_.empty()) {
    transactions_.push_back(std::make_unique<Transaction>());
    free_.push_back(transactions_.back().get());
  }
  Transaction& transaction = *free_.back();
  free_.pop_back();
  transaction = {};
  const uint64_t piece = issued_++;
  // The n-th piece is a store whenever the share of stores so far grows past a whole one.
  const double before = static_cast<double>(piece) * load_.write_share;
  const bool store = std::floor(before + load_.write_share) > std::floor(before);
  transaction.kind = store ? AccessKind::store : AccessKind::load;
  transaction.owner = owner_;
  transaction.source_gpu = transaction.home_gpu = gpu_;
  transaction.source_sm = SmId{sm};
  transaction.client = this;
  transaction.cover(address_ + piece % footprint_pieces_ * kPieceBytes, kPieceBytes);
  sms_[sm].lines_in_flight += kPieceLines;
  memory_.submit(transaction, now);
}

void TrafficAgent::complete(Transaction& transaction, Picoseconds now) {
  Sm& sm = sms_[transaction.source_sm.value];
  sm.lines_in_flight -= kPieceLines;
  free_.push_back(&transaction);
  if (++completed_ == pieces_) {
    on_done_(now);
    return;
  }
  if (!std::exchange(sm.waits, false)) return;
  process_.at(now, step_event_, transaction.source_sm.value);
}

}  // namespace ptxwire::models
