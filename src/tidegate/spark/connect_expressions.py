"""Expressions of Spark Connect as Columns of a classic session: Spark's own planner reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from tidegate.errors import SetupError

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

__all__ = ["column_of"]


def column_of(session: SparkSession, expression: bytes) -> Column:
    """`expression`: a serialized `spark.connect.Expression` that may be trusted; its names are those of any frame."""
    from pyspark.sql.classic.column import Column as ClassicColumn

    context = getattr(session, "sparkContext", None)
    if context is None:
        raise SetupError(
            "Checks in the sandbox need a Spark of this machine's own, and this session is a client of another",
            remedy='Set trusted = ["checks/*.py"] in [sandbox] if you trust the project\'s checks.',
        )
    jvm = context._jvm
    connect = jvm.org.apache.spark.sql.connect
    holder = connect.service.SessionHolder("tidegate", str(uuid4()), session._jsparkSession)
    planner = connect.planner.SparkConnectPlanner(holder, jvm.scala.Option.empty())
    message = jvm.org.apache.spark.connect.proto.Expression.parseFrom(expression)
    column = jvm.org.apache.spark.sql.classic.ExpressionUtils.column(planner.transformExpression(message))
    return ClassicColumn(column)
