"""Spark's built-in functions: their arguments, result types and nullability.

One line per family: names, then arguments, result and flags. A result is a DDL type, `$n` for the type of
the n-th argument, or a rule of `millstream.sql.results`. Flags:

A aggregate · W window function · G generator · N not deterministic · R can raise on a row
! never NULL · ? can be NULL for any arguments (by default, it can be NULL if an argument can be)
T like the default, but text arguments are cast, which can give NULL

or, in words, a rule of `millstream.sql.nullability`.
"""

from functools import cache

from msgspec import Struct

TABLE = """
abs negative positive : 1 : number : same
ceil ceiling floor : 1-2 : whole : ?R
round bround : 1-2 : rounded : ?R
sign signum sqrt cbrt exp expm1 degrees radians rint : 1 : double : ?
acos acosh asin asinh atan atanh cos cosh cot csc sec sin sinh tan tanh : 1 : double : ?
ln log10 log2 log1p : 1 : double : ?
log : 1-2 : double : ?
atan2 hypot pow power : 2 : double : T
e pi : 0 : double : !
factorial : 1 : bigint : ?
bin : 1 : string : T
hex : 1 : string
unhex : 1 : binary : ?
conv : 3 : string : ?R
greatest least : 2- : common : coalesce
mod : 2 : remainder : ?R
try_mod try_divide try_add try_subtract try_multiply : 2 : tried : ?
pmod : 2 : remainder : ?R
rand random : 0-1 : double : !N
randn : 0-1 : double : !N
randstr : 1-2 : string : !N
uniform : 2-3 : uniform : !N
uuid : 0-1 : string : !N
width_bucket : 4 : bigint : ?
bit_count : 1 : int : T
bit_get getbit : 2 : tinyint : TR
shiftleft shiftright shiftrightunsigned : 2 : shifted : T
nanvl : 2 : fraction : T
zeroifnull : 1 : zeroed : !
nullifzero : 1 : $1 : ?
vector_avg vector_sum : 1 : $1 : A?
upper lower ucase lcase initcap soundex : 1 : string
trim btrim ltrim rtrim : 1-2 : string
quote : 1 : string : ?
collate : 2 : $1
collation : 1 : string : !
concat : 0- : concat
concat_ws : 1- : string : first
length char_length character_length len octet_length bit_length ascii : 1 : int
levenshtein : 2-3 : int
left : 2 : text
right : 2 : string : ?
lpad rpad : 2-3 : text
repeat : 2 : string
space chr char : 1 : string : T
replace : 2-3 : string
translate : 3 : string
overlay : 3-4 : text
substring substr : 2-3 : text
substring_index : 3 : string
split : 2-3 : array<string>
split_part : 3 : string : ?R
instr : 2 : int
locate position : 2-3 : int
find_in_set : 2 : int
elt : 2- : string : ?R
format_string printf : 1- : string : first
format_number : 2 : string : ?
reverse : 1 : $1
startswith endswith contains : 2 : boolean : within
like ilike : 2-3 : boolean
rlike regexp regexp_like : 2 : boolean
regexp_count regexp_instr : 2-3 : int
regexp_extract : 2-3 : string : R
regexp_extract_all : 2-3 : array<string> : R
regexp_replace : 3-4 : string
regexp_substr : 2 : string : ?
sentences : 1-3 : array<array<string>> : ?
mask : 1-5 : string : ?
base64 : 1 : string
unbase64 : 1 : binary : R
encode : 2 : binary : ?R
decode : 2- : decoded : decoded
md5 sha sha1 : 1 : string
sha2 : 2 : string : ?
crc32 : 1 : bigint
hash : 1- : int : !
xxhash64 : 1- : bigint : !
luhn_check is_valid_utf8 : 1 : boolean : ?
make_valid_utf8 : 1 : string : ?
validate_utf8 : 1 : string : ?R
try_validate_utf8 : 1 : string : ?
url_encode : 1 : string : ?
url_decode : 1 : string : ?R
try_url_decode : 1 : string : ?
parse_url : 2-3 : string : ?R
try_parse_url : 2-3 : string : ?
to_char to_varchar : 2 : string : R
to_number : 2 : decimal : R
try_to_number : 2 : decimal : ?
to_binary : 1-2 : binary : ?R
try_to_binary : 1-2 : binary : ?
aes_encrypt : 2-6 : binary : ?R
aes_decrypt : 2-5 : binary : ?R
try_aes_decrypt : 2-5 : binary : ?
coalesce : 1- : common : coalesce
nvl ifnull : 2 : common : coalesce
nvl2 : 3 : branches : branches
nullif : 2 : $1 : ?
if : 3 : branches : branches
isnull isnotnull : 1 : boolean : !
isnan : 1 : boolean : !
equal_null : 2 : boolean : !
not : 1 : boolean
typeof : 1 : string : !
version current_catalog current_database current_schema current_user user session_user : 0 : string : !
current_path : 0 : string : !
current_timezone : 0 : string : !
input_file_name : 0 : string : !N
input_file_block_start input_file_block_length : 0 : bigint : !N
monotonically_increasing_id : 0 : bigint : !N
spark_partition_id : 0 : int : !N
assert_true : 1-2 : void : ?NR
raise_error : 1-2 : void : ?NR
bigint int smallint tinyint double float decimal boolean string binary date timestamp : 1 : cast : same
now current_timestamp : 0 : timestamp : !N
localtimestamp : 0 : timestamp_ntz : !N
current_date curdate : 0 : date : !N
unix_timestamp : 0-2 : bigint : NR
to_unix_timestamp : 1-2 : bigint : R
from_unixtime : 1-2 : string : ?
unix_seconds unix_millis unix_micros : 1 : bigint : T
unix_date : 1 : int : T
timestamp_seconds : 1 : timestamp : same
timestamp_millis timestamp_micros : 1 : timestamp : TR
date_from_unix_date : 1 : date : T
to_date : 1-2 : date : cast
try_to_date : 1-2 : date : ?
to_timestamp to_timestamp_ltz : 1-2 : timestamp : cast
to_timestamp_ntz : 1-2 : timestamp_ntz : cast
try_to_timestamp : 1-2 : timestamp : ?
date_format : 2 : string : timed
date_trunc : 2 : timestamp : ?
trunc : 2 : date : ?
year quarter month day dayofmonth dayofweek weekday dayofyear weekofyear hour minute second : 1 : int : timed
dayname monthname : 1 : string : timed
extract date_part datepart : 2 : datepart : timed
add_months : 2 : date : timed
date_add : 2-3 : dateadd : timed
date_sub : 2 : date : timed
dateadd timestampadd : 2-3 : dateadd : timed
datediff date_diff : 2-3 : datediff : timed
timestampdiff : 3 : bigint : timed
last_day : 1 : date : timed
next_day : 2 : date : ?R
months_between : 2-3 : double : timed
make_date : 3 : date : TR
make_timestamp make_timestamp_ltz : 1-7 : timestamp : R
try_make_timestamp try_make_timestamp_ltz : 2-7 : timestamp : ?
make_timestamp_ntz : 2-6 : timestamp_ntz : TR
try_make_timestamp_ntz : 2-6 : timestamp_ntz : ?
make_interval : 0-7 : interval : TR
try_make_interval : 0-7 : interval : ?
make_dt_interval : 0-4 : interval : narrowed
make_ym_interval : 0-2 : interval : TR
from_utc_timestamp to_utc_timestamp : 2 : timestamp : timed
convert_timezone : 2-3 : timestamp_ntz : R
window : 2-4 : window : !
session_window : 2 : window : !
window_time : 1 : timestamp : ?
time_bucket : 2-3 : $2
array : 0- : array : !
array_append array_prepend : 2 : appended
array_insert : 3 : inserted : R
array_compact array_distinct : 1 : $1
array_contains : 2 : boolean : ?
array_except array_intersect array_union : 2 : common
arrays_overlap : 2 : boolean : ?
array_join : 2-3 : string
array_max array_min : 1 : element : ?
array_position : 2 : bigint
array_remove : 2 : $1
array_repeat : 2 : array_repeat : second
array_size size cardinality : 1 : int
array_sort : 1-2 : $1
sort_array : 1-2 : $1
shuffle : 1-2 : $1 : N
slice : 3 : $1 : R
flatten : 1 : element : ?
arrays_zip : 0- : zipped
sequence : 2-3 : sequence : R
element_at : 2 : element : ?R
try_element_at : 2 : element : ?
get : 2 : element : ?
transform : 2 : transformed
filter : 2 : $1
exists forall : 2 : boolean : ?
aggregate reduce : 3-4 : reduced : ?
zip_with : 3 : transformed
map : 0- : map : !R
map_concat : 0- : maps : R
map_contains_key : 2 : boolean : ?
map_entries : 1 : entries
map_keys : 1 : keys
map_values : 1 : values
map_filter : 2 : $1
map_from_arrays : 2 : map_from_arrays : R
map_from_entries : 1 : map_from_entries : ?R
map_zip_with : 3 : mapped : R
transform_keys transform_values : 2 : mapped : R
str_to_map : 1-3 : map<string,string> : R
struct : 1- : struct : !
named_struct : 2- : struct : !
from_json from_xml : 2-3 : schema : ?
from_csv : 2-3 : schema
to_json to_csv to_xml : 1-2 : string : ?
get_json_object : 2 : string : ?
json_array_length : 1 : int : ?
json_object_keys : 1 : array<string> : ?
schema_of_json schema_of_csv schema_of_xml : 1-2 : string : !
parse_json : 1-2 : variant : R
try_parse_json : 1-2 : variant : ?
variant_get try_variant_get : 2-3 : variant_get : ?R
is_variant_null : 1 : boolean : !
is_valid_variant : 1 : boolean
to_variant_object : 1 : variant
schema_of_variant : 1 : string
from_avro from_protobuf : 2-4 : unknown : ?
to_avro to_protobuf : 1-4 : binary : ?
xpath : 2 : array<string> : ?R
xpath_boolean : 2 : boolean : ?R
xpath_double xpath_number : 2 : double : ?R
xpath_float : 2 : float : ?R
xpath_int : 2 : int : ?R
xpath_long : 2 : bigint : ?R
xpath_short : 2 : smallint : ?R
xpath_string : 2 : string : ?R
bitmap_bit_position bitmap_bucket_number bitmap_count : 1 : bigint
count : 1- : bigint : A!
count_if : 1 : bigint : A!
approx_count_distinct : 1-2 : bigint : A!
sum : 1 : total : A?R
try_sum : 1 : total : A?
avg mean : 1 : average : A?R
try_avg : 1 : average : A?
min max first last first_value last_value any_value mode : 1-2 : $1 : A?
min_by max_by : 2-3 : by : A?
median : 1 : median : A?
percentile : 2-3 : percentile : A?
percentile_approx approx_percentile : 2-3 : percentile_approx : A?
percentile_cont percentile_disc : 1 : double : A?
std stddev stddev_samp stddev_pop variance var_samp var_pop skewness kurtosis : 1 : double : A?
corr covar_pop covar_samp regr_avgx regr_avgy regr_intercept regr_r2 regr_slope : 2 : double : A?
regr_sxx regr_sxy regr_syy : 2 : double : A?
regr_count : 2 : bigint : A!
bool_and bool_or every some any : 1 : boolean : A?
bit_and bit_or bit_xor : 1 : $1 : A?
collect_list array_agg collect_set : 1 : array : A!
listagg string_agg : 1-2 : text : A?
histogram_numeric : 2 : histogram : A?
count_min_sketch : 1-4 : binary : A!
approx_top_k : 1-3 : top : A!
hll_sketch_agg : 1-2 : binary : A!
hll_union_agg : 1-2 : binary : A!
hll_sketch_estimate : 1 : bigint
hll_union : 2-3 : binary
bitmap_construct_agg bitmap_or_agg bitmap_and_agg : 1 : binary : A!
grouping : 1 : tinyint : A!
grouping_id : 0- : bigint : A!
row_number rank dense_rank : 0- : int : W!
ntile : 0-1 : int : W!
cume_dist percent_rank : 0- : double : W!
lag lead : 1-3 : $1 : W default
nth_value : 2-3 : $1 : W?
explode explode_outer : 1 : explode : G
posexplode posexplode_outer : 1 : posexplode : G
inline inline_outer : 1 : inline : G
stack : 2- : stack : G
json_tuple : 2- : json_tuple : G
variant_explode variant_explode_outer : 1 : variant_explode : G
range : 1-4 : range : G
"""

