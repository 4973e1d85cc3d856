#!/usr/bin/env python3
"""Writes the litmus tests of this folder: shapes that are known from memory alone, with queue instructions in them.

    generate.py            writes all files; those that no shape gives any more are removed
    generate.py --check    says which files differ from what would be written, and exits with 1 if some do

The verdicts are not written here: `baton litmus DIR --model > DIR/verdicts.csv` has them from the model.
docs/reference/litmus.md describes the format.
"""

import itertools
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
FILES = {}


def test(suite, name, what, initial, threads, condition):
    """A test: its threads are texts with `;` between instructions."""
    columns = [[part.strip() for part in thread.split(";") if part.strip()] for thread in threads]
    rows = max(len(column) for column in columns)
    columns = [column + [""] * (rows - len(column)) for column in columns]
    widths = [max(len(cell) for cell in column + ["P0"]) for column in columns]
    line = lambda cells: " " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths)) + " ;\n"
    table = line([f"P{i}" for i in range(len(columns))]) + "".join(map(line, zip(*columns)))
    text = f'X86_64 {name}\n"{what}"\n{{ {initial} }}\n{table}exists ({condition})\n'
    assert (suite, name) not in FILES, name
    FILES[suite, name] = text


# What stands behind a request before what follows it.
BEHIND_DEQUEUE = {
    "po": "",
    "use": "testq %rax,%rax",
    "branch": "cmpq $1,%rax; jne out",
    "mfence": "mfence",
    "xchg": "movq $1,%r8; xchgq %r8,(z)",
    "ld": "movq (z),%r8",
    "nop": "nop",
}


def passing():
    """Message passing: what was stored before an enqueue is seen behind the dequeue, if that is waited for."""
    senders = {
        "st": "movq $1,(x)",
        "mfence": "movq $1,(x); mfence",
        "push": "movq $1,(x); prepush (x)",
        "xchg": "movq $1,%rcx; xchgq %rcx,(x)",
    }
    for (sender, stores), (behind, wait) in itertools.product(senders.items(), BEHIND_DEQUEUE.items()):
        if sender != "st" and behind in ("branch", "xchg", "ld", "nop"):
            continue
        out = "out: nop" if behind == "branch" else ""
        test("passing", f"MP+{sender}-enq+deq-{behind}-ld",
             "what was stored before an enqueue, behind the dequeue of its item", "queue q[4]; 1:rbx=7;",
             [f"{stores}; enqueue $1,q", f"dequeue %rax,q; {wait}; movq (x),%rbx; {out}"], "1:rax=1 /\\ 1:rbx=0")
    test("passing", "MP+enq-st+deq-use-ld", "a store behind an enqueue may come late", "queue q[4];",
         ["enqueue $1,q; movq $1,(x)", "dequeue %rax,q; testq %rax,%rax; movq (x),%rbx"], "1:rbx=0")
    test("passing", "MP+enq-mfence-st+ld-deq", "a fence between an enqueue and a store: the item was there first",
         "queue q[4]; queue r[4]=1,2;",
         ["enqueue $3,r; mfence; movq $1,(x)",
          "movq (x),%rbx; testq %rbx,%rbx; jz out; enqueue $4,r; out: nop",
          "dequeue %rax,r; dequeue %rax,r; dequeue %rax,r"], "1:rbx=1 /\\ 2:rax=4")
    test("passing", "MP+st-st-enq+deq-use-ld-ld", "all older stores come before the enqueue", "queue q[4];",
         ["movq $1,(x); movq $1,(y); enqueue $1,q", "dequeue %rax,q; testq %rax,%rax; movq (y),%rbx; movq (x),%rcx"],
         "1:rbx=0 \\/ 1:rcx=0")
    test("passing", "MP+id-in-register", "the queue is named by a register, as in the paper",
         "queue q[4]; 0:rdi=q; 1:rsi=q; 1:rdx=x; 0:rcx=5;",
         ["movq $1,(x); enqueue %rcx,%rdi", "dequeue %rax,%rsi; testq %rax,%rax; movq (%rdx),%rbx"],
         "not (1:rax=5 /\\ 1:rbx=1)")
    for behind in ("po", "use", "mfence"):
        wait = BEHIND_DEQUEUE[behind]
        test("passing", f"WRC+deq-{behind}-ld", "a store that the enqueuing thread has seen only", "queue q[4];",
             ["movq $1,(x)", "movq (x),%rax; enqueue $1,q", f"dequeue %rax,q; {wait}; movq (x),%rbx"],
             "1:rax=1 /\\ 2:rbx=0")
        test("passing", f"ISA2+deq-enq-data+deq-{behind}-ld", "two queues in a row, the item handed on",
             "queue q[4]; queue p[4];",
             ["movq $1,(x); enqueue $1,q", "dequeue %rax,q; enqueue %rax,p", f"dequeue %rax,p; {wait}; movq (x),%rbx"],
             "2:rbx=0")
    test("passing", "ISA2+deq-enq-po+deq-use-ld", "an enqueue may pass a dequeue that it does not depend on",
         "queue q[4]; queue p[4];",
         ["movq $1,(x); enqueue $1,q", "dequeue %rax,q; enqueue $1,p",
          "dequeue %rax,p; testq %rax,%rax; movq (x),%rbx"], "2:rbx=0")
    test("passing", "ISA2+deq-mfence-enq+deq-use-ld", "a fence keeps the enqueue behind the dequeue",
         "queue q[4]; queue p[4];",
         ["movq $1,(x); enqueue $1,q", "dequeue %rax,q; mfence; enqueue $1,p",
          "dequeue %rax,p; testq %rax,%rax; movq (x),%rbx"], "2:rbx=0")
    for fence in ("po", "mfence"):
        test("passing", f"RWC+deq-use-ld+st-{fence}-ld", "a message, and a store buffer on the other side", "queue q[4];",
             ["movq $1,(x); enqueue $1,q", "dequeue %rax,q; testq %rax,%rax; movq (y),%rbx",
              f"movq $1,(y); {'mfence' if fence == 'mfence' else ''}; movq (x),%rax"], "1:rbx=0 /\\ 2:rax=0")


