"""The native launcher confines what it starts: every escape that is tried here fails, and nothing that was started survives."""

import asyncio
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cudanalyst.tools.engine.build import EngineInstallation
from cudanalyst.tools.process import ProcessResult, run_process

SECRET = "a-secret-of-the-host"
READABLE = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache")


class Box:
    """Runs commands in the launcher, with one writable folder."""

    def __init__(self, launcher: Path, folder: Path) -> None:
        """Takes the launcher and a folder that is the test's own."""
        self.launcher = launcher
        self.work = folder / "work"
        self.work.mkdir()
        self.level_file = folder / "level"
        self.secret = folder / "secret"
        self.secret.write_text(SECRET)

    def argv(self, command: list[str], *options: str) -> list[str]:
        """The launcher's command line."""
        argv = [str(self.launcher)]
        for path in READABLE:
            argv += ["--ro", path]
        argv += ["--dev", "/dev/null", "--rw", str(self.work), "--level-file", str(self.level_file)]
        return [*argv, *options, "--", *command]

    def run(self, command: list[str], *options: str) -> ProcessResult:
        """Runs a command to its end."""
        return asyncio.run(run_process(self.argv(command, *options), cwd=self.work, timeout_s=30))

    def python(self, code: str, *options: str) -> ProcessResult:
        """Runs Python code; the interpreter's own folders may be read."""
        base = Path(sys.base_prefix).resolve()
        return self.run([str(Path(sys.executable).resolve()), "-I", "-S", "-c", code], "--ro", str(base), *options)

    def shell(self, code: str, *options: str) -> ProcessResult:
        """Runs a shell script."""
        return self.run(["/bin/sh", "-c", code], *options)


@pytest.fixture
def box(engine: EngineInstallation, tmp_path: Path) -> Box:
    """A launcher and a folder."""
    return Box(engine.sandbox, tmp_path)


def attempt(statement: str) -> str:
    """Python code that prints what came of a statement."""
    return f"""
import ctypes, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
try:
    result = {statement}
except OSError as error:
    print("refused", error.errno)
else:
    print("result", result, ctypes.get_errno())
"""


def test_the_level_is_written_for_the_parent(box: Box) -> None:
    assert box.run(["/bin/true"]).exit_status == 0
    assert box.level_file.read_text().split(":")[0].strip() in {"full", "partial"}


def test_the_exit_status_passes_through(box: Box) -> None:
    assert box.shell("exit 7").exit_status == 7


def test_a_signal_that_ends_the_command_ends_the_launcher(box: Box) -> None:
    assert box.shell("kill -SEGV $$").signal == "SIGSEGV"


def test_its_own_folder_can_be_written(box: Box) -> None:
    assert box.shell("mkdir d && echo text > d/file && mv d/file f && cat f").stdout.text == "text\n"


@pytest.mark.parametrize(
    "path", ["/etc/passwd", str(Path.home() / ".profile"), "/proc/self/environ", "/proc/1/environ", "{secret}"]
)
def test_other_files_cannot_be_read(box: Box, path: str) -> None:
    path = path.format(secret=box.secret)
    result = box.shell(
        f"cat {path}; ln -s {path} link; cat link; ln {path} hard && cat hard; cat /proc/self/root{path}"
    )
    assert result.stdout.text == ""
    assert SECRET not in result.stderr.text


def test_other_folders_cannot_be_written(box: Box) -> None:
    result = box.shell(
        f"echo x > {box.secret.parent}/new; echo x >> {box.secret}; true > {box.secret}; rm {box.secret}; exit 0"
    )
    assert result.exit_status == 0
    assert box.secret.read_text() == SECRET
    assert not (box.secret.parent / "new").exists()


def test_a_file_cannot_be_truncated_by_its_path(box: Box) -> None:
    box.python(attempt(f"os.truncate({str(box.secret)!r}, 0)"))
    assert box.secret.read_text() == SECRET


@pytest.mark.parametrize(
    "call",
    [
        "os.chmod({path!r}, 0o777)",
        "os.chown({path!r}, -1, -1)",
        "os.utime({path!r})",
        "os.setxattr({path!r}, 'user.a', b'b')",
    ],
)
def test_modes_owners_times_and_attributes_of_files_cannot_be_changed(box: Box, call: str) -> None:
    before = box.secret.stat()
    assert box.python(attempt(call.format(path=str(box.secret)))).stdout.text == "refused 1\n"
    after = box.secret.stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_mode,
        before.st_mtime_ns,
        before.st_ctime_ns,
    )


