"""In which order `make test` begins the files that need Spark, and which of them one worker takes together.

Both only save time: a worker must not be left alone with a slow file at the end, nor start a server for one test.
"""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

__all__ = ["FIRST", "ON_SERVERS", "FilesByServer", "rank"]

ON_SERVERS = tuple(
    f"tests/{name}.py"
    for name in (
        "lake/test_branch_or_main",
        "lake/test_branches",
        "lake/test_metadata",
        "lake/test_nessie",
        "lake/test_on_spark",
        "lake/test_rest",
        "lake/test_side_by_side",
        "operations/test_chaos_copies",
        "operations/test_reap",
        "runs/test_catalogs",
        "runs/test_conflicts",
        "runs/test_degraded",
        "runs/test_ledger",
    )
)
"""Files with tests on Nessie and on Iceberg's REST server, each of which takes longer to start than most tests."""

FIRST = (
    *ON_SERVERS,
    *(
        f"tests/{name}.py"
        for name in (
            "write/test_cases",
            "runs/test_snapshot_contracts",
            "chunks/test_load_tables",
            "write/test_source_histories",
            "chunks/test_load_bronze",
            "transform/test_landing_cases",
            "runs/test_delta_reads",
            "runs/test_replays",
            "runs/test_contract_runs",
            "cli/test_demo",
            "runs/test_delta_on_s3",
            "docs/test_readme",
            "write/test_regions",
            "runs/test_histories",
            "runs/test_bad_records",
            "operations/test_chaos",
            "transform/test_deltas",
            "runs/test_what_an_append_takes",
            "runs/test_bad_inputs",
            "lake/test_changes_of_real_tables",
            "python_models/test_model_failures",
            "python_models/test_escapes",
            "write/test_upserts",
            "runs/test_every_strategy",
            "chunks/test_process_bronze",
            "python_models/test_model_runs",
            "transform/test_single_pass",
            "runs/test_contracts_to_gold",
            "runs/test_newest_arrival",
            "ingest/test_postgres_reads",
            "python_models/test_code_histories",
            "python_models/test_model_inputs",
        )
    ),
)
"""Those that take longest, the slowest first."""


def rank(nodeid: str) -> int:
    file = nodeid.partition("::")[0]
    return FIRST.index(file) if file in FIRST else len(FIRST)


class FilesByServer(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return "servers" if file in ON_SERVERS else file
