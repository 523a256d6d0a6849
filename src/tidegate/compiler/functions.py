"""Which functions give the same answer for the same input."""

from __future__ import annotations

__all__ = ["DETERMINISTIC", "NEVER_THE_SAME", "TIME_WORDS"]

_NEVER_THE_SAME = """
curdate current_catalog current_database current_date current_path current_schema current_time current_timestamp
current_timezone current_user input_file_block_length input_file_block_start input_file_name java_method
localtimestamp monotonically_increasing_id now rand randn random randstr reflect session_user shuffle
spark_partition_id try_reflect uniform user uuid version
"""

_TIME_WORDS = "current_date current_time current_timestamp current_user localtimestamp session_user"

_DETERMINISTIC = """
aes_decrypt aes_encrypt array_repeat array_union arrays_overlap assert_true bigint bin binary bitmap_and_agg bround
btrim cardinality collations conv count_min_sketch crc32 date_part datepart decimal e every expm1 find_in_set forall
format_number from_avro from_csv from_protobuf from_xml get hash histogram_numeric hll_sketch_agg
hll_sketch_estimate hll_union hll_union_agg hypot inline_outer is_valid_utf8 is_variant_null isnotnull isnull
json_array_length json_tuple kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint
kll_sketch_agg_double kll_sketch_agg_float kll_sketch_get_n_bigint kll_sketch_get_n_double kll_sketch_get_n_float
kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double kll_sketch_get_quantile_float
kll_sketch_get_rank_bigint kll_sketch_get_rank_double kll_sketch_get_rank_float kll_sketch_merge_bigint
kll_sketch_merge_double kll_sketch_merge_float kll_sketch_to_string_bigint kll_sketch_to_string_double
kll_sketch_to_string_float log1p luhn_check make_date make_dt_interval make_time make_timestamp_ltz
make_timestamp_ntz make_valid_utf8 make_ym_interval map_concat map_entries map_filter map_values map_zip_with mask
mean nullifzero octet_length pmod positive printf quote raise_error range regexp schema_of_avro schema_of_csv
schema_of_json schema_of_variant schema_of_variant_agg schema_of_xml sentences session_window shiftrightunsigned
smallint some sql_keywords st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid std theta_difference
theta_intersection theta_intersection_agg theta_sketch_agg theta_sketch_estimate theta_union theta_union_agg
timestamp_micros timestamp_millis timestamp_seconds tinyint to_avro to_csv to_protobuf to_time to_timestamp_ltz
to_timestamp_ntz to_varchar to_variant_object to_xml transform_keys transform_values try_aes_decrypt try_avg
try_make_interval try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_mod try_parse_json
try_parse_url try_sum try_to_binary try_to_date try_to_number try_to_time try_to_timestamp try_url_decode
try_validate_utf8 try_variant_get url_decode url_encode validate_utf8 variant_explode variant_explode_outer
variant_get weekday window window_time xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long
xpath_number xpath_short xpath_string xxhash64 zeroifnull zip_with
"""

NEVER_THE_SAME = frozenset(_NEVER_THE_SAME.split())

TIME_WORDS = frozenset(_TIME_WORDS.split())
"""Functions that Spark also knows without parentheses."""

DETERMINISTIC = frozenset(_DETERMINISTIC.split())
"""Spark's own functions that the SQL parser has no class for. What is in neither list is someone's own function."""
