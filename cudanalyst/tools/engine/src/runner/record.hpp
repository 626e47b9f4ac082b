// The modes that execute nothing (TRACE.md).
#pragma once

namespace cudanalyst::runner {

// Of the arguments of main: ... --record|--workspace TABLE OUTPUT_DIR.
int record(char** argv);
int ask_workspace(char** argv);

}  // namespace cudanalyst::runner
