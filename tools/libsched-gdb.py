"""gdb commands for programs that use libsched: info sched, info tasks, task N COMMAND.

gdb loads this file by itself where `make install` puts it: docs/DEBUGGING.md. It reads the memory of a live process or
of a core file, and writes nothing. What it must know of the library is in the table libsched_description
(src/inspect/description.rs), so the library needs no debug information.

It is one file, since gdb loads one.

    Memory      reads words
    Library     the table; runs, workers, stacks
    Node        a task that waits for others, without a stack
    Suspended   makes gdb show the frames of a suspended task
    Tasks       all tasks: which thread runs each, or what it waits for
"""

import gdb
import gdb.unwinder
import re
import struct

VERSION = 1
WORD = 8
FIRST_FRAMES = 1024  # the first frames of a task lie within so many bytes of the high end of its stack
SIZE_OF_RUN_FORKED = 512  # at least
MOST_QUEUED = 1 << 20  # so many tasks of a queue are looked at, the oldest
SHOWN = 256  # `info tasks` shows so many tasks
C_LIBRARY = re.compile(r"(.*/)?(libc|libpthread|ld-linux[^/]*|linux-vdso)[-.][^/]*$")


class Gone(Exception):
    """Memory that cannot be read: it is not in the core file, or a pointer was out of date."""


class Memory:
    def __init__(self):
        self.inferior = gdb.selected_inferior()

    def bytes(self, at, count):
        try:
            return bytes(self.inferior.read_memory(at, count))
        except (gdb.MemoryError, OverflowError) as error:
            raise Gone() from error

    def number(self, at, count=WORD):
        return int.from_bytes(self.bytes(at, count), "little")

    def words(self, begin, end):
        count = max(end - begin, 0) // WORD
        return struct.unpack("<%dQ" % count, self.bytes(begin, count * WORD))


def evaluate(expression):
    """An expression in C, whatever the language of the selected frame is."""
    language = gdb.parameter("language")
    gdb.execute("set language c", to_string=True)
    try:
        return int(gdb.parse_and_eval("(unsigned long) (%s)" % expression))
    except gdb.error:
        return None
    finally:
        gdb.execute("set language " + language, to_string=True)


def symbol(address, ending=""):
    """The name of what is at this address, if the program's symbols have it."""
    said = gdb.execute("info symbol %#x" % address, to_string=True)
    found = re.match(r"(\S.*?)( \+ \d+)? in section", said)
    if not found:
        return ""
    return ending % (found.group(1) + (found.group(2) or "").replace(" ", ""))


