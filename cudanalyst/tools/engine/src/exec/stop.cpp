// How a launch stops before its end: faults, deadlocks, the watchdog.
#include <cstdio>

#include "../check/check.hpp"
#include "core.hpp"

namespace cudanalyst {
namespace {

std::string numbers(const Dim3& d) {
  char text[64];
  std::snprintf(text, sizeof text, "[%u,%u,%u]", d.x, d.y, d.z);
  return text;
}

const char* state_of(const Warp& w, u32 lane) {
  if (!(w.live >> lane & 1)) return "exited";
  if (w.waiting_sync >> lane & 1) return "warp_sync";
  if (w.blocked >> lane & 1) return "barrier";
  return "running";
}

// Where a waiting lane waits: at the barrier, not behind it.
const Instr& stands_at(const Warp& w, u32 lane) {
  const auto& code = w.context->program->code;
  if ((w.blocked & ~w.waiting_sync) >> lane & 1) return code[w.barrier_pc[lane]];
  return code[w.pc[lane]];
}

}  // namespace

const char* error_name(int code) {
  switch (code) {
    case success: return "cudaSuccess";
    case invalid_value: return "cudaErrorInvalidValue";
    case illegal_address: return "cudaErrorIllegalAddress";
    case launch_timeout: return "cudaErrorLaunchTimeout";
    case assert_triggered: return "cudaErrorAssert";
    case hardware_stack_error: return "cudaErrorHardwareStackError";
    case illegal_instruction: return "cudaErrorIllegalInstruction";
    case misaligned_address: return "cudaErrorMisalignedAddress";
    case invalid_address_space: return "cudaErrorInvalidAddressSpace";
    case invalid_pc: return "cudaErrorInvalidPc";
    case launch_failure: return "cudaErrorLaunchFailure";
    default: return "cudaErrorUnknown";
  }
}

std::string launch_json_place(const Program& p, const Instr& i) {
  const Place at = p.place(i);
  std::string json = "\"kernel\":";
  append_json_string(json, p.kernel);
  json += ",\"file\":";
  append_json_string(json, at.file);
  json += ",\"line\":" + std::to_string(at.line);
  return json;
}

void fault(Warp& w, const Instr& i, Error code, const std::string& message, u32 lane) {
  w.event = true;
  LaunchState& l = *w.context->launch;
  const std::lock_guard lock(l.mutex);
  if (l.stop.exchange(true)) return;
  l.error = code;
  std::string json =
      "{\"type\":\"error\",\"code\":" + std::to_string(code) + ",\"name\":\"" + error_name(code) + "\"," + launch_json_place(*l.program, i);
  json += ",\"thread\":" + numbers(thread_index(w, lane)) + ",\"block\":" + numbers(w.block->index) + ",\"message\":";
  append_json_string(json, message);
  report_line(json + "}");
}

void report_stuck(Context& c, const std::vector<Block*>& blocks, bool deadlock) {
  LaunchState& l = *c.launch;
  {
    const std::lock_guard lock(l.mutex);
    if (l.stop.exchange(true)) return;
    l.error = launch_timeout;
  }
  const Program& p = *c.program;
  std::string json = "{\"type\":\"watchdog\",\"kernel\":";
  append_json_string(json, p.kernel);
  json += ",\"warps\":[";
  int listed = 0;
  Warp* first = nullptr;
  u32 first_lane = 0;
  bool first_runs = false;
  for (Block* b : blocks)
    for (Warp& w : b->warps) {
      u32 left = w.live;
      while (left) {
        const u32 lane = static_cast<u32>(__builtin_ctz(left));
        const Instr& i = stands_at(w, lane);
        u32 same = 0;
        for (u32 k = lane; k < 32; ++k)
          if (left >> k & 1 && &stands_at(w, k) == &i && state_of(w, k) == state_of(w, lane)) same |= 1u << k;
        left &= ~same;
        // Who runs is to blame for an endless loop, not who waits for him.
        if (!first || (!deadlock && !first_runs && state_of(w, lane)[0] == 'r'))
          first = &w, first_lane = lane, first_runs = state_of(w, lane)[0] == 'r';
        if (listed >= 8) continue;
        const Place at = p.place(i);
        json += listed++ ? "," : "";
        json += "{\"block\":" + numbers(b->index) + ",\"warp\":" + std::to_string(w.id) + ",\"file\":";
        append_json_string(json, at.file);
        char lanes[16];
        std::snprintf(lanes, sizeof lanes, "0x%08x", same);
        json += ",\"line\":" + std::to_string(at.line) + ",\"state\":\"" + state_of(w, lane) + "\",\"lanes\":\"" + lanes + "\"}";
      }
    }
  const std::string message = deadlock ? "Deadlock: every thread that has not exited waits, and none can go on"
                                       : "The launch was stopped after " + std::to_string(l.executed.load()) +
                                             " warp instructions (CUDANALYST_MAX_WARP_INSTRUCTIONS): an endless loop, or more work than allowed";
  json += "],\"message\":";
  append_json_string(json, message);
  report_line(json + "}");
  if (first && (c.checks & synccheck)) {
    Finding f;
    f.check = "synccheck";
    f.kind = deadlock ? "barrier_deadlock" : "endless_loop";
    f.message = message;
    const Instr& i = stands_at(*first, first_lane);
    if (deadlock) {
      // The other side: a thread of the block that waits elsewhere.
      for (Warp& w : first->block->warps)
        for (u32 rest = w.live; rest && !f.other; rest &= rest - 1) {
          const u32 lane = static_cast<u32>(__builtin_ctz(rest));
          if (&stands_at(w, lane) == &i) continue;
          f.other = &stands_at(w, lane);
          f.other_access = "wait";
          f.other_thread = w.block->number * w.block->threads + w.id * 32 + lane;
        }
    }
    report_finding(*first, i, first_lane, f);
  }
  // How it ended, also for readers that know no watchdog.
  std::string error = "{\"type\":\"error\",\"code\":702,\"name\":\"cudaErrorLaunchTimeout\",";
  error += first ? launch_json_place(p, stands_at(*first, first_lane)) : "\"kernel\":\"\",\"file\":\"\",\"line\":0";
  error += ",\"message\":";
  append_json_string(error, message);
  report_line(error + "}");
}

}  // namespace cudanalyst
