// What must hold for any traffic: bytes are conserved, order is kept, results do not depend on who runs
// first.
#include <map>
#include <random>

#include "tests/models/driver.hpp"

namespace ptxwire::models::test {
namespace {

/// Random traffic of all kinds from every GPU, with a record of when each transaction was performed and
/// completed.
class RandomTraffic final : public MemoryClient {
 public:
  RandomTraffic(Node& node, uint32_t gpus, uint32_t per_gpu, bool remote_only)
      : transactions_(size_t{gpus} * per_gpu) {
    performed.resize(transactions_.size());
    completed.resize(transactions_.size());
    for (uint32_t gpu = 0; gpu < gpus; ++gpu) {
      std::mt19937 random(gpu + 7);
      for (uint32_t i = 0; i < per_gpu; ++i) {
        Transaction& t = transactions_[size_t{gpu} * per_gpu + i];
        const uint32_t home = remote_only ? (gpu + 1 + random() % (gpus - 1)) % gpus : random() % gpus;
        const auto kind = static_cast<AccessKind>(random() % 4);
        const unsigned lines = 1 + random() % 8;
        fill(t, kind, gpu, home, device_base(home) + random() % 4096 * kLineBytes, lines,
             SmId{static_cast<uint32_t>(random() % 132)});
        for (unsigned part = 0; part < lines; ++part) {
          t.parts[part].sector_mask = static_cast<uint8_t>(1 + random() % 15);
          t.parts[part].bytes = static_cast<uint16_t>(sector_count(t.parts[part].sector_mask) * kSectorBytes);
        }
        t.client = this;
        node.memory(gpu).submit(t, nanoseconds(static_cast<double>(i)));
      }
    }
  }
  void perform(Transaction& t, unsigned, unsigned count, Picoseconds now) override {
    performed[index(t)] = now;
    parts_performed += count;
  }
  void complete(Transaction& t, Picoseconds now) override {
    CHECK(completed[index(t)] == Picoseconds{});
    completed[index(t)] = now;
  }
  [[nodiscard]] const std::vector<Transaction>& transactions() const { return transactions_; }
  std::vector<Picoseconds> performed, completed;
  uint64_t parts_performed = 0;