def buffering():
    """Store buffering: loads pass requests, and a dequeue that is waited for orders as a fence does."""
    sides = {
        "enq": "enqueue $1,q",
        "deq": "dequeue %rax,q",
        "enq-mfence": "enqueue $1,q; mfence",
        "deq-use": "dequeue %rax,q; testq %rax,%rax",
        "mfence": "mfence",
    }
    for (left, one), (right, other) in itertools.combinations_with_replacement(sides.items(), 2):
        initial = "queue q[4]=1,2; queue p[4]=1,2;"
        test("buffering", f"SB+{left}+{right}", "loads behind requests, stores before them", initial,
             [f"movq $1,(x); {one}; movq (y),%rbx", f"movq $1,(y); {other.replace(',q', ',p')}; movq (x),%rbx"],
             "0:rbx=0 /\\ 1:rbx=0")
    for behind in ("po", "use", "mfence"):
        wait = BEHIND_DEQUEUE[behind]
        test("buffering", f"SB+rfi+deq-{behind}", "a thread reads its own store behind a dequeue", "queue q[4]=1,2;",
             [f"movq $1,(x); dequeue %rax,q; {wait}; movq (x),%rcx; movq (y),%rbx",
              "movq $1,(y); mfence; movq (x),%rbx"], "0:rcx=1 /\\ 0:rbx=0 /\\ 1:rbx=0")


