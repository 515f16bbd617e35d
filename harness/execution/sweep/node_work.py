"""What each node of a sweep did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.execution.sweep.cluster import Cluster


@dataclass
class _Work:
    name: str
    lanes: int = 0
    deaths: int = 0
    lost: bool = False
    cases: int = 0
    busy: float = 0.0


class NodeWork:
    """Counts lanes, cases and seconds by node."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Work] = {}

    def lane(self, cluster: Cluster, node: str) -> None:
        """A lane was started there."""
        if node not in self._nodes:
            found = cluster.nodes().get(node)
            self._nodes[node] = _Work(node[:6] if found is None else found.name)
        self._nodes[node].lanes += 1

    def name(self, node: str) -> str:
        """For people."""
        return f"node {self._nodes[node].name}"

    def case(self, node: str, seconds: float) -> None:
        """A case was stored there, which kept a lane busy for so many seconds."""
        self._nodes[node].cases += 1
        self._nodes[node].busy += seconds

    def died(self, node: str, *, node_too: bool) -> None:
        """A lane died there, and the node with it or not."""
        self._nodes[node].deaths += 1
        self._nodes[node].lost |= node_too

    def lines(self, seconds: float) -> Iterator[str]:
        """A line for each node, for a sweep that took so many seconds."""
        for work in sorted(self._nodes.values(), key=lambda one: one.name):
            lanes = work.lanes - work.deaths
            line = f"node {work.name}: {_many(work.cases, 'case')}, {_many(lanes, 'lane')}"
            line += f" busy for {work.busy:.0f} s of {max(lanes, 1) * seconds:.0f} s"
            if work.deaths:
                line += f", {_many(work.deaths, 'lane')} died"
            yield line + (", the node is gone" if work.lost else "")


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
