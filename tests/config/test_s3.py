"""`[s3]`."""

from __future__ import annotations

from pathlib import Path

from tests.config.test_settings import problems_of, settings_of
from tidegate.config import S3Section


def test_the_defaults_are_those_of_aws(tmp_path: Path) -> None:
    assert settings_of(tmp_path, "").s3 == S3Section(None, "us-east-1", path_style=False, profile=None)


def test_a_server_of_ones_own_has_the_bucket_in_the_path(tmp_path: Path) -> None:
    s3 = settings_of(tmp_path, '[s3]\nendpoint = "http://127.0.0.1:9000/"\n').s3
    assert s3 == S3Section("http://127.0.0.1:9000", "us-east-1", path_style=True)


def test_the_file_wins_over_the_variables_of_aws(tmp_path: Path) -> None:
    variables = {"AWS_ENDPOINT_URL": "https://one.example", "AWS_REGION": "eu-central-1", "AWS_PROFILE": "one"}
    assert settings_of(tmp_path, "", **variables).s3 == S3Section("https://one.example", "eu-central-1", True, "one")
    text = '[s3]\nendpoint = "https://two.example"\nregion = "eu-west-1"\npath_style = false\nprofile = "two"\n'
    assert settings_of(tmp_path, text, **variables).s3 == S3Section("https://two.example", "eu-west-1", False, "two")


def test_keys_do_not_belong_in_the_file(tmp_path: Path) -> None:
    assert problems_of(tmp_path, '[s3]\naccess_key_id = "x"\nsecret_key = "y"\nendpoint = "minio:9000"\n') == [
        "tidegate.toml:2: 'access_key_id' does not belong in [s3]: set AWS_ACCESS_KEY_ID, or name a 'profile'",
        "tidegate.toml:3: 'secret_key' does not belong in [s3]: set AWS_SECRET_ACCESS_KEY, or name a 'profile'",
        "tidegate.toml:4: 'endpoint' in [s3] must be an address such as https://s3.example.org",
    ]