def full():
    """Loads behind an enqueue that waits for room."""
    for fence in ("po", "mfence", "xchg"):
        wait = BEHIND_DEQUEUE[fence]
        test("capacity", f"full+enq-{fence}-ld", "a load behind an enqueue that waits for room", "queue q[1]=9;",
             [f"enqueue $1,q; {wait}; movq (x),%rbx", "movq $1,(x); dequeue %rax,q; dequeue %rcx,q"], "0:rbx=0")
        test("capacity", f"full+enq-enq-{fence}-ld", "a load behind a second enqueue, for which there is no room yet",
             "queue q[1];",
             [f"enqueue $1,q; enqueue $2,q; {wait}; movq (x),%rbx", "movq $1,(x); dequeue %rax,q; dequeue %rcx,q"],
             "0:rbx=0")
        test("capacity", f"room+enq-enq-{fence}-ld", "the same with room for both", "queue q[2];",
             [f"enqueue $1,q; enqueue $2,q; {wait}; movq (x),%rbx", "movq $1,(x); dequeue %rax,q; dequeue %rcx,q"],
             "0:rbx=0")
    for behind in ("po", "use", "mfence", "branch"):
        wait = BEHIND_DEQUEUE[behind].replace("jne out", "jne .")
        if behind == "branch":
            wait = "cmpq $1,%rax; jne in; in: nop"
        body = f"dequeue %rax,q; {wait}; movq (x),%rbx; incq %rbx; movq %rbx,(x); enqueue $1,q"
        test("capacity", f"token+deq-{behind}", "an item as a lock: both increments stay", "queue q[1]=1;",
             [body, body], "x=1")
    body = "dequeue %rax,q; testq %rax,%rax; movq (x),%rbx; incq %rbx; movq %rbx,(x); enqueue $1,q"
    test("capacity", "tokens+deq-use", "two items let two in", "queue q[2]=1,1;", [body, body], "x=1")
    test("capacity", "token+three", "an item as a lock of three threads", "queue q[1]=1;", [body] * 3, "not (x=3)")
    test("capacity", "one-place+order", "items keep their order through one place", "queue q[1];",
         ["enqueue $1,q; enqueue $2,q; enqueue $3,q", "dequeue %rax,q; dequeue %rbx,q; dequeue %rcx,q"],
         "not (1:rax=1 /\\ 1:rbx=2 /\\ 1:rcx=3)")
    test("capacity", "one-place+own", "an enqueue to a full queue does not bar the thread's own dequeue", "queue q[1]=9;",
         ["enqueue $1,q; dequeue %rax,q; dequeue %rbx,q"], "not (0:rax=9 /\\ 0:rbx=1)")
    test("capacity", "one-place+two", "two producers, one place", "queue q[1];",
         ["enqueue $1,q", "enqueue $2,q", "dequeue %rax,q; dequeue %rbx,q"], "2:rax=2 /\\ 2:rbx=1")