 private:
  [[nodiscard]] size_t index(const Transaction& t) const {
    return static_cast<size_t>(&t - transactions_.data());
  }
  std::vector<Transaction> transactions_;
};

}  // namespace

TEST_CASE("fabric: bytes and packets are conserved and all credits come home", "[contract]") {
  const Machine m = machine(GENERATE(as<std::string>{}, "h800-node", "h100-node"));
  Node node(m, 8);
  CHECK(node.fabric().idle());
  RandomTraffic traffic(node, 8, 400, true);
  node.run();
  CHECK(node.fabric().idle());

  uint64_t parts = 0, payload = 0, wire = 0;
  for (const Transaction& t : traffic.transactions()) {
    parts += t.part_count;
    for (unsigned i = 0; i < t.part_count; ++i) {
      // One packet per line: data with a header, a bare acknowledgement for what returns nothing, a request
      // for a load.
      const uint64_t packet = t.parts[i].bytes + m.nvlink.header_bytes;
      const bool data_there = t.kind != AccessKind::load;
      const bool data_back = t.kind == AccessKind::load || t.kind == AccessKind::atomic;
      payload += t.parts[i].bytes * (uint64_t{data_there} + uint64_t{data_back});
      wire += packet * (uint64_t{data_there} + uint64_t{data_back});
      wire += data_back ? (data_there ? 0 : m.nvlink.read_request_bytes) : m.nvlink.ack_bytes;
    }
  }
  CHECK(traffic.parts_performed == parts);
  for (Picoseconds completed : traffic.completed) CHECK(completed > Picoseconds{});
  LinkUse sent, received;
  uint64_t sent_counted = 0, received_counted = 0;
  for (uint32_t gpu = 0; gpu < 8; ++gpu) {
    for (uint32_t link = 0; link < m.nvlink.links_per_gpu; ++link) {
      const LinkUse out = node.fabric().egress_use(GpuId{gpu}, link),
                    in = node.fabric().ingress_use(GpuId{gpu}, link);
      sent.payload_bytes += out.payload_bytes, sent.wire_bytes += out.wire_bytes, sent.busy += out.busy;
      received.payload_bytes += in.payload_bytes, received.wire_bytes += in.wire_bytes,
          received.busy += in.busy;
    }
    sent_counted += node.memory(gpu).counters().nvlink_sent_wire_bytes;
    received_counted += node.memory(gpu).counters().nvlink_received_payload_bytes;
  }
  CHECK(sent.payload_bytes == payload);
  CHECK(received.payload_bytes == payload);
  CHECK(sent.wire_bytes == wire);
  CHECK(received.wire_bytes == wire);
  CHECK(sent.busy.us() == Approx(static_cast<double>(wire) / m.nvlink.link_bytes_per_second * 1e6));
  CHECK(received.busy == sent.busy);
  CHECK(sent_counted == wire);
  CHECK(received_counted == payload);
}

TEST_CASE("fabric: accesses of one GPU to one line are performed in the order they were made", "[contract]") {
  Node node(machine(), 8);
  RandomTraffic traffic(node, 8, 400, true);
  node.run();
  std::map<std::pair<uint32_t, uint64_t>, Picoseconds> last;
  for (size_t i = 0; i < traffic.transactions().size(); ++i) {
    const Transaction& t = traffic.transactions()[i];
    if (t.part_count != 1) continue;  // the record keeps only the last part's time
    Picoseconds& before = last[{t.source_gpu.value, t.parts[0].line}];
    CHECK(before <= traffic.performed[i]);
    before = traffic.performed[i];
  }
}

TEST_CASE("memory: accesses of one SM to one line are performed in the order they were made", "[contract]") {
  // A wide access with a far part must not be overtaken by a narrow near one to the same line.
  Node node(machine(), 1);
  std::vector<Transaction> transactions(2000);
  struct Order final : MemoryClient {
    void perform(Transaction& t, unsigned first, unsigned count, Picoseconds) override {
      for (unsigned i = first; i < first + count; ++i) {
        auto [position, added] = last.try_emplace(t.parts[i].line, &t);
        if (!added && position->second > &t) ++overtaken;
        position->second = &t;
      }
    }
    void complete(Transaction&, Picoseconds) override {}
    std::map<uint64_t, Transaction*> last;
    unsigned overtaken = 0;
  } order;
  std::mt19937 random(3);
  for (size_t i = 0; i < transactions.size(); ++i) {
    fill(transactions[i], AccessKind::store, 0, 0, device_base(0) + random() % 256 * kLineBytes,
         1 + random() % 32);
    transactions[i].client = &order;
    node.memory(0).submit(transactions[i], {static_cast<int64_t>(i) * 500});
  }
  node.run();
  CHECK(order.last.size() > 256);
  CHECK(order.overtaken == 0);
}

TEST_CASE("fabric: a run is the same whatever order the processes run in", "[contract]") {
  const Machine m = machine();
  std::vector<Picoseconds> first;
  for (const bool reversed : {false, false, true}) {
    Node node(m, 8);
    node.reverse_process_order(reversed);
    RandomTraffic traffic(node, 8, 300, false);
    node.run();
    if (first.empty()) first = traffic.completed;
    CHECK(traffic.completed == first);
  }
}

TEST_CASE("fabric: a small store costs a sector, a header and the flit that says which bytes", "[analytic]") {
  const Machine m = machine();
  const uint16_t bytes = GENERATE(as<uint16_t>{}, 4, 31, 32);
  Node node(m, 2);
  Transaction transaction;
  Recorder recorder;
  fill(transaction, AccessKind::store, 0, 1, device_base(1), 1);
  transaction.parts[0].bytes = bytes;
  transaction.parts[0].sector_mask = 1;
  transaction.client = &recorder;
  node.memory(0).submit(transaction, {});
  node.run();
  const uint32_t byte_enables = bytes < 32 ? 16 : 0;
  CHECK(node.memory(0).counters().nvlink_sent_payload_bytes == bytes);
  CHECK(node.memory(0).counters().nvlink_sent_wire_bytes == 32 + m.nvlink.header_bytes + byte_enables);
  CHECK(node.memory(1).counters().nvlink_sent_wire_bytes == m.nvlink.ack_bytes);
}

TEST_CASE("fabric: a store stream of one warp access makes at most six events a piece", "[contract]") {
  const Machine m = machine();
  Node node(m, 8);
  std::vector<std::unique_ptr<Stream>> streams;
  constexpr uint64_t kPieces = 4000;
  for (uint32_t gpu = 0; gpu < 8; ++gpu) {
    streams.push_back(std::make_unique<Stream>(node.memory(gpu), 512, [gpu](Transaction& t, uint64_t n) {
      const auto home = static_cast<uint32_t>((gpu + 1 + n * 2654435761U / 4096 % 7) % 8);
      fill(t, AccessKind::store, gpu, home, device_base(home) + n * 512, 4);
      return n < kPieces;
    }));
    streams.back()->start({});
  }
  node.run();
  CHECK(static_cast<double>(node.events()) / (8 * kPieces) <= 6.0);
}

}  // namespace ptxwire::models::test
