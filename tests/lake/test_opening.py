"""[lake] decides which catalog is opened; opening asks nothing of it yet."""

from __future__ import annotations

from pathlib import Path

from tests.config.test_settings import settings_of
from tidegate.lake import EmbeddedCatalog, is_initialized, open_catalog
from tidegate.lake.catalogs.iceberg_rest import RestCatalog
from tidegate.lake.catalogs.jdbc import JdbcCatalog
from tidegate.lake.catalogs.nessie import NessieCatalog


def test_each_kind_is_opened_without_being_asked(tmp_path: Path) -> None:
    kinds = {
        "": EmbeddedCatalog,
        'catalog = "jdbc"\nuri = "postgresql://nowhere.invalid/lake"': JdbcCatalog,
        'catalog = "nessie"\nuri = "http://nowhere.invalid/api/v2"': NessieCatalog,
        'catalog = "rest"\nuri = "http://nowhere.invalid"': RestCatalog,
        'catalog = "rest"\nuri = "http://x.invalid"\nbranches = "postgresql://nowhere.invalid/b"': RestCatalog,
    }
    for text, kind in kinds.items():
        assert type(open_catalog(settings_of(tmp_path, f"[lake]\n{text}"))) is kind


def test_only_a_file_can_be_seen_not_to_be_there(tmp_path: Path) -> None:
    embedded = settings_of(tmp_path, "")
    assert not is_initialized(embedded)
    open_catalog(embedded).head()
    assert is_initialized(embedded)
    assert is_initialized(settings_of(tmp_path, '[lake]\ncatalog = "nessie"\nuri = "http://nowhere.invalid/api/v2"'))
