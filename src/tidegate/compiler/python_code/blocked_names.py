"""What Python that is not trusted may not name, why, and what to write instead; docs/sandbox.md prints it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = [
    "BLOCKED_ATTRIBUTES",
    "BLOCKED_BUILTINS",
    "BLOCKED_IMPORTS",
    "FRAME_ATTRIBUTES",
    "PLAIN_DUNDERS",
    "PLAIN_UNDERSCORES",
    "TEXT_WRITERS",
    "WITH_LITERAL_NAME",
    "WITH_STRING_FUNCTION",
    "Blocked",
]


class Blocked(NamedTuple):
    why: str
    instead: str


def _each(names: str, why: str, instead: str) -> dict[str, Blocked]:
    return dict.fromkeys(names.split(), Blocked(why, instead))


def _words(names: str) -> frozenset[str]:
    return frozenset(names.split())


_COMPUTE = "write the code itself"
_NAMED = "write the name itself, with a dot before it"
_READ = "read what the project has with tg.ref, tg.landing_zone or tg.sql"

BLOCKED_BUILTINS: Mapping[str, Blocked] = {
    **_each("exec eval compile", "it runs text as code", _COMPUTE),
    **_each("__import__", "it imports what no check sees", "write an import statement at the top of the file"),
    **_each("open", "it opens files", _READ),
    **_each("input", "it waits for a person", "use tg.var for values that change"),
    **_each("globals locals vars dir", "it hands out names that no check sees", _NAMED),
    **_each("getattr setattr delattr hasattr", "it reaches attributes whose names no check sees", _NAMED),
    **_each("breakpoint help", "it starts an interactive tool", "use tg.log"),
    **_each("exit quit", "it ends the process", "return a result, or raise an error"),
    **_each("copyright credits license", "it reads files of Python's installation", "choose another name"),
    **_each("memoryview", "it reaches the memory of other objects", "use bytes or bytearray"),
    **_each("__build_class__", "it makes classes that no check sees", "write a class statement"),
    **_each("__builtins__", "it holds every builtin, those that are blocked too", "name the builtin itself"),
    **_each("__loader__ __spec__", "it imports what no check sees", "write an import statement at the top of the file"),
}
"""Exactly 26."""

WITH_LITERAL_NAME = frozenset({"getattr", "setattr", "delattr", "hasattr"})
"""Allowed where the name is a literal that could stand behind a dot."""

_FILES = "read with tg.landing_zone, and return rows: Tidegate writes them"
_NETWORK = "land the data with a connector, or trust the file: trusted = [...] in [sandbox]"
_PROCESS = "use Spark for work on all cores"
_CODE = _COMPUTE
_INSIDE = "use the objects themselves; tg.log writes to the run's log"

BLOCKED_IMPORTS: Mapping[str, Blocked] = {
    **_each(
        "os sys posix nt posixpath ntpath genericpath platform sysconfig site getpass pwd grp spwd errno",
        "it shows the machine and its environment",
        "use tg.var for values that change",
    ),
    **_each(
        "shutil pathlib glob fnmatch tempfile io _io fileinput linecache filecmp stat codecs mmap zipfile tarfile gzip"
        " bz2 lzma netrc configparser tomllib plistlib sqlite3 dbm logging",
        "it reaches files",
        _FILES,
    ),
    **_each(
        "socket ssl http urllib urllib3 requests httpx aiohttp ftplib smtplib poplib imaplib nntplib telnetlib xmlrpc"
        " socketserver select selectors asyncio asyncore asynchat webbrowser cgi wsgiref boto3 s3fs fsspec"
        " paramiko grpc",
        "it reaches the network",
        _NETWORK,
    ),
    **_each(
        "subprocess multiprocessing threading _thread concurrent signal pty resource fcntl termios tty sched queue"
        " faulthandler",
        "it starts or steers processes and threads",
        _PROCESS,
    ),
    **_each(
        "ctypes _ctypes cffi importlib imp pkgutil zipimport runpy code codeop builtins pickle _pickle cPickle"
        " cloudpickle dill joblib marshal shelve copyreg atexit ast dis opcode symtable compileall py_compile timeit"
        " doctest unittest pdb bdb pydoc ensurepip venv pip setuptools distutils numba cython jinja2",
        "it loads or runs code that no check sees",
        _CODE,
    ),
    **_each(
        "inspect gc types traceback tracemalloc weakref warnings trace profile cProfile pstats",
        "it reaches the insides of the interpreter",
        _INSIDE,
    ),
    **_each(
        "py4j pyspark.pandas pyspark.core pyspark.files pyspark.sql.connect pyspark.sql.session pyspark.context"
        " pyspark.ml pyspark.streaming pyspark.sql.streaming pyspark.sql.datasource duckdb delta pyiceberg sqlalchemy"
        " deltalake polars",
        "it reaches data by other ways than the tables that a model names",
        _READ,
    ),
}
"""Besides these everything that is not on the list of what is allowed."""

FRAME_ATTRIBUTES: Mapping[str, Blocked] = _each(
    "gi_frame gi_code gi_yieldfrom gi_running cr_frame cr_code cr_await cr_origin cr_running ag_frame ag_code ag_await"
    " ag_running tb_frame tb_next tb_lasti tb_lineno f_back f_builtins f_code f_globals f_lasti f_lineno f_locals"
    " f_trace f_trace_lines f_trace_opcodes func_code func_globals func_closure func_defaults im_class im_func"
    " im_self co_code co_consts co_names co_varnames co_cellvars co_freevars"
    " co_filename co_name co_lines co_positions co_flags",
    "it belongs to frames and code, through which everything of the process is reached",
    "use the values themselves",
)

_SESSION = "it leaves the tables that this code may read"
_FILE_WRITER = "it reads or writes files"

BLOCKED_ATTRIBUTES: Mapping[str, Blocked] = {
    **FRAME_ATTRIBUTES,
    **_each("mro", "it walks from a class to all others", "name the class itself"),
    **_each("format_map vformat get_field", "it reaches attributes by their names in a text", "write an f-string"),
    **_each("attrgetter methodcaller", "it reaches attributes whose names no check sees", "write a lambda"),
    **_each("eval query", "it runs text as code", "write the condition in Python, as in frame[frame['a'] > 0]"),
    **_each(
        "ctypes ctypeslib as_strided buffers setflags",
        "it reaches the memory of the process",
        "use the array itself",
    ),
    **_each(
        "from_buffers py_buffer foreign_buffer",
        "Spark would read any memory that the offsets of such a column name",
        "make columns with pa.array",
    ),
    **_each(
        "tofile dump to_pickle to_parquet to_sql to_hdf to_feather to_excel to_stata to_orc to_clipboard to_gbq"
        " to_iceberg to_table to_delta to_spark_io from_custom_template read_file memory_map open_file",
        _FILE_WRITER,
        _FILES,
    ),
    **_each(
        "os sys builtins importlib subprocess inspect codecs",
        "a module of that name reaches files and the environment",
        "use what the object's documentation shows",
    ),
    **_each("plot hist boxplot", "it imports a library by its name", "return the numbers"),
    **_each(
        "sparkSession sql_ctx rdd toJSON read readStream write writeTo writeStream mergeInto catalog conf"
        " sparkContext streams dataSource client addArtifact addArtifacts createGlobalTempView"
        " createOrReplaceGlobalTempView createTempView createOrReplaceTempView registerTempTable registerFunction"
        " registerJavaFunction registerJavaUDAF checkpoint localCheckpoint foreach foreachPartition inputFiles"
        " pandas_api to_pandas_on_spark newSession getActiveSession getOrCreate builder udtf_register tvf",
        _SESSION,
        "read with tg.ref, tg.landing_zone or tg.sql, and return the result",
    ),
    **_each("fromJson UserDefinedType", "a schema may carry code", "write the type with pyspark.sql.types, or as DDL"),
    **_each(
        "_jdf _jvm _jsc _sc _jc _jsparkSession _jexpr _jseq _gateway _client _session _plan _mgr _expr _channel _stub",
        "it belongs to the insides of a library",
        "use its public names",
    ),
}
"""On any object. Besides these every name that begins with an underscore."""

TEXT_WRITERS = frozenset({"to_csv", "to_json", "to_html", "to_markdown", "to_latex", "to_string", "to_xml"})
"""Of pandas: they return a text where no path is given, and are allowed so."""

WITH_STRING_FUNCTION = frozenset({"agg", "aggregate", "apply", "transform"})
"""Of pandas: a text given to them is looked up as an attribute."""

_OPERATORS = _words("add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or")

PLAIN_DUNDERS = _words(
    "__init__ __post_init__ __new__ __repr__ __str__ __format__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__"
    " __hash__ __bool__ __len__ __iter__ __next__ __reversed__ __contains__ __getitem__ __setitem__ __delitem__"
    " __missing__ __call__ __enter__ __exit__ __neg__ __pos__ __abs__ __invert__ __int__ __float__ __index__"
    " __round__ __trunc__ __floor__ __ceil__ __slots__ __all__ __name__ __version__ __author__ __members__"
    " __main__"
) | {f"__{before}{name}__" for name in _OPERATORS for before in ("", "r", "i")}
"""May be defined and named; all other names with two underscores before and behind may not."""

PLAIN_UNDERSCORES = frozenset({"_asdict", "_fields", "_make", "_replace"})
"""Of named tuples."""