def younger():
    """Stores behind a request that is not answered: they wait, or they pass."""
    behind = {"po": "", "use": "testq %rax,%rax", "mfence": "mfence"}
    for between, wait in behind.items():
        test("younger", f"LB+deq-{between}-st+ld-enq", "a store behind a dequeue, seen before the item is enqueued",
             "queue q[4];", [f"dequeue %rax,q; {wait}; movq $1,(x)", "movq (x),%rbx; enqueue $1,q"], "1:rbx=1")
        test("younger", f"S+deq-{between}-st+st-enq", "a store behind a dequeue is older than one before the enqueue",
             "queue q[4];", [f"dequeue %rax,q; {wait}; movq $1,(x)", "movq $2,(x); enqueue $1,q"], "x=2")
        if between == "use":
            continue
        test("younger", f"LB+enq-{between}-st+ld-deq", "a store behind an enqueue, seen before there is room",
             "queue q[1]=9;", [f"enqueue $1,q; {wait}; movq $1,(x)", "movq (x),%rbx; dequeue %rax,q"], "1:rbx=1")
        test("younger", f"S+enq-{between}-st+st-deq", "a store behind an enqueue is older than one before the dequeue",
             "queue q[1]=9;", [f"enqueue $1,q; {wait}; movq $1,(x)", "movq $2,(x); dequeue %rax,q"], "x=2")
        test("younger", f"LB+enq-enq-{between}-st+ld-deq", "the second enqueue finds no room", "queue q[1];",
             [f"enqueue $1,q; enqueue $2,q; {wait}; movq $1,(x)", "movq (x),%rbx; dequeue %rax,q"], "1:rbx=1")
        test("younger", f"LB+room-{between}-st+ld-deq", "both enqueues find room", "queue q[2];",
             [f"enqueue $1,q; enqueue $2,q; {wait}; movq $1,(x)", "movq (x),%rbx; dequeue %rax,q"], "1:rbx=1")
    test("younger", "MP+deq-st-st+ld-ld", "stores behind a dequeue keep their order", "queue q[4];",
         ["dequeue %rax,q; movq $1,(x); movq $1,(y)", "movq (y),%rax; movq (x),%rbx; enqueue $1,q"],
         "1:rax=1 /\\ 1:rbx=0")
    test("younger", "MP+deq-st-st+ld-ld-both", "both stores behind a dequeue, before its item is there", "queue q[4];",
         ["dequeue %rax,q; movq $1,(x); movq $1,(y)", "movq (y),%rax; movq (x),%rbx; enqueue $1,q"],
         "1:rax=1 /\\ 1:rbx=1")
    test("younger", "MP+st-deq-st+ld-ld", "a store before a dequeue and one behind it", "queue q[4];",
         ["movq $1,(x); dequeue %rax,q; movq $1,(y)", "movq (y),%rax; movq (x),%rbx; enqueue $1,q"],
         "1:rax=1 /\\ 1:rbx=0")
    test("younger", "MP+st-deq-st+ld-ld-early", "the store before a dequeue alone", "queue q[4];",
         ["movq $1,(x); dequeue %rax,q; movq $1,(y)", "movq (x),%rbx; movq (y),%rax; enqueue $1,q"],
         "1:rax=0 /\\ 1:rbx=1")
    test("younger", "n6+deq-st-ld", "a thread reads its store that waits behind a dequeue", "queue q[4];",
         ["dequeue %rax,q; movq $1,(x); movq (x),%rbx; movq (y),%rcx", "movq $1,(y); movq (x),%rbx; enqueue $1,q"],
         "0:rbx=1 /\\ 0:rcx=0 /\\ 1:rbx=0")
    test("younger", "SB+deq-st-ld+st-enq", "a store behind a dequeue that has its item, and a load", "queue q[4]=1;",
         ["dequeue %rax,q; movq $1,(x); movq (y),%rbx", "movq $1,(y); enqueue $2,q; movq (x),%rbx"],
         "0:rbx=0 /\\ 1:rbx=0")
    test("younger", "2+2W+deq-st", "two stores each, a dequeue before", "queue q[4]=1,2;",
         ["dequeue %rax,q; movq $1,(x); movq $2,(y)", "dequeue %rax,q; movq $1,(y); movq $2,(x)"], "x=1 /\\ y=1")
    test("younger", "R+deq-st-st+st-mfence-ld", "two stores behind a dequeue", "queue q[4]=1;",
         ["dequeue %rax,q; movq $1,(x); movq $1,(y)", "movq $2,(y); mfence; movq (x),%rax"], "y=2 /\\ 1:rax=0")
    test("younger", "LB+deq-xchg+ld-enq", "a locked instruction waits for the dequeue", "queue q[4];",
         ["dequeue %rax,q; movq $1,%rcx; xchgq %rcx,(x)", "movq (x),%rbx; enqueue $1,q"], "1:rbx=1")
    test("younger", "LB+enq-inc+ld-deq", "an increment in two halves behind an enqueue", "queue q[1]=9;",
         ["enqueue $1,q; incq (x)", "movq (x),%rbx; dequeue %rax,q"], "1:rbx=1")


