#include "sim/cli/mpi_team.hpp"

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#ifdef PTXWIRE_WITH_MPI
#include <mpi.h>
#endif
#include <nlohmann/json.hpp>

namespace ptxwire::cli {
namespace {

/// What the launchers of Open MPI and of PMI (Slurm, MPICH) tell their processes.
bool started_by_launcher() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return true;
  return false;
}

#ifdef PTXWIRE_WITH_MPI

using nlohmann::json;

/// kWork answers kWanted with a job, or with nothing: there is no more work.
constexpr std::chrono::milliseconds kTurn(2);
enum Tag : int { kWanted = 1, kResult, kStopped, kWork };

void send(int to, Tag tag, const std::string& text) {
  MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, to, tag, MPI_COMM_WORLD);
}

/// Waits for a message. A blocking call of MPI would keep a core busy that simulates.
MPI_Status wait_for(int from, int tag) {
  MPI_Status status;
  for (int there = 0;; std::this_thread::sleep_for(kTurn)) {
    MPI_Iprobe(from, tag, MPI_COMM_WORLD, &there, &status);
    if (there != 0) return status;
  }
}

std::string receive(int from, int tag) {
  const MPI_Status status = wait_for(from, tag);
  int size = 0;
  MPI_Get_count(&status, MPI_CHAR, &size);
  std::string text(static_cast<size_t>(size), '\0');
  MPI_Recv(text.data(), size, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return text;
}

std::string job_text(const sim::Job& job) {
  return sim::json_text({{"scenario", job.scenario},
                         {"settings", job.settings},
                         {"machine", job.machine},
                         {"check_results", job.check_results},
                         {"sampling", static_cast<unsigned>(job.sampling)}},
                        sim::JsonLayout::compact);
}

/// Of a text that job_text() wrote.
sim::Job job_of(const std::string& text) {
  const json entry = json::parse(text);
  return {.scenario = entry.at("scenario"),
          .settings = entry.at("settings"),
          .machine = entry.at("machine"),
          .check_results = entry.at("check_results"),
          .sampling = static_cast<sim::Sampling>(entry.at("sampling").get<unsigned>())};
}

#endif

}  // namespace

#ifdef PTXWIRE_WITH_MPI

Expected<MpiTeam> MpiTeam::join() {
  if (!started_by_launcher()) return MpiTeam(0, 1);
  int provided = 0, rank = 0, size = 1;
  // Points run on threads; only the main thread speaks.
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_FUNNELED)
    return Error{.message = "MPI cannot be started with threads"};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return MpiTeam(rank, static_cast<uint32_t>(size));
}

MpiTeam::~MpiTeam() {
  int started = 0;
  if (size_ != 0) MPI_Initialized(&started);
  if (started == 0) return;
  // Who is done early waits here for the others, as above.
  MPI_Request all_here = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &all_here);
  for (int done = 0;; std::this_thread::sleep_for(kTurn)) {
    MPI_Test(&all_here, &done, MPI_STATUS_IGNORE);
    if (done != 0) break;
  }
  MPI_Finalize();
}

bool MpiTeam::serve(sim::SweepQueue& queue) {
  while (true) {
    int waiting = 0;
    MPI_Status status;
    if (dismissed_ + 1 < size_) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &waiting, &status);
    if (waiting == 0) return dismissed_ + 1 < size_;
    const std::string text = receive(status.MPI_SOURCE, status.MPI_TAG);
    if (status.MPI_TAG == kResult) {
      const Expected<sim::SweepResult> result = sim::sweep_result_from_text(text);
      result ? queue.put(*result) : queue.give_up(result.error());
    } else if (status.MPI_TAG == kStopped) {
      queue.give_up({.message = "stopped"});
    } else {
      const std::optional<size_t> point = queue.take();
      send(status.MPI_SOURCE, kWork, point ? job_text(queue.job(*point)) : "");
      dismissed_ += point ? 0 : 1;
    }
  }
}

void MpiTeam::dismiss() {
  while (dismissed_ + 1 < size_) {
    const MPI_Status status = wait_for(MPI_ANY_SOURCE, MPI_ANY_TAG);
    receive(status.MPI_SOURCE, status.MPI_TAG);
    if (status.MPI_TAG != kWanted) continue;
    send(status.MPI_SOURCE, kWork, "");
    ++dismissed_;
  }
}

Expected<void> MpiTeam::work(sim::Runner& runner, const sim::JobControl& control) {
  bool stopped = false;
  while (true) {
    send(0, kWanted, "");
    const std::string text = receive(0, kWork);
    if (text.empty()) break;
    if (stopped) continue;
    const Expected<sim::SweepResult> result = sim::run_point(runner, job_of(text), control);
    stopped = !result;
    send(0, result ? kResult : kStopped, result ? sim::sweep_result_text(*result) : "");
  }
  if (stopped) return Error{.message = "stopped"};
  return {};
}

#else

Expected<MpiTeam> MpiTeam::join() {
  if (started_by_launcher()) {
    return Error{.message = "started by mpirun, and this ptxwire was built without MPI",
                 .hint = "apt-get install libopenmpi-dev, then configure anew"};
  }
  return MpiTeam(0, 1);
}
MpiTeam::~MpiTeam() = default;
bool MpiTeam::serve(sim::SweepQueue& /*queue*/) { return false; }
void MpiTeam::dismiss() {}
Expected<void> MpiTeam::work(sim::Runner& /*runner*/, const sim::JobControl& /*control*/) { return {}; }

#endif

}  // namespace ptxwire::cli
