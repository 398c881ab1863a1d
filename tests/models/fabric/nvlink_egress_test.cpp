// The way out of a GPU: room at the links, and who waits for it.
#include <vector>

#include "tests/models/driver.hpp"

namespace ptxwire::models::test {
namespace {

constexpr unsigned kLines = 4;  // 512 bytes: one granule, one link
constexpr unsigned kStores = 64;

struct Ends {
  Picoseconds behind;  ///< the last store of the SM that keeps one link busy; it is for another link
  Picoseconds other;   ///< a store of another SM over that other link
};

Ends ends_with(uint32_t egress_buffer_bytes) {
  Machine m = machine("h800-node");
  m.nvlink.egress_buffer_bytes = egress_buffer_bytes;
  Node node(m, 2);
  std::vector<Transaction> stores(kStores + 2);
  std::vector<Recorder> recorders(stores.size());
  for (unsigned i = 0; i < stores.size(); ++i) {
    const bool same_link = i < kStores;
    fill(stores[i], AccessKind::store, 0, 1, device_base(1) + (same_link ? 0 : m.nvlink.interleave_bytes),
         kLines, SmId{i == kStores + 1 ? 1U : 0U});
    stores[i].client = &recorders[i];
    node.memory(0).submit(stores[i], {});
  }
  node.run();
  CHECK(node.fabric().idle());
  return {recorders[kStores].completed, recorders[kStores + 1].completed};
}

}  // namespace

TEST_CASE("fabric: a store without room at its link holds up what its SM sends later, and no other SM",
          "[timing][analytic]") {
  const Machine m = machine("h800-node");
  const uint32_t wire_bytes = kLines * (kLineBytes + m.nvlink.header_bytes);
  const double on_the_link_ns = 1e9 * wire_bytes / m.nvlink.link_bytes_per_second;
  // Room for one: the last of 64 is let in when 63 are on the link, and only then what is behind it.
  const Ends one = ends_with(wire_bytes);
  CHECK(static_cast<double>((one.behind - one.other).value) * 1e-3 ==
        Approx((kStores - 1) * on_the_link_ns).epsilon(0.02));
  // Room for sixteen: 15 of them enter at once.
  const Ends sixteen = ends_with(16 * wire_bytes);
  CHECK(static_cast<double>((sixteen.behind - sixteen.other).value) * 1e-3 ==
        Approx((kStores - 16) * on_the_link_ns).epsilon(0.02));
  // Room for all: both stores of the other link leave together, one after the other.
  const Ends all = ends_with(1 << 20);
  CHECK(static_cast<double>((max(all.behind, all.other) - min(all.behind, all.other)).value) * 1e-3 <=
        1.01 * on_the_link_ns);
  CHECK(one.other < all.other + nanoseconds(1));
}

}  // namespace ptxwire::models::test