def test_a_linker_may_make_what_it_writes_executable(box: Box) -> None:
    assert box.shell("touch f && chmod +x f && test -x f", "--metadata", "yes").exit_status == 0
    assert box.shell("touch g && chmod +x g").exit_status != 0


@pytest.mark.parametrize("family", ["socket.AF_INET", "socket.AF_INET6", "socket.AF_UNIX", "16", "17", "38"])
def test_no_socket_can_be_made(box: Box, family: str) -> None:
    result = box.python(attempt(f"libc.socket(int({family}), 1, 0)"))
    assert result.stdout.text == "result -1 1\n", result.stderr.text


def test_datagrams_cannot_be_sent_to_sockets_in_the_file_system(box: Box) -> None:
    result = box.python(attempt("socket.socketpair(type=socket.SOCK_DGRAM)"))
    assert result.stdout.text == "refused 1\n", result.stderr.text


def test_a_pair_of_local_streams_can_be_made(box: Box) -> None:
    assert (
        box.python("import socket; a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))").stdout.text == "b'x'\n"
    )


@pytest.mark.parametrize(
    "call",
    [
        "libc.ptrace(16, os.getppid(), 0, 0)",
        "libc.process_vm_readv(os.getppid(), 0, 0, 0, 0, 0)",
        "libc.unshare(0x10000000)",
        "libc.mount(b'none', b'/tmp', b'tmpfs', 0, 0)",
        "libc.chroot(b'.')",
        "libc.keyctl(0, 0)",
        "libc.syscall(425, 1, 0)",
        "libc.syscall(298 if os.uname().machine == 'x86_64' else 241, 0, 0, 0, 0, 0)",
        "libc.personality(0x0040000)",
    ],
)
def test_dangerous_system_calls_fail_with_eperm(box: Box, call: str) -> None:
    if "keyctl" in call:
        call = "libc.syscall(250 if os.uname().machine == 'x86_64' else 219, 0, 0)"
    result = box.python(attempt(call))
    assert result.stdout.text == "result -1 1\n", result.stderr.text


def test_new_namespaces_cannot_be_made_by_clone(box: Box) -> None:
    number = "56 if os.uname().machine == 'x86_64' else 220"
    result = box.python(attempt(f"libc.syscall({number}, 0x10000011, 0, 0, 0, 0)"))
    assert result.stdout.text == "result -1 1\n", result.stderr.text


def test_the_memory_of_the_parent_cannot_be_opened(box: Box) -> None:
    outside = os.getpid()
    result = box.python(
        "import os\n"
        f"for pid in [1, os.getppid(), {outside}]:\n"
        "    for name in ['mem', 'environ', 'maps', 'fd/0']:\n"
        "        try:\n"
        "            open(f'/proc/{pid}/{name}', 'rb').read(1)\n"
        "        except OSError as error:\n"
        "            continue\n"
        "        print('opened', pid, name)\n"
    )
    assert (result.exit_status, result.stdout.text) == (0, ""), result.stderr.text


def test_processes_outside_cannot_be_signalled(box: Box) -> None:
    bystander = subprocess.Popen(["/bin/sleep", "60"])
    try:
        result = box.shell(f"kill -9 {bystander.pid}; kill -9 -1; exit 0")
        assert bystander.poll() is None
        assert result.exit_status in {0, None}
    finally:
        bystander.kill()
        bystander.wait()


def test_inherited_descriptors_are_closed(box: Box) -> None:
    with box.secret.open() as file:
        process = subprocess.run(
            box.argv(["/bin/sh", "-c", f"cat <&{file.fileno()}"]),
            pass_fds=[file.fileno()],
            capture_output=True,
            check=False,
        )
    assert process.stdout == b""


def test_one_inherited_descriptor_may_be_kept(box: Box) -> None:
    with box.level_file.with_name("kept").open("w") as kept, box.secret.open() as other:
        code = f"import os\nos.write({kept.fileno()}, b'kept')\ntry: os.fstat({other.fileno()})\nexcept OSError: print('closed')"
        argv = [str(Path(sys.executable).resolve()), "-I", "-S", "-c", code]
        options = ("--ro", str(Path(sys.base_prefix).resolve()), "--keep-fd", str(kept.fileno()))
        descriptors = [kept.fileno(), other.fileno()]
        result = asyncio.run(run_process(box.argv(argv, *options), cwd=box.work, pass_fds=descriptors, timeout_s=30))
    assert result.stdout.text == "closed\n", result.stderr.text
    assert box.level_file.with_name("kept").read_text() == "kept"


