"""When a worker ends by itself."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["WorkerLimits", "WorkerUse"]


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    memory: int
    """Bytes of the worker and its JVM, between two leases."""

    leases: int = 500
    """Spark keeps a little of each in lists that it never shortens."""

    age: float = 24 * 3600.0
    """Seconds."""

    def exceeded(self, use: WorkerUse) -> str | None:
        """Why a worker that has no lease should end, or None."""
        if use.idle >= use.keep_alive:
            return f"no command used it for {round(use.idle)} s"
        if use.leases >= self.leases:
            return f"it has served {use.leases} commands"
        if use.age >= self.age:
            return f"it is {round(use.age / 3600)} hours old"
        if use.memory > self.memory:
            return f"it holds {use.memory >> 20} MiB, more than {self.memory >> 20} MiB"
        return None


@dataclass(frozen=True, slots=True)
class WorkerUse:
    """What a worker without a lease has been used for. Times in seconds."""

    idle: float
    keep_alive: float
    age: float
    leases: int
    """That it has given."""

    memory: int
    """Bytes; 0 where that is not known."""
