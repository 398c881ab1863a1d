#include <filesystem>
#include <system_error>

#include "models/machines/machine.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/output.hpp"
#include "sim/report/table.hpp"
#include "support/data_path.hpp"

namespace ptxwire::cli {
namespace {

Expected<std::string> machine_path(const std::string& name) {
  std::error_code failed;
  if (std::filesystem::is_regular_file(name, failed)) return name;
  const bool is_name = name.find('/') == std::string::npos && !name.empty();
  if (is_name) {
    if (Expected<std::string> found = find_data_file("models/machines/" + name + ".toml")) return found;
  }
  return Error{.message = "no machine '" + name + "'",
               .hint = "h800-node, h100-node, h800-pcie, or the path of a machine file"};
}

}  // namespace

Expected<int> machine_command(const MachineCommand& command) {
  const Expected<std::string> path = machine_path(command.machine);
  if (!path) return path.error();
  const Expected<models::Machine> machine = models::load_machine(*path);
  if (!machine) return machine.error();
  sim::Table table({{"parameter"}, {"value", sim::Align::right}, {"unit"}, {"kind"}, {"source"}});
  for (const models::ParameterRecord& record : machine->records) {
    table.add({record.key, record.value, record.unit, record.kind, record.source});
  }
  const std::string text =
      machine->name + ", " + std::to_string(machine->gpus) + " GPUs\n\n" + table.text_wrapped();
  if (Expected<void> written = write_output("", text, ""); !written) return written.error();
  return 0;
}

}  // namespace ptxwire::cli