def survivors(marker: str) -> list[int]:
    """Processes whose arguments name the marker."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (entry / "cmdline").read_bytes() and int(entry.name) != os.getpid():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def gone(pids: list[int]) -> bool:
    """Whether they have all ended: a process that was killed with its namespace may still be on its way out."""
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            if not select.select([handle], [], [], 10)[0]:
                return False
        finally:
            os.close(handle)
    return True


DAEMON = "(setsid sh -c '(setsid sleep {seconds} &) ; sleep {seconds}' > /dev/null 2>&1 < /dev/null &) ; sleep 0.2"


def test_a_daemon_does_not_survive_its_starter(box: Box) -> None:
    seconds = str(1_000_000 + os.getpid())
    assert box.shell(DAEMON.format(seconds=seconds)).exit_status == 0
    assert survivors(seconds) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_to_the_launcher_ends_everything(box: Box, number: signal.Signals) -> None:
    seconds = str(2_000_000 + os.getpid())
    script = DAEMON.format(seconds=seconds) + f"; echo started; exec sleep {seconds}"
    process = subprocess.Popen(box.argv(["/bin/sh", "-c", script]), stdout=subprocess.PIPE, cwd=box.work)
    assert process.stdout is not None
    with process.stdout as output:
        assert output.readline() == b"started\n"
        process.send_signal(number)
        assert process.wait(timeout=10) == -number
        # The pipe is closed once the last process that holds it has gone.
        assert output.read() == b""
    assert gone(survivors(seconds))
    assert survivors(seconds) == []


def test_a_fork_bomb_is_bounded_and_gone_afterwards(box: Box) -> None:
    marker = f"bomb{os.getpid()}"
    code = (
        f"import os, time  # {marker}\n"
        "count = 0\n"
        "try:\n"
        "    for _ in range(5000):\n"
        "        if os.fork() == 0:\n"
        "            time.sleep(60)\n"
        "        count += 1\n"
        "except OSError as error:\n"
        "    print('stopped', error.errno, count)\n"
    )
    result = box.python(code, "--processes", "50")
    word, number, count = result.stdout.text.split()
    assert (word, number) == ("stopped", "11")
    assert int(count) <= 320
    assert survivors(marker) == []


def test_limits_are_set(box: Box) -> None:
    result = box.shell(
        "ulimit -t; ulimit -v; ulimit -n; ulimit -c; head -c 100000 /dev/zero > big; stat -c %s big",
        "--cpu", "5", "--memory", str(1 << 30), "--files", "64", "--file-size", "5000", "--dev", "/dev/zero",
    )  # fmt: skip
    assert result.stdout.text.split() == ["5", str(1 << 20), "64", "0", "5000"]


def test_a_missing_command_is_told_apart_from_its_failure(box: Box) -> None:
    result = box.run(["/nonexistent/command"])
    assert result.exit_status == 125
    assert result.stderr.text.startswith("cudanalyst-sandbox: cannot run /nonexistent/command")


@pytest.mark.parametrize("options", [["--unknown", "x"], ["--cpu", "many"], ["--minimum", "most"], ["--ro"]])
def test_a_wrong_option_is_refused(box: Box, options: list[str]) -> None:
    result = asyncio.run(run_process([str(box.launcher), *options, "--", "/bin/true"], timeout_s=10))
    assert result.exit_status == 125
    assert result.stderr.text.startswith("cudanalyst-sandbox: ")


def test_a_missing_writable_folder_is_refused(box: Box) -> None:
    assert "cannot open /nonexistent" in box.run(["/bin/true"], "--rw", "/nonexistent").stderr.text


def test_when_memory_runs_out_the_command_is_killed_before_others(box: Box) -> None:
    result = box.run(["/bin/cat", "/proc/self/oom_score_adj"], "--ro", "/proc")
    assert result.stdout.text.strip() == "1000", result.stderr.text


@pytest.mark.parametrize(
    ("statement", "gpu", "plain"),
    [
        ("socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind('\\0cudanalyst-test')", "result", "refused"),
        ("socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).bind('\\0cudanalyst-stream')", "result", "refused"),
        ("socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)", "refused", "refused"),
        ("socket.socket(socket.AF_INET, socket.SOCK_STREAM)", "refused", "refused"),
        ("socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).connect('/run/any')", "refused 1", "refused 1"),
    ],
)
def test_a_drivers_library_may_listen_on_a_socket_of_its_own_and_nothing_can_be_connected(box, statement, gpu, plain):
    assert box.python(attempt(statement), "--gpu", "yes").stdout.text.startswith(gpu)
    assert box.python(attempt(statement)).stdout.text.startswith(plain)


NAMES_A_THREAD = """
import sys, threading
def name(path):
    try:
        open(path, "r+").write("worker")
    except OSError as error:
        return type(error).__name__
    return open(path).read().strip()
