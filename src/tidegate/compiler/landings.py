"""Landing zones as queries see them."""

from __future__ import annotations

from dataclasses import fields

from tidegate.compiler.values import LandingRead
from tidegate.config import Settings, ZoneSettings
from tidegate.project.template_names import LandingCall

__all__ = ["landing_read", "zone_names"]


def landing_read(call: LandingCall, settings: Settings) -> LandingRead:
    """What tidegate.toml declares for the zone, with the call's own arguments on top."""
    declared = settings.landing.zones.get(call.zone, ZoneSettings())
    chosen = {}
    for item in fields(ZoneSettings):
        own = getattr(call.settings, item.name)
        chosen[item.name] = own if own is not None else getattr(declared, item.name)
    return LandingRead(call.zone, ZoneSettings(**chosen))


def zone_names(settings: Settings) -> tuple[str, ...]:
    """The zones that are there: folders directly below the landing root."""
    root = settings.landing.root
    if not root.is_dir():
        return ()
    return tuple(sorted(p.name for p in root.iterdir() if p.is_dir() and not p.name.startswith((".", "_"))))