OTHERS = """
approx_top_k_accumulate approx_top_k_combine approx_top_k_estimate collations current_time java_method
kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double
kll_sketch_agg_float kll_sketch_get_n_bigint kll_sketch_get_n_double kll_sketch_get_n_float
kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double kll_sketch_get_quantile_float
kll_sketch_get_rank_bigint kll_sketch_get_rank_double kll_sketch_get_rank_float kll_sketch_merge_bigint
kll_sketch_merge_double kll_sketch_merge_float kll_sketch_to_string_bigint kll_sketch_to_string_double
kll_sketch_to_string_float make_time measure python_worker_logs reflect schema_of_avro schema_of_variant_agg
sql_keywords st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid theta_difference
theta_intersection theta_intersection_agg theta_sketch_agg theta_sketch_estimate theta_union theta_union_agg
time time_diff time_from_micros time_from_millis time_from_seconds time_to_micros time_to_millis
time_to_seconds time_trunc to_time try_reflect try_to_time tuple_difference_double tuple_difference_integer
tuple_difference_theta_double tuple_difference_theta_integer tuple_intersection_agg_double
tuple_intersection_agg_integer tuple_intersection_double tuple_intersection_integer
tuple_intersection_theta_double tuple_intersection_theta_integer tuple_sketch_agg_double
tuple_sketch_agg_integer tuple_sketch_estimate_double tuple_sketch_estimate_integer
tuple_sketch_summary_double tuple_sketch_summary_integer tuple_sketch_theta_double
tuple_sketch_theta_integer tuple_union_agg_double tuple_union_agg_integer tuple_union_double
tuple_union_integer tuple_union_theta_double tuple_union_theta_integer vector_cosine_similarity
vector_inner_product vector_l2_distance vector_norm vector_normalize
"""
"""Spark functions whose types Millstream does not know."""


