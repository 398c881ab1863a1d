// Waits followed to what ends them, on reports small enough to follow by hand.
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "sim/study/blame.hpp"

using namespace ptxwire::sim;

namespace {

constexpr size_t kA = 0, kB = 1, kC = 33;
const std::vector<WarpRole> kRoles = {{"A", 0, 0}, {"B", 1, 31}, {"C", 32, 63}};

/// A launch with one warp in each of the slots A, B and C.
struct Report {
  LaunchReport launch;
  Report() {
    launch.slots.resize(64);
    for (const size_t slot : {kA, kB, kC}) launch.slots[slot].profile.warps = 1;
  }
  Report& spends(size_t slot, WaitReason reason, int64_t us) {
    launch.slots[slot].profile.time[static_cast<size_t>(reason)] += Picoseconds{us * 1000000};
    return *this;
  }
  Report& polls(size_t slot, size_t waker, int64_t us, uint64_t times = 1) {
    launch.slots[slot].polls[waker] += times;
    launch.slots[slot].polled_for[waker] += Picoseconds{us * 1000000};
    return spends(slot, WaitReason::local_poll, us);
  }
  [[nodiscard]] std::map<std::string, double> shares(const std::vector<GpuReport>& gpus = {}) const {
    std::map<std::string, double> result;
    for (const BlameShare& share : find_blame("k", {&launch}, kRoles, gpus).shares)
      result[share.cause] += share.share;
    return result;
  }
};

}  // namespace

TEST_CASE("blame: who polls waits for who writes", "[study]") {
  // A, which has most time, polls for B alone; B waits 60 us for room for stores and computes for 30.
  const auto shares = Report()
                          .polls(kA, kB, 100)
                          .spends(kB, WaitReason::store_window, 60)
                          .spends(kB, WaitReason::issuing, 30)
                          .shares();
  CHECK(shares.at("B: instructions") == Approx(1.0 / 3));
  double nvlink = 0;
  for (const auto& [cause, share] : shares)
    if (cause.starts_with("NVLink")) nvlink += share;
  CHECK(nvlink == Approx(2.0 / 3));
}

TEST_CASE("blame: work of a stage that is ahead is not on the path", "[study]") {
  // A takes 4.5 us for each of 10 things that B sends and waits in between; B waits once, for A. Backward in
  // time: 4.5 us of A, 90 of B, 4.5 of A again, and the last microsecond is B's.
  const auto shares = Report()
                          .polls(kA, kB, 55, 10)
                          .spends(kA, WaitReason::issuing, 45)
                          .spends(kB, WaitReason::local_load, 90)
                          .polls(kB, kA, 10)
                          .shares();
  CHECK(shares.at("A: instructions") == Approx(0.09));
  CHECK(shares.at("B: latency of L2 and HBM") == Approx(0.91));
}

TEST_CASE("blame: a message takes its time, then the path goes to who rings", "[study]") {
  GpuReport gpu;
  gpu.nic.egress_utilisation = 0.4;
  gpu.nic.pcie_utilisation = 0.7;
  gpu.nic.message_time = Picoseconds{35000000};
  Report report;
  report.polls(kA, LaunchReport::kByNic, 100).spends(kC, WaitReason::local_load, 50);
  report.launch.slots[kC].doorbells = 12;
  const auto shares = report.shares({gpu});
  CHECK(shares.at("NIC: two-way rate of PCIe") == Approx(0.35));
  CHECK(shares.at("C: latency of L2 and HBM") == Approx(0.65));
}

TEST_CASE("blame: what goes round in circles is the rings", "[study]") {
  const auto shares = Report().polls(kA, kB, 100).polls(kB, kA, 80).shares();
  CHECK(shares.at("rings: room that is given back") == Approx(1.0));
  // With a little work in the circle it is all that work: whatever it takes, the other side waits for.
  const auto work = Report().polls(kA, kB, 90).polls(kB, kA, 80).spends(kB, WaitReason::issuing, 10).shares();
  CHECK(work.at("B: instructions") == Approx(1.0).margin(0.01));
}

TEST_CASE("blame: the host that posts, and time that nobody is known for", "[study]") {
  const auto shares = Report()
                          .polls(kA, LaunchReport::kByHost, 50)
                          .spends(kA, WaitReason::local_poll, 25)
                          .spends(kA, WaitReason::sleep, 25)
                          .shares();
  CHECK(shares.at("host thread that posts") == Approx(0.5));
  CHECK(shares.at("A: sleep") == Approx(0.25));
  CHECK(shares.at("A: other waits") == Approx(0.25));
}

TEST_CASE("blame: who only tells of another passes the path on", "[study]") {
  // B spins, which looks like work; what it tells A is C's.
  const std::vector<WarpRole> roles = {{"A", 0, 0}, {"B", 1, 31, "C"}, {"C", 32, 63}};
  Report report;
  report.polls(kA, kB, 100).spends(kB, WaitReason::issuing, 90).spends(kC, WaitReason::sleep, 80);
  const Blame blame = find_blame("k", {&report.launch}, roles, {});
  REQUIRE(blame.shares.size() == 1);
  CHECK(blame.shares[0].cause == "C: sleep");
  CHECK(blame.shares[0].share == Approx(1));
}

TEST_CASE("blame: a resource that is full is the bound, and the busiest of two", "[study]") {
  Report report;
  report.spends(kA, WaitReason::issuing, 100);
  const auto words = [&](double nvlink, double pcie) {
    GpuReport gpu;
    gpu.nvlink_egress_utilisation = nvlink;
    gpu.nic.pcie_utilisation = pcie;
    return find_blame("k", {&report.launch}, kRoles, {gpu}).words;
  };
  CHECK(words(0.78, 0.46) ==
        "k is bound by NVLink; NVLink is busy 78 %, the NIC at 46 % of its two-way rate; most of the path is "
        "A (100 %)");
  CHECK(words(0.7, 0.9).starts_with("k is bound by the NIC; "));
  CHECK(words(0.5, 0.4) ==
        "k is bound by A (100 % of its time); NVLink is busy 50 %, the NIC at 40 % of its two-way rate");
}

TEST_CASE("blame: nothing ran", "[study]") { CHECK(Report().shares().empty()); }