class Length:
    """The length of a queue and its tasks, as src/queue/length.rs describes them."""

    def __init__(self, library, at):
        words = [library.field(at, "length." + name) for name in ("low", "unit", "bytes")]
        self.low, self.unit, self.bytes = words
        high = at + library.of["length.high"]
        self.high = [library.memory.number(high + WORD * word) for word in range(2)]
        words = [library.field(at, "slots." + name) for name in ("address", "via", "count", "oldest", "size")]
        self.address, self.via, self.count, self.oldest, self.size = words
        self.library = library

    def of(self, queue):
        absent, number = self.library.of["length.absent"], self.library.memory.number
        high = [at for at in self.high if at != absent]
        if not high:
            return None
        low, limit = 0 if self.low == absent else number(queue + self.low, self.bytes), 1 << (8 * self.bytes)
        lengths = [(number(queue + at, self.bytes) - low) % limit for at in high]
        return max(length if length < limit // 2 else 0 for length in lengths) // self.unit

    def tasks(self, queue):
        """The function and the closure of each task in the queue."""
        of, absent, memory = self.library.of, self.library.of["length.absent"], self.library.memory
        size, length = self.size, min(self.of(queue) or 0, MOST_QUEUED)
        if length == 0:
            return
        first = memory.number(queue + self.low, self.bytes) if self.low != absent else 0
        if self.address == absent:
            parts = [(first, length)]
        else:
            record, slots = queue, memory.number(queue + self.address)
            if self.via != absent:
                record, slots = slots, memory.number(slots + self.via)
            count = memory.number(record + self.count)
            if self.oldest != absent:
                first = memory.number(queue + self.oldest)
            if count < length:
                raise Gone()  # the process was stopped in the middle of a change
            first %= count
            before = min(length, count - first)
            parts = [(slots + size * first, before), (slots, length - before)]
        step, f, closure = size // WORD, of["task.f"] // WORD, of["task.closure"] // WORD
        for begin, number in parts:
            words = memory.words(begin, begin + size * number)
            yield from zip(words[f::step], words[closure::step])


class Worker:
    def __init__(self, library, at):
        self.at = at
        for name in ("owner", "row", "policy", "policy_deque", "index", "run", "run_tag", "fiber"):
            setattr(self, name, library.field(at, "worker." + name))
        self.is_idle = library.memory.number(at + library.of["worker.is_idle"], 1) != 0
        first_guest = library.of.get("run.first_guest")
        self.is_guest = first_guest is not None and self.index >= library.memory.number(self.run + first_guest)
        self.name = "%s %d" % ("guest" if self.is_guest else "worker", self.index)
        lengths = library.field(self.row, "row.lengths")
        self.each = Length(library, lengths + library.of["lengths.each"])
        for_all, size = lengths + library.of["lengths.for_all"], library.of["length.size"]
        self.for_all = [Length(library, for_all + size * i) for i in range(library.of["lengths.queues_for_all"])]


class Library:
    def __init__(self):
        self.at = evaluate("&libsched_description")
        if self.at is None:
            raise gdb.GdbError("This process does not use libsched, or a version without libsched_description.")
        self.memory = Memory()
        version, count, size = self.memory.words(self.at, self.at + 3 * WORD)
        if version != VERSION:
            raise gdb.GdbError("The library's description has version %d; this script knows %d." % (version, VERSION))
        self.of = {}
        for entry in range(count):
            bytes = self.memory.bytes(self.at + 3 * WORD + entry * size, size)
            self.of[bytes[:-WORD].split(b"\0")[0].decode()] = int.from_bytes(bytes[-WORD:], "little")

    def field(self, at, name):
        return self.memory.number(at + self.of[name])

    def words_of(self, kind):
        """The words with this prefix: {"steal": 0, ...}"""
        return {name.split(" ")[1]: value for name, value in self.of.items() if name.startswith(kind + " ")}

    def word(self, kind, value):
        return next((word for word, number in self.words_of(kind).items() if number == value), None)

    def runs(self):
        """The workers of each run, by the number that identifies the run."""
        runs, at = {}, self.memory.number(self.of["first_record"])
        while at:
            if self.field(at, "worker.run_tag"):
                worker = Worker(self, at)
                runs.setdefault(worker.run_tag, []).append(worker)
            at = self.field(at, "worker.next")
        for workers in runs.values():
            workers.sort(key=lambda worker: worker.index)
        return dict(sorted(runs.items(), key=lambda item: min(worker.at for worker in item[1])))

    def stacks(self):
        """The lowest address and the fiber of each stack, the oldest first; and whether these are all stacks."""
        stacks, at = [], self.memory.number(self.of["youngest_stack"])
        try:
            while at:
                low, older = self.field(at, "stack.low"), self.field(at, "stack.older")
                if low == 0:
                    break  # the file has zeros in place of the record
                stacks.append((low, at - self.of["fiber.size"]))
                at = older
        except Gone:
            pass
        return stacks[::-1], at == 0

    def run_waits(self):
        """The runs for which tasks wait with their threads, by the tasks' fibers."""
        waits, at = {}, self.memory.number(self.of["first_run_wait"]) if "first_run_wait" in self.of else 0
        while at:
            waits[self.field(at, "run_wait.fiber")] = self.field(at, "run_wait.run")
            at = self.field(at, "run_wait.next")
        return waits

    def nodes(self):
        """The nodes that are ready and wait, and the nodes and events for which each waits. The library knows this in
        a process that has SCHED_WATCHDOG, and in its debug version."""
        pending, of = {}, self.of
        for table in range(of.get("pending.tables", 0)):
            at = of["pending_tables"] + table * of["pending.size"]
            places, number = self.field(at, "pending.places"), self.field(at, "pending.number")
            words = iter(self.memory.words(places, places + 2 * WORD * number))
            for to, before in zip(words, words):
                if to:
                    pending.setdefault(Node(self, to), []).append(Node(self, before))
        return {node: before for node, before in sorted(pending.items()) if node.is_ready}


class Node:
    """A node, or an event."""

    def __init__(self, library, at):
        self.at = at
        word, self.function, self.closure, self.edges = (
            library.memory.number(at + of) for of in (0, *(library.of["node." + name] for name in ("function", "closure", "edges"))))
        self.is_ready = not word & library.of["node.unready"]
        self.waits = word >= library.of["node.one"]
        self.edges &= library.of["node.most_edges"]

    def __eq__(self, other):
        return self.at == other.at

    def __lt__(self, other):
        return self.at < other.at

    def __hash__(self):
        return hash(self.at)

    def text(self):
        name = "%s(%#x) at %#x" % (symbol(self.function, "%s") or "%#x" % self.function, self.closure, self.at)
        return (name if self.function else "the event %#x" % self.at) + symbol(self.at, " (%s)")

    def state(self):
        return "" if not self.function else ", which was not made ready" if not self.is_ready else ", which waits" * self.waits


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class Suspended(gdb.unwinder.Unwinder):
    """To gdb the suspended task has called the innermost frame of the selected thread. So gdb unwinds the task with all
    that it knows, and no register of the process changes."""

    def __init__(self):
        super().__init__("libsched")
        self.context = None

    def __call__(self, pending):
        if self.context is None or int(pending.read_register("sp")) != self.innermost:
            return None
        of, context = self.library.of, self.context
        top = context + of["spawner.size" if self.is_spawner else "context.size"]
        # The frame's own address is below the task's, as a callee's is.
        info = pending.create_unwind_info(FrameId(gdb.Value(context), gdb.Value(self.pc)))
        word = gdb.lookup_type("unsigned long")
        registers = self.library.words_of("register")
        saved = {name: self.library.memory.number(context + at) for name, at in registers.items()}
        is_arm = "x30" in saved
        if self.is_spawner:
            saved["x30" if is_arm else "rip"] = self.library.memory.number(context + of["spawner.return"])
        saved["sp" if is_arm else "rsp"] = top
        if is_arm:
            saved["pc"] = saved["x30"] & ((1 << 48) - 1)  # without a signature
        for name, value in saved.items():
            info.add_saved_register(name, gdb.Value(value).cast(word))
        return info

    def begin(self, library, context, is_spawner):
        frame = gdb.newest_frame()
        self.is_spawner = is_spawner
        self.library, self.innermost, self.pc = library, int(frame.read_register("sp")), frame.pc()
        self.context = context
        gdb.invalidate_cached_frames()
        return gdb.newest_frame().older()

    def end(self):
        self.context = None
        gdb.invalidate_cached_frames()


SUSPENDED = Suspended()


class Selection:
    """The selected thread and frame are afterwards what they were."""

    def __enter__(self):
        if gdb.selected_thread() is None:
            raise gdb.GdbError("There is no process and no core file.")
        self.thread, self.level, frame = gdb.selected_thread(), 0, gdb.newest_frame()
        while frame is not None and frame != gdb.selected_frame():
            frame, self.level = frame.older(), self.level + 1

    def __exit__(self, *_):
        SUSPENDED.end()
        self.thread.switch()
        frame = gdb.newest_frame()
        for _ in range(self.level):
            frame = frame and frame.older()
        if frame is not None:
            frame.select()


def frames_from(frame):
    while frame is not None:
        yield frame
        frame = frame.older()


class Task:
    """thread: the thread that is on the task's stack; context: where a task continues that is suspended, or, if it
    is_queued, waits in a queue for a worker. Neither: a worker has taken it out of a queue just now."""

    def __init__(self, tasks, low, fiber, thread):
        self.tasks, self.low, self.fiber, self.thread = tasks, low, fiber, thread
        self.pcs, self.context = None, None
        library = tasks.library
        self.worker = library.field(fiber, "fiber.worker")
        note = fiber + library.of["fiber.wait"]
        word = library.field(note, "wait.object")
        descriptor = word & library.of.get("wait.descriptor", 0)
        self.object = library.word("object", word & library.of["wait.kind"]) if word else None
        self.waits_for = word & ~library.of["wait.kind"]
        if descriptor:
            self.object, self.waits_for = "descriptor", (word ^ descriptor) >> 16
        event = word & library.of.get("wait.event", 0)
        if event and not descriptor:
            self.object, self.waits_for = "event", word ^ event
        self.sections = library.memory.number(fiber + library.of["fiber.sections"], 4)
        self.is_queued, self.is_spawner = False, False
        if fiber in tasks.queued and not thread:
            context, self.is_spawner = tasks.queued[fiber]
            self.is_queued = low <= context < fiber
            self.context = context if self.is_queued else None
        elif self.object and not thread:
            self.context = self.find_context(library.field(note, "wait.latch"))

    def find_context(self, latch):
        """The context of a task that was suspended and not woken: the latch has its name."""
        library, of = self.tasks.library, self.tasks.library.of
        word = library.memory.number(latch)
        if word & of["forked.waited"] == 0 and word >= of["forked.names_end"]:
            return None
        name = word & ~of["forked.waited"]
        at = name & ~of["waiter.low_bits"]
        if not name & of["waiter.task"] or not self.low <= at < self.fiber:
            return None
        context, fiber = (library.field(at, "continuation." + name) for name in ("context", "fiber"))
        return context if fiber == self.fiber and self.low <= context < at else None

    def frames(self):
        """Its frames, the innermost first. To be used within a Selection."""
        if self.thread:
            SUSPENDED.end()
            self.thread.switch()
            return frames_from(gdb.newest_frame())
        if self.context and self.tasks.can_unwind:
            return frames_from(SUSPENDED.begin(self.tasks.library, self.context, self.is_spawner))
        return iter(())

    def function(self):
        """The name of the task's function: the outermost one that is the program's."""
        if self.pcs is None:
            self.pcs, self.found = [], None
            for frame in self.frames():
                if not self.low and int(frame.read_register("sp")) > self.fiber:
                    break  # the thread's own functions
                self.pcs.append(frame.pc())
                if not self.tasks.is_system(frame):
                    self.found = frame.name() or "%#x" % frame.pc()
            SUSPENDED.end()
        return self.found

    def first_words(self):
        """The words of its first frames. In kind cont the fiber has the descriptor of its last forked task."""
        library = self.tasks.library
        words = (library.field(self.fiber, "fiber.descriptor"),)
        if not self.low:
            return words
        begin = max(self.context or self.low, self.fiber - FIRST_FRAMES)
        try:
            return words + library.memory.words(begin, self.fiber)
        except Gone:
            return words

    def is_task_of(self, descriptor):
        """True if run_forked called the task, or, as in kind cont, the descriptor still has its function."""
        library = self.tasks.library
        caller, function = library.of["run_forked"], self.function()
        if any(caller <= pc < caller + SIZE_OF_RUN_FORKED for pc in self.pcs):
            return True
        f = self.tasks.forked_function(descriptor, library.field(descriptor, "forked.f"))
        return f != 0 and function is not None and symbol(f, "%s") == function

    def name(self):
        return "task %d%s" % (self.number, " (%s)" % self.function() if self.function() else "")

    def state(self):
        waits = self.wait() if self.object else ""
        if self.sections:
            waits = "is in a blocking section"
        run = self.tasks.run_waits.get(self.fiber)
        if run is not None:
            waits = "waits for run %s" % self.tasks.numbers.get(run, "?")
        if self.thread:
            runs = "runs on %s, thread %d" % (self.place(), self.thread.num)
            under = self.object and not self.is_guest()
            return runs + (", " + waits if waits else "") + (", under other tasks" if under else "")
        if self.is_spawner:
            return "waits at a spawn, and is queued"
        if self.object and (self.is_queued or not self.context):
            return "was woken, and is queued; it waited" + waits[5:]
        return waits or "is ready to go on, and is queued"

    def place(self):
        return next((worker.name for worker in self.tasks.workers if worker.at == self.worker), "a worker")

    def is_guest(self):
        """True for the call of a guest, on the thread's own stack."""
        return any(worker.is_guest for worker in self.tasks.workers if worker.at == self.worker)

    def waits(self):
        """True if it is suspended, or waits with its thread."""
        return self.fiber in self.tasks.run_waits or bool(self.object and (not self.thread or self.is_guest()))

    def wait(self):
        library, at, kind = self.tasks.library, self.waits_for, self.object
        try:
            if kind == "condition":
                condition, at = library.field(at, "waiting.cond"), library.field(at, "waiting.mutex")
                if condition:
                    return "waits for the condition %#x%s, with the mutex %#x%s" % (
                        condition, symbol(condition, " (%s)"), at, symbol(at, " (%s)"))
                return self.mutex(at, ", after the signal of a condition")
            if kind == "mutex":
                return self.mutex(at, "")
            if kind == "descriptor":
                return "waits for the descriptor %d" % at
            if kind == "event":
                return "waits for the event %#x%s" % (at, symbol(at, " (%s)"))
            if kind == "sleep":
                return "sleeps"
            if kind == "barrier":
                arrived, size = (library.field(at, "barrier." + name) for name in ("arrived", "size"))
                return "waits at the barrier %#x%s; %d of %d have come" % (at, symbol(at, " (%s)"), arrived, size)
            if kind == "join":
                return self.join(at)
            if kind == "group":
                left = library.field(at, "group.state") // library.of["group.task"]
                return "waits for the group %#x%s; tasks left: %d" % (at, symbol(at, " (%s)"), left)
            return "waits for the %s %#x%s" % (kind, at, symbol(at, " (%s)"))
        except Gone:
            return "waits for something that cannot be read"

    def mutex(self, at, when):
        holder = self.tasks.library.field(at, "mutex.holder")
        task = self.tasks.of_fiber.get(holder)
        held = task.name() + " holds it" if task else "its holder is " + ("no task here" if holder else "not known")
        return "waits for the mutex %#x%s%s; %s" % (at, symbol(at, " (%s)"), when, held)

    def join(self, at):
        library, of = self.tasks.library, self.tasks.library.of
        child = next((task for task in self.tasks.with_word(at) if task is not self and task.is_task_of(at)), None)
        if child:
            return "waits to join " + child.name()
        state, f = library.field(at, "forked.state"), library.field(at, "forked.f")
        if state in (0, of["forked.over"], of["forked.joined"]):
            return "waits to join a task that has ended"
        f = f if state & of["forked.waited"] or state == of["forked.begun"] else state
        f = self.tasks.forked_function(at, f) if f else f
        return "waits to join a task%s" % symbol(f, " (%s)") if f else "waits to join a task that has begun"


class Tasks:
    def __init__(self):
        self.library = library = Library()
        self.runs = library.runs()
        self.numbers = {run: number + 1 for number, run in enumerate(self.runs)}
        self.run_waits = library.run_waits()
        self.workers = [worker for workers in self.runs.values() for worker in workers]
        self.file = gdb.solib_name(library.at)
        self.can_unwind = "context.size" in library.of
        self.all, self.joined = [], None
        self.queued = {}
        for workers in self.runs.values():
            self.find_queued(workers)
        self.find()
        self.of_fiber = {task.fiber: task for task in self.all}

    def find_queued(self, workers):
        """The tasks that have begun and are in the queues of a run: for each fiber its context, and whether it is
        that of a spawner."""
        queues = [(worker.each, worker.policy_deque or worker.policy) for worker in workers]
        first = workers[0]
        for length, queue in queues + [(length, first.policy) for length in first.for_all]:
            try:
                for f, closure in length.tasks(queue):
                    self.note_queued(f, closure)
            except Gone:
                continue

    def note_queued(self, f, closure):
        library, of = self.library, self.library.of
        if f == of["resume"]:
            context, fiber = (library.field(closure, "continuation." + name) for name in ("context", "fiber"))
            self.queued[fiber] = context, False
        elif f == of["resume_spawner"] and "spawner.room" in of:
            self.queued[library.memory.number(closure)] = closure - of["spawner.room"], True

    def find(self):
        threads = []
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            frame = gdb.newest_frame()
            pointer = next((evaluate(name) for name in ("$fs_base", "$tpidr") if evaluate(name)), None)
            threads.append((int(frame.read_register("sp")), pointer, thread))
        known = {worker.at for worker in self.workers}
        (stacks, self.is_complete), on_a_stack = self.library.stacks(), set()
        for low, fiber in stacks:
            thread = next((thread for sp, _, thread in threads if low <= sp < fiber), None)
            on_a_stack.add(thread)
            self.add(low, fiber, thread, known)
        # A task on the own stack of a thread. The innermost run of the thread has the lowest one.
        fibers = {fiber for _, fiber in stacks}
        for sp, pointer, thread in sorted(threads, key=lambda item: item[2].num):
            own = [worker.fiber for worker in self.workers if worker.owner and worker.owner == pointer]
            own = [fiber for fiber in own if fiber not in fibers and fiber > sp]
            if own and thread not in on_a_stack:
                self.add(0, min(own), thread, known)
        # A guest's thread may have left the call for a run within.
        shown = {task.fiber for task in self.all}
        for worker in self.workers:
            if worker.is_guest and worker.owner and worker.fiber in self.run_waits.keys() - shown:
                self.add(0, worker.fiber, None, known)
        for number, task in enumerate(self.all):
            task.number = number + 1

    def add(self, low, fiber, thread, workers):
        try:
            if self.library.field(fiber, "fiber.worker") not in workers:
                return
            task = Task(self, low, fiber, thread)
        except Gone:
            return
        # A thread without a function of the program's looks for tasks, or sleeps.
        if task.function() or task.waits() if thread else task.object or task.sections or task.is_queued or task.waits():
            self.all.append(task)

    def with_word(self, descriptor):
        """The tasks that have the address of this descriptor, which another task joins, in their first frames. As
        inspect::trace: a forked task keeps the address there."""
        if self.joined is None:
            self.joined = {task.waits_for: [] for task in self.all if task.object == "join"}
            for task in self.all if self.joined else ():
                for word in self.joined.keys() & set(task.first_words()):
                    self.joined[word].append(task)
        return self.joined[descriptor]

    def forked_function(self, descriptor, f):
        """The program's function of a descriptor that says f. In a run that is traced, profiled or watched, f is a function
        of the library's, and the descriptor's closure leads to a record."""
        library, of = self.library, self.library.of
        if f != of.get("run_observed"):
            return f
        record = library.field(descriptor, "forked.closure") & ~of["record.low_bits"]
        return library.field(record, "record.function")

    def is_system(self, frame):
        """True for a function of libsched, or of the C library, which libsched calls."""
        name, file = frame.name() or "", gdb.solib_name(frame.pc())
        if file and C_LIBRARY.match(file):
            return True
        if self.file:
            return file == self.file
        if not name or name.startswith(("sched_", "sched::", "<sched::", "_RN")):
            return True
        return "::" in name and frame.function() is None

    def warn(self):
        """Says what the file cannot show."""
        if not self.is_complete:
            print("The stacks of tasks that wait are not in this core file. (gcore leaves them out on Linux 6.13 and later; the "
                  "files that the kernel writes have them.)")

    def on(self, worker):
        here = (task for task in self.all if task.fiber == worker.fiber)
        return next((task for task in here if task.thread or worker.is_guest), None)


class InfoSched(gdb.Command):
    """Show the runs of libsched: kind, deque, workers, and the lengths of their queues."""

    def __init__(self):
        super().__init__("info sched", gdb.COMMAND_STATUS)

    def invoke(self, _argument, _from_tty):
        with Selection():
            tasks = Tasks()
            for number, workers in enumerate(tasks.runs.values()):
                self.show(number + 1, workers, tasks)
            tasks.warn()
        if not tasks.runs:
            print("No run.")

    def show(self, number, workers, tasks):
        library, first = tasks.library, workers[0]
        kind, deque = (library.memory.number(library.of["run." + name] + first.run, 1) for name in ("kind", "deque"))
        kind, deque = library.word("kind", kind), library.word("deque", deque)
        ours = {worker.at for worker in workers}
        own = sum(1 for worker in workers if not worker.is_guest)
        waiting = sum(1 for task in tasks.all if task.worker in ours and task.waits()) if tasks.is_complete else "unknown"
        for_all = sum(length.of(first.policy) or 0 for length in first.for_all)
        print("run %d: %s%s, workers: %d; tasks that wait: %s; queued for all: %s" % (
            number, kind, " (%s)" % deque if deque else "", own, waiting, for_all))
        for worker in workers:
            task = tasks.on(worker)
            queued = worker.each.of(worker.policy_deque or worker.policy)
            if worker.is_guest and not worker.owner and not queued:
                continue  # nobody is there
            if not worker.owner:
                does = "has gone" if worker.is_guest else "has no thread"
            elif task:
                does = "runs " + task.name() + (", thread %d" % task.thread.num if task.thread else "")
            else:
                does = "idle" if worker.is_idle else "between tasks"
            print("  %s: %s%s" % (worker.name, does, "" if queued is None else "; queued: %d" % queued))


class InfoTasks(gdb.Command):
    """List the tasks of libsched, running and suspended, with their functions and what they wait for; and the nodes that
wait for others.
info tasks N: at most N of them."""

    def __init__(self):
        super().__init__("info tasks", gdb.COMMAND_STATUS)

    def invoke(self, argument, _from_tty):
        if argument and not argument.isdigit():
            raise gdb.GdbError("Usage: info tasks [N]")
        most = int(argument) if argument else SHOWN
        with Selection():
            tasks = Tasks()
            for task in tasks.all[:most]:
                print("%s %s" % (task.name(), task.state()))
        if len(tasks.all) > most:
            print("and %d more: info tasks %d" % (len(tasks.all) - most, len(tasks.all)))
        nodes = tasks.library.nodes()
        for node, before in list(nodes.items())[:most]:
            print("node %s waits for %d of %d: %s" % (
                node.text(), len(before), node.edges, "; ".join(other.text() + other.state() for other in sorted(before)[:most])))
        if len(nodes) > most:
            print("and %d more nodes: info tasks %d" % (len(nodes) - most, len(nodes)))
        if not tasks.all and not nodes and tasks.is_complete:
            print("No tasks.")
        tasks.warn()


class TaskCommand(gdb.Command):
    """Apply a command to a task of libsched: task N bt. N is the number in `info tasks`."""

    def __init__(self):
        super().__init__("task", gdb.COMMAND_STACK)

    def invoke(self, argument, _from_tty):
        words = argument.split(None, 1)
        if not words or not words[0].isdigit():
            raise gdb.GdbError("Usage: task N COMMAND, for instance: task 3 bt")
        command = words[1] if len(words) > 1 else "bt"
        with Selection():
            tasks = Tasks()
            task = next((task for task in tasks.all if task.number == int(words[0])), None)
            if task is None:
                tasks.warn()
                raise gdb.GdbError("There is no task %s: info tasks." % words[0])
            frame = next(task.frames(), None)
            if frame is None:
                raise gdb.GdbError("%s %s: its registers are not known." % (task.name(), task.state()))
            frame.select()
            said = gdb.execute(command, to_string=True)
        print(said if task.thread else without_first_frame(said), end="")


def without_first_frame(said):
    """The frame that stands below the task's is that of the thread, and no frame of the task."""
    parts = re.split(r"(?m)^(?=#\d+ )", said)
    if len(parts) < 2:
        return said
    shown = [re.sub(r"^#(\d+) +", lambda level: "#%-2d " % (int(level.group(1)) - 1), part)
             for part in parts[1:] if not part.startswith("#0 ")]
    return parts[0] + "".join(shown)


InfoSched()
InfoTasks()
TaskCommand()
gdb.unwinder.register_unwinder(None, SUSPENDED, replace=True)
