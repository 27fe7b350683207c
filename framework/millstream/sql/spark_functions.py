"""Spark's built-in functions: their arguments, result types and nullability.

One line per family: names, then arguments (- for none), result and flags. An argument is a word of
`millstream.sql.argument_types`, with these signs:

[word] optional · word... one or more · #word a constant, known before any row · word! not a NULL literal
word& has a common type with all others of this sign · | between two lists of arguments

A result is a DDL type, `$n` for the type of the n-th argument, or a rule of `sql.result_types`. Flags:

A aggregate · W window function · G generator · N not deterministic · R can raise on a row
! never NULL · ? can be NULL for any arguments (by default, if an argument can be, once Spark has cast it)

or, in words, a rule of `millstream.sql.nullability`.
"""

TABLE = """
abs negative positive : measure : number : same
ceil ceiling floor : number | fixed #index! : whole : ?R
round bround : number [#number] : rounded : ?R
sign signum : measure : double : ?
sqrt cbrt exp expm1 degrees radians rint : double : double : ?
acos acosh asin asinh atan atanh cos cosh cot csc sec sin sinh tan tanh : double : double : ?
ln log10 log2 log1p : double : double : ?
log : double [double] : double : ?
atan2 hypot pow power : double double : double
e pi : - : double : !
factorial : int : bigint : ?
bin : long : string
hex : hexed : string
unhex : string : binary : ?
conv : string int int : string : ?R
greatest least : ordered& ordered&... : common : coalesce
mod : operand operand : remainder : ?R
try_mod : operand operand : tried : ?
try_divide : factor operand : tried : ?
try_add try_subtract : any any : tried : ?
try_multiply : factor factor : tried : ?
pmod : operand operand : remainder : ?R
rand random : [#integer] : double : !N
randn : [#integer] : double : !N
randstr : #number [#integer] : string : !N
uniform : #numeric #numeric [#integer] : uniform : !N
uuid : [#integer] : string : !N
width_bucket : bound bound bound long : bigint : ?
bit_count : bits : int
bit_get getbit : integer int : tinyint : R
shiftleft shiftright shiftrightunsigned : shifted int : shifted
nanvl : number number : fraction
zeroifnull : operand : zeroed : !
nullifzero : operand : $1 : ?
vector_avg vector_sum : vector! : $1 : A?
upper lower ucase lcase initcap : string : string
soundex : text : string
trim btrim ltrim rtrim : string [string] : string
quote : string : string : ?
collate : text #collation! : $1
collation : text : string : !
concat : [concat...] : concat
concat_ws : string [list...] : string : first
length char_length character_length len octet_length bit_length ascii : string : int
levenshtein : string string [int] : int
left : textual int : text
right : string int : string : ?
lpad rpad : textual int [textual] : text
repeat : string int : string
chr char : long : string
space : int : string
replace : string string [string] : string
translate : string string string : string
overlay : textual textual int [int] : text
substring substr : textual int [int] : text
substring_index : string string int : string
split : string string [int] : array<string>
split_part : string string int : string : ?R
instr : string string : int
locate position : string string [int] : int : pair
find_in_set : string string : int
elt : int string... : string : ?R
format_string printf : string [any...] : string : first
format_number : numeric format : string : ?
reverse : reversible : $1
startswith endswith contains : string string : boolean : within
like ilike : string string [#letter!] : boolean
rlike regexp regexp_like : string string : boolean
regexp_count : string string : int
regexp_instr : string string [int] : int
regexp_extract : string string [int] : string : R
regexp_extract_all : string string [int] : array<string> : R
regexp_replace : string string string [#count] : string
regexp_substr : string string : string : ?
sentences : string [string] [string] : array<array<string>> : ?
mask : text [#letter] [#letter] [#letter] [#letter] : string : ?
base64 : bytes : string
unbase64 : string : binary : R
encode : string string : binary : ?R
decode : bytes string | any any any [any...] : decoded : decoded
md5 sha sha1 : bytes : string
sha2 : bytes int : string : ?
crc32 : bytes : bigint
hash : ordered... : int : !
xxhash64 : ordered... : bigint : !
luhn_check is_valid_utf8 : string : boolean : ?
make_valid_utf8 : string : string : ?
validate_utf8 : string : string : ?R
try_validate_utf8 : string : string : ?
url_encode : string : string : ?
url_decode : string : string : ?R
try_url_decode : string : string : ?
parse_url : text text [text] : string : ?R
try_parse_url : text text [text] : string : ?
to_char to_varchar : displayed picture : string : R
to_number : string #numberformat : decimal : R
try_to_number : string #numberformat : decimal : ?
to_binary : string [#encoding] : binary : ?R
try_to_binary : string [#string] : binary : ?
aes_encrypt : bytes bytes [string] [string] [bytes] [bytes] : binary : ?R
aes_decrypt : bytes bytes [string] [string] [bytes] : binary : ?R
try_aes_decrypt : bytes bytes [string] [string] [bytes] : binary : ?
coalesce : common... : common : coalesce
nvl ifnull : common common : common : coalesce
nvl2 : any common common : branches : branches
nullif : comparable comparable : $1 : ?
if : condition common common : branches : branches
isnull isnotnull : any : boolean : !
isnan : double : boolean : !
equal_null : comparable comparable : boolean : !
not : boolean : boolean
typeof : any : string : !
version current_catalog current_database current_schema current_user user session_user : - : string : !
current_path : - : string : !
current_timezone : - : string : !
input_file_name : - : string : !N
input_file_block_start input_file_block_length : - : bigint : !N
monotonically_increasing_id : - : bigint : !N
spark_partition_id : - : int : !N
assert_true : condition [string] : void : ?NR
raise_error : string : void : ?NR
bigint int smallint tinyint double float decimal boolean string binary date timestamp : any : cast : same
now current_timestamp : - : timestamp : !N
localtimestamp : - : timestamp_ntz : !N
current_date curdate : - : date : !N
unix_timestamp : [time] [text] : bigint : NR
to_unix_timestamp : time [text] : bigint : R
from_unixtime : long [string] : string : ?
unix_seconds unix_millis unix_micros : utc : bigint
unix_date : day : int
timestamp_seconds : numeric : timestamp : same
timestamp_millis timestamp_micros : integer : timestamp : R
date_from_unix_date : int : date
to_date : string [string] : date : cast
try_to_date : string [string] : date : ?
to_timestamp to_timestamp_ltz : string | dated string : timestamp : cast
to_timestamp_ntz : string [string] : timestamp_ntz : cast
try_to_timestamp : string | dated string : timestamp : ?
date_format : timestamp string : string
date_trunc : level timestamp : timestamp : ?
trunc : date level : date : ?
hour minute second : moment : int
year quarter month day dayofmonth dayofweek weekday dayofyear weekofyear : date : int
dayname monthname : date : string
extract date_part datepart : #part timed : datepart : part
add_months : date int : date
date_add : date days | unit long moment : dateadd
date_sub : date days : date
dateadd : date days | unit long moment : dateadd
timestampadd : unit long moment : dateadd
datediff date_diff : date date | unit timestamp timestamp : datediff
timestampdiff : unit timestamp timestamp : bigint
last_day : date : date
next_day : date string : date : ?R
months_between : timestamp timestamp [boolean] : double
make_date : int int int : date : R
make_timestamp make_timestamp_ltz : int int int int int seconds [string] | any [any] [string] : timestamp : R
try_make_timestamp : int int int int int seconds [string] | any [any] [string] : timestamp : ?
try_make_timestamp_ltz : int int int int int seconds [string] | any [any] [string] : timestamp : ?
make_timestamp_ntz : int int int int int seconds | any any : timestamp_ntz : R
try_make_timestamp_ntz : int int int int int seconds | any any : timestamp_ntz : ?
make_interval : [int] [int] [int] [int] [int] [int] [seconds] : interval : R
try_make_interval : [int] [int] [int] [int] [int] [int] [seconds] : interval : ?
make_dt_interval : [int] [int] [int] [seconds] : interval
make_ym_interval : [int] [int] : interval : R
from_utc_timestamp to_utc_timestamp : timestamp string : timestamp
convert_timezone : string ntz | string string ntz : timestamp_ntz : R
window : any #any [#any] [#any] : window : !
session_window : any any : window : !
window_time : any : timestamp : ?
time_bucket : #duration stamp [stamp] : $2
array : [common...] : array : !
array_append array_prepend : array! element : appended
array_insert : array! index! element : inserted : R
array_compact array_distinct : array : $1
array_contains : array! member : boolean : ?
array_except array_intersect array_union : array! same : common
arrays_overlap : array! same : boolean : ?
array_join : array<string> text [text] : string
array_max array_min : array<ordered> : element : ?
array_position : array! element : bigint
array_remove : array! element : appended
array_repeat : any exactint : array_repeat : second
array_size : array : int
size cardinality : collection : int
array_sort : array! [lambda] : $1
sort_array : array<ordered> [#condition] : $1
shuffle : array [#integer] : $1 : N
slice : array int int : $1 : R
flatten : array<array>! : element : ?
arrays_zip : [array...] : zipped
sequence : any any [any] : sequence : R elements
element_at : container! key : element : ?R
try_element_at : container! key : element : ?
get : array! int : element : ?
transform : array! lambda : transformed
filter : array! lambda : $1
exists forall : array! lambda : boolean : ?
aggregate reduce : array! any lambda [lambda] : reduced : ?
zip_with : array! array! lambda : transformed
map : [any...] : map : !R
map_concat : [map!&...] : maps : R
map_contains_key : map! key! : boolean : ?
map_entries : map : entries
map_keys : map : keys
map_values : map : values
map_filter : map! lambda : $1
map_from_arrays : array array : map_from_arrays : R
map_from_entries : array<struct>! : map_from_entries : ?R
map_zip_with : map! map! lambda : mapped : R
transform_keys transform_values : map! lambda : mapped : R
str_to_map : text [text] [text] : map<string,string> : R
struct : any... : struct : !
named_struct : any any [any...] : struct : !
from_json from_xml : text #schema! [#options!] : schema : ?
from_csv : text #schema! [#options!] : schema
to_json : jsonable [#options!] : string : ?
to_csv : row [#options!] : string : ?
to_xml : record [#options!] : string : ?
get_json_object : text text : string : ?
json_array_length : text : int : ?
json_object_keys : text : array<string> : ?
schema_of_json schema_of_csv schema_of_xml : #text! [#options!] : string : !
parse_json : text [boolean] : variant : R
try_parse_json : text [boolean] : variant : ?
variant_get try_variant_get : variant text [#typename!] : variant_get : ?R
is_variant_null : variant : boolean : !
is_valid_variant : variant : boolean
to_variant_object : nested! : variant
schema_of_variant : variant : string
from_avro from_protobuf : any any [any] [any] : unknown : ?
to_avro to_protobuf : any [any] [any] [any] : binary : ?
xpath : text #text : array<string> : ?R
xpath_boolean : text #text : boolean : ?R
xpath_double xpath_number : text #text : double : ?R
xpath_float : text #text : float : ?R
xpath_int : text #text : int : ?R
xpath_long : text #text : bigint : ?R
xpath_short : text #text : smallint : ?R
xpath_string : text #text : string : ?R
bitmap_bit_position bitmap_bucket_number : long : bigint
bitmap_count : binary! : bigint
count : any... : bigint : A!
count_if : boolean : bigint : A!
approx_count_distinct : any [#precision!] : bigint : A!
sum : total : total : A?R
try_sum : total : total : A?
avg mean : total : average : A?R
try_avg : total : average : A?
min max : ordered : $1 : A?
first last first_value last_value any_value mode : any [#condition!] : $1 : A?
min_by max_by : any ordered [#count!] : by : A?
median : measure : median : A?
percentile : measure #fraction! [integer] : percentile : A?
percentile_approx approx_percentile : spread #fraction! [#size!] : percentile_approx : A?
percentile_cont percentile_disc : #fraction! : double : A?
std stddev stddev_samp stddev_pop variance var_samp var_pop skewness kurtosis : double : double : A?
regr_avgx : number number : averagex : A?
regr_avgy : number number : average : A?
corr covar_pop covar_samp regr_intercept regr_r2 regr_slope : double double : double : A?
regr_sxx regr_sxy regr_syy : double double : double : A?
regr_count : number number : bigint : A!
bool_and bool_or every some any : boolean : boolean : A?
bit_and bit_or bit_xor : integer : bits : A?
collect_list array_agg : any : array : A!
collect_set : hashable : array : A!
listagg string_agg : textual [#textual] : text : A?
histogram_numeric : spread #count! : histogram : A?
count_min_sketch : sketched #exact! #exact! #integer! : binary : A!
approx_top_k : top! [#number] [#number] : top : A!
hll_sketch_agg : hashed [exactint] : binary : A!
hll_union_agg : binary [#condition] : binary : A!
hll_sketch_estimate : binary : bigint
hll_union : binary binary [condition] : binary
bitmap_construct_agg : long : binary : A!
bitmap_or_agg bitmap_and_agg : binary! : binary : A!
grouping : any : tinyint : A!
grouping_id : [any...] : bigint : A!
row_number : - : int : W!
rank dense_rank : [any...] : int : W!
ntile : [#size!] : int : W!
cume_dist : - : double : W!
percent_rank : [any...] : double : W!
lag lead : any [#integer!] [default] : $1 : W default
nth_value : any #count! [#condition!] : $1 : W?
explode explode_outer : collection! : explode : G
posexplode posexplode_outer : collection! : posexplode : G
inline inline_outer : array<struct>! : inline : G
stack : #size! any [any...] : stack : G
json_tuple : text! text! [text!...] : json_tuple : G
variant_explode variant_explode_outer : variant : variant_explode : G
range : #any [#any] [#any] [#any] : range : G
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