def priority():
    """Requests of two priorities: within a queue and direction a thread's order stays, between queues there is none."""
    two = [("queue q[4];", "low", "high", "q", "q@1"), ("queue q[4];", "high", "low", "q@1", "q")]
    for initial, first, second, one, other in two:
        test("priority", f"enq-{first}-enq-{second}+deq-deq", "enqueues to a queue keep their order across priorities",
             initial, [f"enqueue $1,{one}; enqueue $2,{other}", "dequeue %rax,q; dequeue %rbx,q"], "1:rax=2 /\\ 1:rbx=1")
        test("priority", f"full-enq-{first}-enq-{second}", "the first enqueue waits for room", "queue q[1]=9;",
             [f"enqueue $1,{one}; enqueue $2,{other}", "dequeue %rax,q; dequeue %rbx,q; dequeue %rcx,q"],
             "1:rbx=2 \\/ 1:rcx=1")
        test("priority", f"deq-{first}-deq-{second}", "dequeues from a queue keep their order across priorities",
             "queue q[4]=1,2;", [f"dequeue %rax,{one}; dequeue %rbx,{other}"], "not (0:rax=1 /\\ 0:rbx=2)")
        test("priority", f"empty-deq-{first}-deq-{second}", "the first dequeue waits for an item", "queue q[4];",
             [f"dequeue %rax,{one}; dequeue %rbx,{other}", "enqueue $1,q; enqueue $2,q"], "not (0:rax=1 /\\ 0:rbx=2)")
    test("priority", "three-enq+deq3", "a low enqueue between two high ones", "queue q[4]; 0:rdi=q@1;",
         ["enqueue $1,%rdi; enqueue $2,q; enqueue $3,%rdi", "dequeue %rax,q; dequeue %rbx,q; dequeue %rcx,q"],
         "not (1:rax=1 /\\ 1:rbx=2 /\\ 1:rcx=3)")
    test("priority", "enq-low+enq-high+deq-deq", "two threads: either is first", "queue q[4];",
         ["enqueue $1,q", "enqueue $2,q@1", "dequeue %rax,q; dequeue %rbx,q"], "2:rax=1 /\\ 2:rbx=2")
    for fence, wait in (("po", ""), ("mfence", "mfence")):
        test("priority", f"two-queues+enq-low-{fence}-enq-high", "a high enqueue may pass a low one to another queue",
             "queue q[4]; queue p[4];",
             [f"enqueue $1,q; {wait}; enqueue $2,p@1", "dequeue %rax,p; testq %rax,%rax; enqueue $3,q",
              "dequeue %rax,q; dequeue %rbx,q"], "2:rax=3 /\\ 2:rbx=1")
        test("priority", f"two-queues+deq-low-{fence}-deq-high", "a high dequeue may pass a low one from another queue",
             "queue q[4]=1,2; queue p[4]=1,2;",
             [f"dequeue %rax,q; {wait}; dequeue %rbx,p@1", "dequeue %rax,p; testq %rax,%rax; dequeue %rbx,q"],
             "0:rax=2 /\\ 0:rbx=1")
        test("priority", f"MP+st-enq-low-{fence}-enq-high+deq-use-ld", "a store before a low enqueue, behind a high one's item",
             "queue q[4]; queue p[4];",
             [f"movq $1,(x); enqueue $1,q; {wait}; enqueue $2,p@1", "dequeue %rax,p; testq %rax,%rax; movq (x),%rbx"],
             "1:rbx=0")


