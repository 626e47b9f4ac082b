// The counts of each PTX statement, for a model that lays them over machine code: ptxas notes for each machine instruction the statement that it
// came from.
#include "profile.hpp"

namespace cudanalyst {

void write_instructions(const Profile& p) {
  const auto field = [](std::string& json, const char* name, u64 value) { json += std::string(",\"") + name + "\":" + std::to_string(value); };
  const auto extent = [](const Dim3& d) { return "[" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + "]"; };
  std::string json = "{\"type\":\"profile_instructions\",\"symbol\":";
  append_json_string(json, p.program->symbol);
  json += ",\"grid\":" + extent(p.launch.grid) + ",\"block\":" + extent(p.launch.block);
  field(json, "launches", p.launches);
  field(json, "warps", p.warps);
  field(json, "blocks", p.blocks);
  field(json, "shared_bytes", p.program->static_shared + p.launch.dynamic_shared_bytes);
  field(json, "longest_warps", p.longest_warps);
  field(json, "longest_block", p.longest_block);
  field(json, "longest_warp", p.longest_warp);
  json +=
      ",\"columns\":[\"statement\",\"executed\",\"lanes\",\"requests\",\"sectors\",\"wavefronts\",\"wavefronts_ideal\",\"divergent\",\"l2_sectors\","
      "\"l2_misses\",\"first\",\"tags\",\"addresses\",\"serial\",\"hottest_requests\",\"hottest_lanes\"],\"functions\":"
      "[";
  for (const auto& code : p.program->functions) {
    if (json.back() != '[') json += ",";
    json += "{\"name\":";
    append_json_string(json, code->source->name);
    json += ",\"rows\":[";
    for (u32 pc = code->entry; pc < code->end; ++pc) {
      const Counts& c = p.counts[pc];
      if (!c.executed) continue;
      if (json.back() != '[') json += ",";
      Updates hottest;
      if (const auto it = p.updates.find(pc); it != p.updates.end())
        for (const Updates& updates : it->second)
          if (updates.lanes > hottest.lanes) hottest = updates;
      json += "[" + std::to_string(pc - code->entry);
      for (const u64 n : {c.executed, c.lanes, c.requests, c.sectors, c.wavefronts, c.ideal, c.divergent, c.l2_sectors, c.l2_misses, c.first, c.tags,
                          c.addresses, c.serial, hottest.requests, hottest.lanes})
        json += "," + std::to_string(n);
      json += "]";
    }
    json += "]}";
  }
  report_line(json + "]}");
}

}  // namespace cudanalyst