class Signature(Struct, frozen=True):
    name: str
    least: int
    most: int | None
    result: str
    aggregate: bool = False
    window: bool = False
    generator: bool = False
    deterministic: bool = True
    raises: bool = False
    nullable: str = "arguments"
    """A rule of `millstream.sql.nullability`."""


_NULLS = {"!": "never", "?": "always", "T": "untexted"}


@cache
def signatures() -> dict[str, Signature]:
    """Parse the table, once."""
    found: dict[str, Signature] = {}
    for line in TABLE.strip().splitlines():
        names, arity, result, *rest = (part.strip() for part in line.split(" : "))
        flags = rest[0] if rest else ""
        symbols, _, word = flags.rpartition(" ") if flags.islower() or " " in flags else (flags, "", "")
        least, _, most = arity.partition("-")
        for name in names.split():
            found[name] = Signature(
                name=name,
                least=int(least),
                most=int(most) if most else (None if "-" in arity else int(least)),
                result=result,
                aggregate="A" in symbols,
                window="W" in symbols,
                generator="G" in symbols,
                deterministic="N" not in symbols,
                raises="R" in symbols,
                nullable=word
                or next((_NULLS[symbol] for symbol in symbols if symbol in _NULLS), "arguments"),
            )
    for name in OTHERS.split():
        found.setdefault(name, Signature(name, 0, None, "unknown", nullable="always"))
    return found