def work():
    print(name(f"/proc/self/task/{threading.get_native_id()}/comm"), name("/proc/self/comm"), name("/proc/1/comm"), name("/proc/self/oom_score_adj"))
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def test_a_drivers_library_may_name_its_threads_and_nothing_else_in_proc_can_be_written(box):
    """NVIDIA's driver ends its start with "operating system error" where it cannot."""
    refused = "PermissionError"
    assert box.python(NAMES_A_THREAD, "--gpu", "yes").stdout.text.split() == ["worker", refused, refused, refused]
    assert box.python(NAMES_A_THREAD).stdout.text.split() == [refused] * 4


def test_a_drivers_library_has_shared_memory_of_its_own_and_others_have_none(box):
    others = Path("/dev/shm") / f"cudanalyst-test-{os.getpid()}"
    others.write_text(SECRET)
    code = f"""
import os
try:
    open("/dev/shm/mine", "w").write("x")
    print(os.listdir("/dev/shm"), os.statvfs("/dev/shm").f_blocks * os.statvfs("/dev/shm").f_frsize >> 20)
except OSError as error:
    print("refused", error.errno)
try:
    print(open({str(others)!r}).read())
except OSError as error:
    print("not there", error.errno)
"""
    try:
        seen = box.python(code, "--gpu", "yes").stdout.text.splitlines()
        without = box.python(code).stdout.text.splitlines()
    finally:
        others.unlink()
    if box.level_file.read_text().startswith("full"):
        assert seen == ["['mine'] 256", "not there 2"]
    assert without == ["refused 13", "not there 13"]
    assert not Path("/dev/shm/mine").exists()


def test_a_run_on_a_gpu_is_alone_on_its_network(box):
    code = "import os; print(os.stat('/proc/self/ns/net').st_ino)"
    outside = str(Path("/proc/self/ns/net").stat().st_ino)
    inside = box.python(code, "--gpu", "yes", "--ro", "/proc/self").stdout.text.strip()
    assert inside.isdigit()
    if box.level_file.read_text().startswith("full"):
        assert inside != outside


def full(box: Box) -> bool:
    """Whether this machine gives the launcher all that it asks for."""
    return box.run(["/bin/true"]).exit_status == 0 and box.level_file.read_text().startswith("full")


def test_memory_in_use_is_bounded_where_addresses_are_only_reserved(box):
    reserve = "import mmap; mmap.mmap(-1, 8 << 30, prot=0, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); print('reserved'); bytearray(1 << 30)"
    done = box.python(reserve, "--data", str(512 << 20))
    assert done.stdout.text.strip() == "reserved"
    assert "MemoryError" in done.stderr.text


SPEAKS = """
import os, socket
listening = socket.create_server(("127.0.0.1", 0))
socket.create_connection(listening.getsockname()).close()
local = socket.socket(socket.AF_UNIX)
local.bind("local")
local.listen()
socket.socket(socket.AF_UNIX).connect("local")
print("spoke")
"""


def test_nvidias_tools_may_speak_with_what_they_start(box):
    if not full(box):
        pytest.skip("no user namespace on this machine")
    assert box.python(SPEAKS, "--gpu", "yes", "--tools", "yes").stdout.text == "spoke\n"
    assert "PermissionError" in box.python(SPEAKS, "--gpu", "yes").stderr.text