def order():
    """Requests among each other: one queue and direction keeps its order."""
    test("order", "enq-enq+deq-deq", "enqueues to a queue keep their order", "queue q[4];",
         ["enqueue $1,q; enqueue $2,q", "dequeue %rax,q; dequeue %rbx,q"], "1:rax=2 /\\ 1:rbx=1")
    test("order", "enq-st-enq+deq-deq", "with a store between", "queue q[4];",
         ["enqueue $1,q; movq $1,(x); enqueue $2,q", "dequeue %rax,q; dequeue %rbx,q"], "1:rax=2 /\\ 1:rbx=1")
    test("order", "enq-enq+deq+deq", "two consumers: either has the first", "queue q[4];",
         ["enqueue $1,q; enqueue $2,q", "dequeue %rax,q", "dequeue %rax,q"], "1:rax=2 /\\ 2:rax=1")
    test("order", "enq-enq+deq-use-st+ld-deq", "a consumer that comes later has a later item", "queue q[4];",
         ["enqueue $1,q; enqueue $2,q", "dequeue %rax,q; testq %rax,%rax; movq $1,(x)", "movq (x),%rbx; dequeue %rax,q"],
         "1:rax=2 /\\ 2:rbx=1 /\\ 2:rax=1")
    test("order", "enq-enq+enq+deq3", "another producer's item between", "queue q[4];",
         ["enqueue $1,q; enqueue $2,q", "enqueue $3,q", "dequeue %rax,q; dequeue %rbx,q; dequeue %rcx,q"], "2:rbx=3")
    test("order", "enq-enq+enq+deq3-back", "and still in order", "queue q[4];",
         ["enqueue $1,q; enqueue $2,q", "enqueue $3,q", "dequeue %rax,q; dequeue %rbx,q; dequeue %rcx,q"],
         "2:rax=2 \\/ 2:rcx=1 \\/ (2:rbx=2 /\\ 2:rcx=1)")
    test("order", "enq4+deq4", "two producers with two items each: none is passed by its own", "queue q[4];",
         ["enqueue $1,q; enqueue $2,q", "enqueue $3,q; enqueue $4,q",
          "dequeue %rax,q; dequeue %rbx,q; dequeue %rcx,q; dequeue %rdx,q"],
         "2:rax=2 \\/ 2:rax=4 \\/ 2:rdx=1 \\/ 2:rdx=3")
    test("order", "deq-deq", "dequeues from a queue keep their order", "queue q[4]=1,2;",
         ["dequeue %rax,q; dequeue %rbx,q"], "not (0:rax=1 /\\ 0:rbx=2)")
    test("order", "deq-ld-deq", "with a load between", "queue q[4]=1,2;",
         ["dequeue %rax,q; movq (x),%rcx; dequeue %rbx,q"], "not (0:rax=1 /\\ 0:rbx=2)")
    test("order", "deq-deq+deq", "another consumer's item between", "queue q[4]=1,2,3;",
         ["dequeue %rax,q; dequeue %rbx,q", "dequeue %rax,q"], "0:rax=1 /\\ 1:rax=2 /\\ 0:rbx=3")
    test("order", "deq-deq+deq-deq", "two consumers: each has its items in order", "queue q[4]=1,2,3,4;",
         ["dequeue %rax,q; dequeue %rbx,q", "dequeue %rax,q; dequeue %rbx,q"], "0:rax=3 /\\ 0:rbx=2")
    test("order", "deq-deq+deq-deq-none-twice", "no item is there twice", "queue q[4]=1,2,3,4;",
         ["dequeue %rax,q; dequeue %rbx,q", "dequeue %rax,q; dequeue %rbx,q"],
         "0:rax=1:rax \\/ 0:rax=1:rbx \\/ 0:rbx=1:rax \\/ 0:rbx=1:rbx")
    test("order", "enq+enq+deq-deq", "two producers come in any order", "queue q[4];",
         ["enqueue $1,q", "enqueue $2,q", "dequeue %rax,q; dequeue %rbx,q"], "2:rax=2 /\\ 2:rbx=1")
    test("order", "enq-deq+enq", "a thread's dequeue may have another's item", "queue q[4];",
         ["enqueue $1,q; dequeue %rax,q", "enqueue $2,q; dequeue %rax,q"], "0:rax=2 /\\ 1:rax=1")
    test("order", "deq-enq", "a dequeue may have the item of an enqueue behind it", "queue q[4];",
         ["dequeue %rax,q; enqueue $1,q"], "0:rax=1")
    test("order", "LB+deq-enq+deq-enq", "enqueues pass dequeues that wait: both are served", "queue q[4]; queue p[4];",
         ["dequeue %rax,q; enqueue $1,p", "dequeue %rax,p; enqueue $2,q"], "not (0:rax=2 /\\ 1:rax=1)")
    for fence in ("po", "mfence"):
        wait = "mfence" if fence == "mfence" else ""
        test("order", f"two-queues+enq-{fence}-enq", "enqueues to two queues: only a fence orders them",
             "queue q[4]; queue p[4];",
             [f"enqueue $1,q; {wait}; enqueue $2,p", "dequeue %rax,p; testq %rax,%rax; enqueue $3,q",
              "dequeue %rax,q; dequeue %rbx,q"], "2:rax=3 /\\ 2:rbx=1")
        test("order", f"two-queues+deq-{fence}-deq", "dequeues from two queues: only a fence orders them",
             "queue q[4]=1,2; queue p[4]=1,2;",
             [f"dequeue %rax,q; {wait}; dequeue %rbx,p", "dequeue %rax,p; testq %rax,%rax; dequeue %rbx,q"],
             "0:rax=2 /\\ 0:rbx=1")
        test("order", f"enq-{fence}-deq+deq-use-enq", "a dequeue passes an enqueue that waits for room",
             "queue q[4]; queue p[4]=1,2; queue full[1]=9;",
             [f"enqueue $8,full; enqueue $1,q; {wait}; dequeue %rax,p",
              "dequeue %rbx,full; dequeue %rax,p; testq %rax,%rax; enqueue $2,q" if fence == "mfence" else
              "dequeue %rax,p; testq %rax,%rax; enqueue $2,q; mfence; dequeue %rbx,full",
              "dequeue %rax,q; dequeue %rbx,q"], "0:rax=1 /\\ 2:rax=2 /\\ 2:rbx=1")
    four = ["enqueue $1,q; mfence; enqueue $1,p", "enqueue $2,{}; mfence; enqueue $2,{}",
            "dequeue %rax,q; dequeue %rbx,q", "dequeue %rax,p; dequeue %rbx,p"]
    test("order", "IRIW+same-way", "two queues may have two orders", "queue q[4]; queue p[4];",
         [four[0], four[1].format("q", "p"), four[2], four[3]], "2:rax=1 /\\ 3:rax=2")
    test("order", "IRIW+opposite-ways", "but not against both threads' order", "queue q[4]; queue p[4];",
         [four[0], four[1].format("p", "q"), four[2], four[3]], "2:rax=2 /\\ 3:rax=1")
    test("order", "IRIW+ld", "two readers of stores, queues between", "queue q[4]; queue p[4];",
         ["movq $1,(x); enqueue $1,q", "movq $1,(y); enqueue $1,p",
          "dequeue %rax,q; testq %rax,%rax; movq (y),%rbx", "dequeue %rax,p; testq %rax,%rax; movq (x),%rbx"],
         "2:rbx=0 /\\ 3:rbx=0")
    test("order", "IRIW+ld-po", "and without waiting for the items", "queue q[4]; queue p[4];",
         ["movq $1,(x); enqueue $1,q", "movq $1,(y); enqueue $1,p", "dequeue %rax,q; movq (y),%rbx",
          "dequeue %rax,p; movq (x),%rbx"], "2:rbx=0 /\\ 3:rbx=0")


