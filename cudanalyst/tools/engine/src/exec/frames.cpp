// Frames: registers of a function, shared by the lanes that came in by the same call.
#include <algorithm>
#include <new>

#include "cluster.hpp"

namespace cudanalyst {

Frame* enter_frame(Warp& w, Frame* parent, u32 call_pc, const Code* code) {
  if (parent)
    for (Frame* f : parent->children)
      if (f->call_pc == call_pc && f->code == code) return f;
  Context& c = *w.context;
  auto& pool = c.free_frames[code->source->number];
  Frame* f = nullptr;
  if (!pool.empty()) {
    f = pool.back();
    pool.pop_back();
  } else {
    c.all_frames.push_back(std::make_unique<Frame>());
    f = c.all_frames.back().get();
    f->code = code;
    const size_t bytes = code->register_bytes + 64;
    c.storage.emplace_back(new u8[bytes + 64]());
    const u64 at = reinterpret_cast<u64>(c.storage.back().get());
    f->registers = reinterpret_cast<u8*>((at + 63) & ~u64{63});
    for (const Constant& k : code->constants)
      for (u32 l = 0; l < 32; ++l) std::memcpy(f->registers + k.slot + l * k.width, &k.value, k.width);
  }
  f->parent = parent;
  f->call_pc = call_pc;
  f->lanes = 0;
  f->depth = parent ? parent->depth + 1 : 0;
  f->local = parent ? (parent->local + parent->code->local_bytes + 15) & ~u64{15} : 16;
  f->children.clear();
  if (parent) parent->children.push_back(f);
  const Block& b = *w.block;
  const Launch& launch = c.launch->launch;
  const Dim3& cluster = launch.cluster;
  for (const SpecialSlot& s : code->specials) {
    for (u32 l = 0; l < 32; ++l) {
      const u32 t = w.id * 32 + l;
      const Dim3& n = launch.block;
      u32 v = 0;
      switch (s.what) {
        case Special::tid_x: v = t % n.x; break;
        case Special::tid_y: v = t / n.x % n.y; break;
        case Special::tid_z: v = t / n.x / n.y; break;
        case Special::ntid_x: v = n.x; break;
        case Special::ntid_y: v = n.y; break;
        case Special::ntid_z: v = n.z; break;
        case Special::ctaid_x: v = b.index.x; break;
        case Special::ctaid_y: v = b.index.y; break;
        case Special::ctaid_z: v = b.index.z; break;
        case Special::nctaid_x: v = launch.grid.x; break;
        case Special::nctaid_y: v = launch.grid.y; break;
        case Special::nctaid_z: v = launch.grid.z; break;
        case Special::laneid: v = l; break;
        case Special::warpid: v = w.id; break;
        case Special::nwarpid: v = 64; break;
        case Special::smid: v = static_cast<u32>(b.number % 132); break;
        case Special::nsmid: v = 132; break;
        case Special::gridid: v = 1; break;
        case Special::lanemask_eq: v = 1u << l; break;
        case Special::lanemask_le: v = (2u << l) - 1; break;
        case Special::lanemask_lt: v = (1u << l) - 1; break;
        case Special::lanemask_ge: v = ~((1u << l) - 1); break;
        case Special::lanemask_gt: v = ~((2u << l) - 1); break;
        case Special::dynamic_smem_size: v = static_cast<u32>(launch.dynamic_shared_bytes); break;
        case Special::total_smem_size: v = static_cast<u32>(b.shared_bytes); break;
        case Special::zero: v = 0; break;
        case Special::one: v = 1; break;
        case Special::envreg1: v = static_cast<u32>(c.launch->grid_workspace >> 32); break;
        case Special::envreg2: v = static_cast<u32>(c.launch->grid_workspace); break;
        case Special::clusterid_x: v = b.index.x / cluster.x; break;
        case Special::clusterid_y: v = b.index.y / cluster.y; break;
        case Special::clusterid_z: v = b.index.z / cluster.z; break;
        case Special::nclusterid_x: v = launch.grid.x / cluster.x; break;
        case Special::nclusterid_y: v = launch.grid.y / cluster.y; break;
        case Special::nclusterid_z: v = launch.grid.z / cluster.z; break;
        case Special::cluster_ctaid_x: v = b.index.x % cluster.x; break;
        case Special::cluster_ctaid_y: v = b.index.y % cluster.y; break;
        case Special::cluster_ctaid_z: v = b.index.z % cluster.z; break;
        case Special::cluster_nctaid_x: v = cluster.x; break;
        case Special::cluster_nctaid_y: v = cluster.y; break;
        case Special::cluster_nctaid_z: v = cluster.z; break;
        case Special::cluster_ctarank: v = b.rank; break;
        case Special::cluster_nctarank: v = static_cast<u32>(b.cluster->blocks.size()); break;
        case Special::is_explicit_cluster: v = c.launch->explicit_cluster; break;
        case Special::reserved_smem_begin: v = static_cast<u32>(b.shared_bytes) - reserved_shared_bytes; break;
        case Special::reserved_smem_1: v = static_cast<u32>(b.shared_bytes) - reserved_shared_bytes / 2; break;
        case Special::reserved_smem_2: v = static_cast<u32>(b.shared_bytes) - reserved_shared_bytes / 8; break;
        case Special::reserved_smem_end: v = static_cast<u32>(b.shared_bytes); break;
      }
      const u64 wide = v;
      std::memcpy(f->registers + s.slot + l * s.width, &wide, s.width);
    }
  }
  return f;
}

void leave_frame(Warp& w, Frame* f, u32 lanes) {
  f->lanes &= ~lanes;
  if (f->lanes) return;
  if (f->parent) {
    auto& siblings = f->parent->children;
    siblings.erase(std::find(siblings.begin(), siblings.end(), f));
  }
  w.context->free_frames[f->code->source->number].push_back(f);
}

}  // namespace cudanalyst