def test_under_nvidias_tools_nothing_outside_can_be_reached(box, tmp_path, monkeypatch):
    if not full(box):
        pytest.skip("no user namespace on this machine")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as local, socket.create_server(("127.0.0.1", 0)) as service:
        local.bind("outside")
        local.listen()
        code = f"""
import os, socket
def tried(act):
    try:
        return act()
    except OSError as error:
        return error.strerror
print(tried(lambda: socket.socket(socket.AF_UNIX).connect({str(tmp_path / "outside")!r})))
print(tried(lambda: socket.create_connection(("127.0.0.1", {service.getsockname()[1]}))))
print(tried(lambda: socket.create_connection(("192.0.2.1", 80))))
print(tried(lambda: socket.socket(socket.AF_VSOCK)), tried(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)), sep=", ")
print(tried(lambda: open({str(box.secret)!r}).read()))
print(tried(lambda: open("/proc/sys/kernel/core_pattern", "w")))
print(tried(lambda: open("/proc/1/mem", "r+b")))
print(sorted(name for name in os.listdir("/proc") if name.isdigit()))
print(tried(lambda: os.chmod("/usr", 0o755)))
print(tried(lambda: open("/tmp/cudanalyst-mine", "w").close()), os.path.exists("/tmp/cudanalyst-mine"))
"""
        seen = box.python(code, "--gpu", "yes", "--tools", "yes").stdout.text.splitlines()
    nowhere = "No such file or directory"
    assert seen == [
        nowhere, "Connection refused", "Network is unreachable", "Operation not permitted, Operation not permitted", nowhere,
        "Read-only file system", "Permission denied", "['1', '2']", "Read-only file system", "None True",
    ]  # fmt: skip
    assert not Path("/tmp/cudanalyst-mine").exists()


TOLERATED = [
    "os.mkfifo('pipe')",
    "os.mknod('pipe', 0o600 | stat.S_IFIFO)",
    "os.chmod('.', 0o700)",
    "os.utime('.')",
    "number(libc.shmget(0, 4096, 0o600))",
    "number(libc.semget(0, 1, 0o600))",
    "number(libc.msgget(0, 0o600))",
]
"""What NVIDIA's tools do when they start a program, and what reaches nobody else in a root and namespaces of its own."""
FORBIDDEN = [
    "os.mknod('device', 0o600 | stat.S_IFCHR, os.makedev(1, 3))",
    "os.mknod('device', 0o600 | stat.S_IFBLK, os.makedev(8, 0))",
    "os.mknod('socket', 0o600 | stat.S_IFSOCK)",
    "number(libc.ptrace(16, os.getppid(), 0, 0))",
    "number(libc.personality(0x0040000))",
    "os.mkfifo('/usr/pipe')",
    "os.chmod('/usr', 0o755)",
    "os.chmod('/dev/null', 0o666)",
]


def number_or_error(statement: str) -> str:
    """Code that says whether a statement was refused, also where it goes past Python's own wrappers."""
    return f"""
import ctypes, os, stat
libc = ctypes.CDLL(None, use_errno=True)
def number(answer):
    if answer < 0:
        raise OSError(ctypes.get_errno(), "")
try:
    {statement}
except OSError as error:
    print("refused", type(error).__name__, error.errno)
else:
    print("done")
"""


@pytest.mark.parametrize("statement", TOLERATED)
def test_nvidias_tools_may_make_pipes_and_modes_of_their_own_and_other_programs_may_not(box, statement):
    if not full(box):
        pytest.skip("no user namespace on this machine")
    tools = box.python(number_or_error(statement), "--gpu", "yes", "--tools", "yes")
    assert tools.stdout.text == "done\n", (tools.stdout.text, tools.stderr.text)
    for path in box.work.iterdir():
        path.unlink()
    for options in (("--gpu", "yes"), ()):
        assert box.python(number_or_error(statement), *options).stdout.text == "refused PermissionError 1\n"


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_under_nvidias_tools_devices_other_processes_and_others_files_stay_out_of_reach(box, statement):
    if not full(box):
        pytest.skip("no user namespace on this machine")
    done = box.python(number_or_error(statement), "--gpu", "yes", "--tools", "yes")
    assert done.stdout.text.startswith("refused "), (done.stdout.text, done.stderr.text)


def test_under_nvidias_tools_a_device_can_be_written_and_a_folder_in_a_readable_one_too(box):
    if not full(box):
        pytest.skip("no user namespace on this machine")
    (box.work.parent / "shown").write_text("seen")
    script = "echo x > /dev/null && echo mine > file && cat ../shown file; echo x > ../new"
    done = box.shell(script, "--ro", str(box.work.parent), "--gpu", "yes", "--tools", "yes")
    assert done.stdout.text == "seenmine\n", done.stderr.text
    assert (box.work / "file").read_text() == "mine\n"
    assert not (box.work.parent / "new").exists()


def test_nvidias_tools_are_not_started_without_a_network_of_their_own(box):
    refused = box.run(["/bin/true"], "--tools", "yes")
    assert refused.exit_status == 125
    assert "--gpu" in refused.stderr.text