def contents():
    """What is in a queue at first."""
    test("contents", "first-in-first-out", "the items of the beginning, in their order", "queue q[4]=5,6,7;",
         ["dequeue %rax,q; dequeue %rbx,q; dequeue %rcx,q"], "not (0:rax=5 /\\ 0:rbx=6 /\\ 0:rcx=7)")
    test("contents", "behind-the-first", "an item comes behind those of the beginning", "queue q[4]=5;",
         ["enqueue $6,q", "dequeue %rax,q"], "1:rax=6")
    test("contents", "two-take-two", "either has the first", "queue q[4]=5,6;", ["dequeue %rax,q", "dequeue %rax,q"],
         "0:rax=6 /\\ 1:rax=5")
    test("contents", "full-at-first", "room comes by a dequeue, and the item behind the others", "queue q[2]=5,6;",
         ["enqueue $7,q", "dequeue %rax,q; dequeue %rbx,q; dequeue %rcx,q"],
         "not (1:rax=5 /\\ 1:rbx=6 /\\ 1:rcx=7)")
    test("contents", "wide-items", "items have 64 bits", "queue q[2]=0xffffffffffffffff;",
         ["dequeue %rax,q; enqueue %rax,q; dequeue %rbx,q"], "not (0:rbx=-1)")
    test("contents", "loaded-item", "an item that was loaded from memory", "queue q[2]; x=7;",
         ["movq (x),%rax; enqueue %rax,q", "movq $8,(x)", "dequeue %rax,q"], "2:rax=8")
    test("contents", "pointer", "what the item points to was written before", "queue q[2]; 0:rcx=3;",
         ["movq %rcx,(x); movq %rcx,(y); enqueue %rcx,q", "dequeue %rax,q; cmpq $3,%rax; jne out; movq (y),%rbx; movq (x),%rdx; out: nop"],
         "1:rbx=0 \\/ 1:rdx=0")


