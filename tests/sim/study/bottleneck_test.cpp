#include "sim/study/bottleneck.hpp"

#include <catch2/catch.hpp>

using namespace ptxwire::sim;
using ptxwire::models::microseconds;
using ptxwire::models::Picoseconds;

namespace {

void wait(WarpProfile& profile, WaitReason reason, double us) {
  profile.time[static_cast<size_t>(reason)] += microseconds(us);
}

LaunchReport launch(uint32_t gpu, double finished_us) {
  LaunchReport report;
  report.gpu.value = gpu;
  report.role = "dispatch";
  report.finished = microseconds(finished_us);
  for (WarpProfile& profile : report.profile) profile.warps = 10;
  return report;
}

}  // namespace

TEST_CASE("bottleneck: a full resource binds and is named with how full it is") {
  RunReport report;
  report.gpus.resize(2);
  report.gpus[0].nvlink_egress_utilisation = 0.7;
  report.gpus[1].nvlink_egress_utilisation = 0.9;
  report.gpus[1].nvlink_egress_max_utilisation = 0.95;
  report.gpus[1].hbm_utilisation = 0.5;
  const Bottleneck bottleneck = find_bottleneck(report);
  CHECK_THAT(bottleneck.binding, Catch::StartsWith("nvlink egress (95 %"));
  CHECK(bottleneck.resources.at(0).mean == Approx(0.8));
  CHECK(bottleneck.resources.at(0).peak == Approx(0.95));
}

TEST_CASE("bottleneck: receivers that poll lead to the senders and to what those wait for") {
  RunReport report;
  report.gpus.resize(1);
  report.launches = {launch(0, 90), launch(1, 100)};
  LaunchReport& last = report.launches[1];
  wait(last.profile[1], WaitReason::local_poll, 80);
  wait(last.profile[1], WaitReason::local_load, 20);
  wait(last.profile[0], WaitReason::remote_poll, 30);
  wait(last.profile[0], WaitReason::release_fence, 50);
  wait(last.profile[0], WaitReason::issuing, 20);
  const Bottleneck bottleneck = find_bottleneck(report);
  REQUIRE(bottleneck.path.size() == 2);
  CHECK(bottleneck.path[0].where == "dispatch on gpu 1, odd CTAs");
  CHECK(bottleneck.path[0].reason == std::string(wait_reason_name(WaitReason::local_poll)));
  CHECK(bottleneck.path[0].share == Approx(0.8));
  CHECK(bottleneck.path[1].where == "dispatch on gpu 1, even CTAs");
  CHECK(bottleneck.path[1].reason == std::string(wait_reason_name(WaitReason::release_fence)));
  CHECK(bottleneck.path[1].share == Approx(0.5));
  // No resource is full: the wait at the end of the chain binds.
  CHECK_THAT(bottleneck.binding, Catch::Contains(std::string(wait_reason_name(WaitReason::release_fence))));
}

TEST_CASE("bottleneck: roles have names where the kernel is known") {
  RunReport report;
  report.launches = {launch(0, 100)};
  wait(report.launches[0].profile[1], WaitReason::local_poll, 80);
  wait(report.launches[0].profile[0], WaitReason::store_window, 50);
  const CtaRoles roles{.kernel = "dispatch", .names = {"senders", "receivers"}};
  const Bottleneck bottleneck = find_bottleneck(report, roles);
  CHECK(bottleneck.roles.at(0).role == "senders (even CTAs)");
  CHECK(bottleneck.path.at(0).where == "dispatch on gpu 0, receivers (odd CTAs)");
  CHECK_THAT(bottleneck.path.at(0).leads_to, Catch::Contains("senders (even CTAs)"));
  CHECK(find_bottleneck(report, {.kernel = "combine", .names = roles.names}).roles.at(0).role == "even CTAs");
}

TEST_CASE("bottleneck: a timed call repeats its kernels and the last launch counts") {
  RunReport report;
  report.launches = {launch(0, 50), launch(0, 100)};
  wait(report.launches[0].profile[0], WaitReason::atomic, 1000);
  wait(report.launches[1].profile[0], WaitReason::local_load, 30);
  wait(report.launches[1].profile[0], WaitReason::issuing, 10);
  const Bottleneck bottleneck = find_bottleneck(report);
  REQUIRE(bottleneck.roles.size() == 2);
  const RoleProfile& even = bottleneck.roles[0];
  CHECK(even.role == "even CTAs");
  CHECK(even.warps == 10);
  REQUIRE(even.waits.size() == 2);
  CHECK(even.waits[0].share == Approx(0.75));
  CHECK(even.waits[0].us == Approx(3));  // 30 us over 10 warps
}

TEST_CASE("bottleneck: lanes that wait for other lanes of their warp do not hide what those do") {
  RunReport report;
  report.launches = {launch(0, 100)};
  for (WarpProfile& profile : report.launches[0].profile) wait(profile, WaitReason::reconverge, 900);
  wait(report.launches[0].profile[1], WaitReason::local_poll, 3);
  wait(report.launches[0].profile[1], WaitReason::local_load, 1);
  wait(report.launches[0].profile[0], WaitReason::store_window, 5);
  const Bottleneck bottleneck = find_bottleneck(report);
  REQUIRE(bottleneck.roles.size() == 2);
  CHECK(bottleneck.roles[1].waits.at(0).share == Approx(0.75));
  REQUIRE(bottleneck.path.size() == 2);
  CHECK(bottleneck.path[0].share == Approx(0.75));
  CHECK(bottleneck.path[1].share == Approx(1));
}

TEST_CASE("bottleneck: nothing ran") {
  const Bottleneck bottleneck = find_bottleneck({});
  CHECK(bottleneck.path.empty());
  CHECK(bottleneck.roles.empty());
  CHECK(bottleneck.binding == "nothing ran");
}
