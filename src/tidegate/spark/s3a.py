"""How Spark reads and writes files on S3: through Hadoop's `s3a`, with the AWS client that Iceberg's bundle has.

No key is handed over: Spark's processes find keys where Tidegate does, in the environment, a profile or the machine's
role. On a cluster the executors need one of these too.
"""

from __future__ import annotations

import os

from tidegate.config import S3Section, Settings
from tidegate.spark.ivy import Coordinates
from tidegate.spark.jars import Jar

__all__ = ["S3A_JARS", "s3a_conf", "uses_s3"]

S3A_JARS = (
    Jar(
        Coordinates("org.apache.iceberg", "iceberg-aws-bundle", "1.12.0"),
        "dd7e49ffa4ac9b215bed846581991259e3aec9bb2fa08d6cec029c46cd66d957",
        69034612,
    ),
    Jar(
        Coordinates("org.apache.hadoop", "hadoop-aws", "3.4.2"),
        "d2d24e6b715b5656b9d238bf13b6682a07e2004dd36aad74a73aeb854319f4d9",
        936997,
    ),
    # Of the version that the bundle has; it lacks these two.
    Jar(
        Coordinates("software.amazon.awssdk", "apache-client", "2.54.17"),
        "0b00ae3d55c3d1213ca47b5651dc4c2a0080fc9b6192dde3d53c3da6c1811bcb",
        77826,
    ),
    Jar(
        Coordinates("software.amazon.awssdk", "s3-transfer-manager", "2.54.17"),
        "7bef0ea4efd5e0860bab63e08317040951edb51b72a5be734284c28b8324ab87",
        282942,
    ),
)

_PREFIX = "spark.hadoop.fs.s3a"


def uses_s3(settings: Settings) -> bool:
    return settings.chunks.root.startswith(("s3://", "s3a://"))


def s3a_conf(s3: S3Section) -> dict[str, str]:
    """Settings for the start of Spark. A profile of `[s3]` is named to its processes in AWS_PROFILE."""
    if s3.profile is not None:
        os.environ["AWS_PROFILE"] = s3.profile
    conf = {
        "endpoint.region": s3.region,
        "path.style.access": str(s3.path_style).lower(),
        "aws.credentials.provider": "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider",
        "attempts.maximum": "4",
        "retry.limit": "4",
    }
    if s3.endpoint is not None:
        conf["endpoint"] = s3.endpoint
        conf["connection.ssl.enabled"] = str(s3.endpoint.startswith("https:")).lower()
    return {f"{_PREFIX}.{key}": value for key, value in conf.items()}