def prepush():
    """Pushes write nothing: the verdicts are those without them."""
    push = "prepush (x)"
    test("prepush", "CoWR+push", "a thread reads its own store behind a push", "",
         [f"movq $1,(x); {push}; movq (x),%rax"], "0:rax=0")
    test("prepush", "CoRR+push", "a push does not bring an older value back", "",
         [f"movq $1,(x); {push}; movq $2,(x); {push}", "movq (x),%rax; movq (x),%rbx"],
         "(1:rax=2 /\\ not (1:rbx=2)) \\/ (1:rax=1 /\\ 1:rbx=0)")
    test("prepush", "CoWW+push", "a store behind a push of the same block comes later", "",
         [f"movq $1,(x); {push}; movq $2,(x)"], "x=1")
    test("prepush", "MP+st-push-st", "stores keep their order past a push", "",
         [f"movq $1,(x); {push}; movq $1,(y)", "movq (y),%rax; movq (x),%rbx"], "1:rax=1 /\\ 1:rbx=0")
    test("prepush", "MP+push-ld", "a reader pushes what it is to read", "",
         ["movq $1,(x); movq $1,(y)", f"movq (y),%rax; {push}; movq (x),%rbx"], "1:rax=1 /\\ 1:rbx=0")
    test("prepush", "SB+push", "loads pass pushes, as they pass the stores", "",
         [f"movq $1,(x); {push}; movq (y),%rax", "movq $1,(y); prepush (y); movq (x),%rax"], "0:rax=0 /\\ 1:rax=0")
    test("prepush", "SB+push-mfence", "and not past a fence", "",
         [f"movq $1,(x); {push}; mfence; movq (y),%rax", "movq $1,(y); prepush (y); mfence; movq (x),%rax"],
         "0:rax=0 /\\ 1:rax=0")
    test("prepush", "2+2W+push", "two stores each, pushes between", "",
         [f"movq $1,(x); {push}; movq $2,(y)", "movq $1,(y); prepush (y); movq $2,(x)"], "x=1 /\\ y=1")
    test("prepush", "MP+push-other-enq", "a push of another block between", "queue q[4];",
         ["movq $1,(x); prepush (y); enqueue $1,q", "dequeue %rax,q; testq %rax,%rax; movq (x),%rbx"], "1:rbx=0")
    test("prepush", "MP+st-enq-push", "the paper's way: the push behind the enqueue", "queue q[4];",
         [f"movq $1,(x); enqueue $1,q; {push}", "dequeue %rax,q; testq %rax,%rax; movq (x),%rbx"], "1:rbx=0")
    test("prepush", "MP+push-enq+deq-ld", "a push does not hold up the load that passes the dequeue", "queue q[4];",
         [f"movq $1,(x); {push}; enqueue $1,q", "dequeue %rax,q; prepush (x); movq (x),%rbx"], "1:rbx=0")
    test("prepush", "LB+deq-push-st+ld-enq", "a push between a dequeue and a store", "queue q[4];",
         ["dequeue %rax,q; prepush (y); movq $1,(x)", "movq (x),%rbx; enqueue $1,q"], "1:rbx=1")
    test("prepush", "inc+push", "increments of two threads, pushed between", "",
         [f"lock incq (x); {push}; lock incq (x)", f"lock incq (x); {push}; lock incq (x)"], "not (x=4)")


for shapes in (passing, buffering, full, younger, order, priority, contents, prepush):
    shapes()

there = {path.relative_to(HERE) for path in HERE.glob("*/*.litmus")}
wanted = {pathlib.Path(suite) / f"{name}.litmus": text for (suite, name), text in FILES.items()}
if "--check" in sys.argv[1:]:
    differ = sorted(there ^ set(wanted)) + [p for p, text in wanted.items() if p in there and (HERE / p).read_text() != text]
    print("\n".join(str(path) for path in differ))
    sys.exit(1 if differ else 0)
for path in there - set(wanted):
    (HERE / path).unlink()
for path, text in wanted.items():
    (HERE / path).parent.mkdir(exist_ok=True)
    (HERE / path).write_text(text)
print(f"{len(wanted)} tests")
