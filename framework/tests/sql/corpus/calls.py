"""Every function of Spark's that Millstream knows, called at least once; columns are those of `models.t`."""

MATHS = """
abs(i) | abs(n) | abs(h) | abs(iv) | negative(i) | negative(n) | positive(d) | abs('5') | negative(s)
ceil(d) | ceil(n) | ceil(i) | ceiling(n) | floor(n) | floor(d) | floor(f) | ceil(n, 1) | floor(n, -1) | ceil(d, 1) | floor(i, 1) | ceil(l)
round(d) | round(n) | round(i) | round(n, 1) | round(n, -1) | round(n, 4) | round(d, 2) | round(f, 2) | round(i, -1) | bround(n, 1) | bround(d)
round(3.14159, 2) | round(2.5) | round(s, 1) | round(n * n, 2) | round(cast(n as decimal(38,18)), 2) | round(n, -12)
sign(i) | signum(n) | sqrt(i) | cbrt(d) | exp(d) | expm1(d) | degrees(d) | radians(i) | rint(d) | sign(iv)
acos(d) | acosh(d) | asin(d) | asinh(d) | atan(d) | atanh(d) | cos(d) | cosh(d) | cot(d) | csc(d) | sec(d) | sin(d) | sinh(d) | tan(d) | tanh(d)
ln(d) | log10(i) | log2(d) | log1p(d) | log(d) | log(2, d) | atan2(d, i) | hypot(d, d) | pow(i, 2) | power(d, d) | e() | pi()
factorial(i) | bin(l) | hex(i) | hex(s) | unhex(s) | conv(s, 10, 16) | conv(i, 10, 2)
greatest(i, l) | greatest(i, d, n) | least(s, 'a') | least(dt, ts) | greatest(n, i) | least(i, null)
mod(i, 2) | mod(l, i) | mod(n, 3) | mod(d, i) | pmod(i, 2) | pmod(n, 3) | pmod(d, i) | pmod(l, i)
try_mod(i, 2) | try_divide(i, 2) | try_add(i, l) | try_subtract(n, 1) | try_multiply(n, n) | try_add(dt, 1) | try_divide(n, i) | try_add(ts, iv)
rand() | rand(1) | random() | randn() | randn(2) | randstr(5) | randstr(5, 1) | uniform(1, 10) | uniform(1.5, 3, 4) | uuid()
width_bucket(d, 0, 10, 5) | bit_count(i) | bit_count(b) | bit_get(i, 0) | getbit(l, 1) | shiftleft(i, 1) | shiftleft(l, 1) | shiftright(i, 1)
shiftrightunsigned(l, 2) | nanvl(d, 0) | nanvl(f, f) | zeroifnull(i) | zeroifnull(n) | nullifzero(i) | nullifzero(d)
shiftleft(h, 1) | zeroifnull(l) | zeroifnull(s) | random(5) | width_bucket(ym, interval '1' year, interval '9' year, 4)
"""

TEXTS = """
upper(s) | lower(s) | ucase(s) | lcase(s) | initcap(s) | trim(s) | btrim(s) | btrim(s, 'x') | ltrim(s) | rtrim(s) | soundex(s) | quote(s) | upper(i)
collate(s, 'UTF8_LCASE') | collation(s) | concat(s, i) | concat(s, s) | concat(x, x) | concat(a, a) | concat() | concat(a, array(l)) | concat(s) | concat(i, l) | concat(x, s)
concat_ws(',', s, s) | concat_ws(',', sa) | concat_ws(s, s) | length(s) | length(x) | char_length(s) | character_length(s) | len(s) | octet_length(s) | bit_length(x)
ascii(s) | levenshtein(s, 'a') | levenshtein(s, 'a', 3) | left(s, 2) | right(s, 2) | left(x, 2) | lpad(s, 5) | lpad(s, 5, '*') | rpad(x, 5) | rpad(s, i, 'x') | lpad(i, 5, '0')
repeat(s, 3) | space(i) | chr(i) | char(i) | replace(s, 'a') | replace(s, 'a', 'b') | translate(s, 'a', 'b') | overlay(s, 'x', 2) | overlay(s, 'x', 2, 3)
overlay(s placing 'x' from 2) | overlay(s placing 'x' from 2 for 3) | overlay(x placing x from 1)
substring(s, 1) | substring(s, 1, 2) | substr(x, 1, 2) | substring(i, 1, 2) | substring(s from 2) | substring(s from 2 for 3) | substring_index(s, '.', 1)
split(s, ',') | split(s, ',', 2) | split_part(s, ',', 1) | instr(s, 'a') | locate('a', s) | locate('a', s, 2) | position('a', s) | position('a' in s) | find_in_set(s, 'a,b')
elt(1, s, 'b') | elt(i, s, s) | format_string('%s', i) | printf('%d', i) | format_number(d, 2) | format_number(i, '#') | reverse(s) | reverse(a)
startswith(s, 'a') | endswith(s, 'a') | contains(s, 'a') | contains(x, x) | like(s, 'a%') | like(s, 'a%', '!') | ilike(s, 'a') | rlike(s, 'a') | regexp(s, 'a') | regexp_like(s, 'a')
regexp_count(s, 'a') | regexp_instr(s, 'a') | regexp_instr(s, 'a', 1) | regexp_extract(s, 'a') | regexp_extract(s, 'a(b)', 1) | regexp_extract_all(s, 'a') | regexp_extract_all(s, 'a(b)', 1)
regexp_replace(s, 'a', 'b') | regexp_replace(s, 'a', 'b', 2) | regexp_substr(s, 'a') | sentences(s) | sentences(s, 'en') | sentences(s, 'en', 'US') | mask(s) | mask(s, 'X') | mask(s, 'X', 'y', 'n', 'o')
base64(x) | unbase64(s) | encode(s, 'utf-8') | decode(x, 'utf-8') | decode(i, 1, 'a', 2, 'b') | decode(i, 1, 'a', 'z') | decode(i, 1, 2, 3L)
md5(x) | sha(x) | sha1(s) | sha2(x, 256) | crc32(x) | hash(i, s) | xxhash64(i) | luhn_check(s) | is_valid_utf8(s) | make_valid_utf8(s) | validate_utf8(s) | try_validate_utf8(s)
url_encode(s) | url_decode(s) | try_url_decode(s) | parse_url(s, 'HOST') | parse_url(s, 'QUERY', 'a') | try_parse_url(s, 'HOST') | try_parse_url(s, 'QUERY', 'a')
to_char(n, '999.99') | to_varchar(n, '999') | to_char(ts, 'yyyy') | to_number(s, '999.99') | to_number(s, '$99,999.0') | try_to_number(s, '999') | to_number('12', 'S99D9')
to_binary(s) | to_binary(s, 'utf-8') | try_to_binary(s) | try_to_binary(s, 'hex')
aes_encrypt(s, '0000111122223333') | aes_encrypt(s, s, 'GCM') | aes_decrypt(x, '0000111122223333') | aes_decrypt(x, s, 'GCM') | try_aes_decrypt(x, s) | try_aes_decrypt(x, s, 'GCM')
trim(both from s) | trim(leading 'x' from s) | trim('x' from s) | trim(trailing from s) | trim(s, 'x') | ltrim('x', s)
"""

CONDITIONS = """
coalesce(i, l) | coalesce(i_n, l) | coalesce(s, 'x') | coalesce(n, 1) | coalesce(null, i) | coalesce(dt, ts) | coalesce(i_n, i_n) | coalesce(s_n, '') | coalesce(n_n, 0.0) | coalesce(s, i)
nvl(i_n, 0) | ifnull(i_n, 0L) | nvl2(i, 'a', 'b') | nvl2(i, i, l) | nvl2(i_n, i_n, 1) | nullif(i, 0) | nullif(s, '') | nullif(s_n, s) | nullif(n, 0)
if(b, 1, 2) | if(b, i, l) | if(b_n, s, 'x') | if(b, i_n, 1) | if(b, null, 1) | if(b, n, 1) | if(b, n, d) | if(b, 1, 2.5)
isnull(i) | isnotnull(i_n) | isnan(d) | isnan(f_n) | equal_null(i, l) | equal_null(i_n, 1) | not(b) | typeof(i) | assert_true(b) | assert_true(b, 'no') | raise_error('x')
version() | current_catalog() | current_database() | current_schema() | current_user() | user() | session_user() | current_path() | current_timezone() | current_user
input_file_name() | input_file_block_start() | input_file_block_length() | monotonically_increasing_id() | spark_partition_id()
bigint(i) | bigint(s) | int(s) | int(d) | smallint(i) | tinyint(i) | double(s) | float(i) | boolean(s) | boolean(i) | string(i) | binary(s) | date(s) | date(ts) | timestamp(s) | timestamp(dt) | decimal(s) | decimal(i)
"""

TIMES = """
now() | current_timestamp() | current_timestamp | localtimestamp() | current_date() | current_date | curdate() | unix_timestamp() | unix_timestamp(ts) | unix_timestamp(s, 'yyyy') | unix_timestamp(dt)
to_unix_timestamp(ts) | to_unix_timestamp(s, 'yyyy') | from_unixtime(l) | from_unixtime(l, 'yyyy') | unix_seconds(ts) | unix_millis(ts) | unix_micros(ts) | unix_date(dt)
timestamp_seconds(i) | timestamp_seconds(d) | timestamp_millis(l) | timestamp_micros(l) | date_from_unix_date(i) | to_date(s) | to_date(s, 'yyyy') | to_date(ts) | to_date(dt) | try_to_date(s) | try_to_date(s, 'yyyy')
to_timestamp(s) | to_timestamp(s, 'yyyy') | to_timestamp(dt) | to_timestamp(ts) | to_timestamp_ltz(s) | to_timestamp_ltz(s, 'yyyy') | to_timestamp_ntz(s) | to_timestamp_ntz(s, 'yyyy') | try_to_timestamp(s) | try_to_timestamp(s, 'yyyy')
date_format(ts, 'yyyy') | date_format(dt, 'yyyy') | date_format(s, 'yyyy') | date_trunc('hour', ts) | date_trunc('day', dt) | date_trunc('day', tn) | date_trunc('day', s) | trunc(dt, 'month') | trunc(ts, 'month')
year(ts) | quarter(dt) | month(ts) | day(ts) | dayofmonth(dt) | dayofweek(ts) | weekday(dt) | dayofyear(ts) | weekofyear(dt) | hour(ts) | minute(ts) | second(ts) | dayname(dt) | monthname(ts) | year(s) | hour(tn)
extract(year from ts) | extract(second from ts) | extract(hour from iv) | extract(second from iv) | extract(week from dt) | extract(dow from ts) | extract(minutes from tn) | extract(year from ym)
date_part('year', ts) | datepart('second', ts) | date_part('minute', iv) | date_part('dow', dt) | date_part('month', ym) | extract(doy from dt)
add_months(dt, 1) | add_months(ts, i) | date_add(dt, 1) | date_add(ts, 1) | date_add(s, 1) | date_sub(dt, i) | date_sub(dt, h) | dateadd(dt, 1) | dateadd(day, 1, dt) | dateadd(hour, 1, ts) | dateadd(day, 1, tn) | dateadd(month, i, dt) | date_add(minute, 5, ts)
timestampadd(hour, 1, ts) | datediff(dt, dt) | datediff(ts, dt) | datediff(day, ts, ts) | datediff(hour, ts, tn) | date_diff(dt, s) | timestampdiff(month, ts, ts) | date_diff(minute, ts, ts)
time_bucket(interval 1 hour, ts) | last_day(dt) | last_day(ts) | next_day(dt, 'MO') | months_between(ts, dt) | months_between(ts, dt, true) | make_date(i, i, i) | make_timestamp(i, 1, 1, 0, 0, 0) | make_timestamp(i, 1, 1, 0, 0, 0, 'UTC') | make_timestamp_ltz(i, 1, 1, 0, 0, 0)
make_timestamp_ntz(i, 1, 1, 0, 0, 0) | try_make_timestamp(i, 1, 1, 0, 0, 0) | try_make_timestamp_ltz(i, 1, 1, 0, 0, 0) | try_make_timestamp_ntz(i, 1, 1, 0, 0, 0) | try_make_timestamp(i, 1, 1, 0, 0, 0, 'UTC')
make_interval(1, 2) | try_make_interval(1, 2) | make_dt_interval(1) | make_ym_interval(1, 2) | make_dt_interval(i, i, i, d) | make_ym_interval() | make_interval()
from_utc_timestamp(ts, 'UTC') | to_utc_timestamp(ts, 'UTC') | from_utc_timestamp(s, s) | convert_timezone('UTC', tn) | convert_timezone('UTC', 'Asia/Tokyo', tn) | convert_timezone('UTC', ts)
"""

COLLECTIONS = """
array(1, 2) | array(i, l) | array() | array(s, 'x') | array(i_n) | array(n, 1) | array(struct(i as p)) | array(null) | array(dt, ts)
array_append(a, 1) | array_prepend(a, i) | array_insert(a, 1, 5) | array_compact(a) | array_distinct(a) | array_contains(a, 1) | array_contains(sa, s) | array_contains(array(1), 1) | array_append(array(1), 2)
array_except(a, a) | array_intersect(a, array(1)) | array_union(a, a) | array_union(a, array(l)) | arrays_overlap(a, a) | arrays_overlap(array(1), array(2)) | array_join(sa, ',') | array_join(sa, ',', 'x') | array_append(a, l)
array_max(a) | array_min(sa) | array_position(a, 1) | array_remove(a, 1) | array_repeat(s, 3) | array_repeat(i_n, i) | array_size(a) | size(a) | size(m) | cardinality(a) | array_sort(a) | sort_array(a) | sort_array(a, false)
shuffle(a) | shuffle(a, 1) | slice(a, 1, 2) | flatten(array(a)) | flatten(aa) | arrays_zip(a, sa) | arrays_zip(a, a) | sequence(1, 5) | sequence(i, l) | sequence(dt, dt) | sequence(ts, ts, iv) | sequence(1, 9, 2) | sequence(dt, dt, interval 1 month)
element_at(a, 1) | element_at(m, 'a') | element_at(array(1), 1) | element_at(map('a', 1), 'a') | try_element_at(a, 1) | try_element_at(m, 'x') | get(a, 0) | a[0] | a[i] | m['x'] | m[s] | array(1, 2)[0] | map('a', 1)['a'] | sa[0] | sts[0].p | sts.p | st.p | st.q | st['p'] | aa[0][1]
map(s, i) | map() | map('a', 1, 'b', 2L) | map('a', null) | map_concat(m, m) | map_concat() | map_concat(m, map('a', 1L)) | map_contains_key(m, 'a') | map_entries(m) | map_keys(m) | map_values(m) | map_from_arrays(sa, a) | map_from_entries(sts) | map_from_entries(array(struct(i, s))) | str_to_map(s) | str_to_map(s, ',') | str_to_map(s, ',', ':')
struct(i, s) | struct(i as p, s) | struct(i + 1, upper(s)) | named_struct('a', i, 'b', s) | struct(st.p, m['a']) | struct(st.p as z) | struct(*) | named_struct('a', named_struct('b', i)) | struct(1) | struct(t.i) | struct(cast(i as string)) | struct(a[0]) | struct(st) | struct(i_n)
(i, s) | (i, s) = (1, 'a') | struct(i, s) = struct(2, 'b') | array(i) = array(1) | array(1, 2) < array(3)
transform(a, x -> x + 1) | transform(a, (x, k) -> x + k) | transform(sa, x -> upper(x)) | transform(a, x -> struct(x as p, x * 2.0 as q)) | filter(a, x -> x > 1) | filter(a, (x, k) -> k > 0) | exists(a, x -> x > 1) | forall(a, x -> x > 1) | transform(a, x -> i) | exists(array(1), x -> x > 0) | transform(array(1), x -> x)
aggregate(a, 0, (t, x) -> t + x) | aggregate(a, 0L, (t, x) -> t + x, t -> t / 2) | reduce(a, 0, (t, x) -> t + x) | reduce(sa, '', (t, x) -> concat(t, x)) | aggregate(a, 0, (t, x) -> t + x, t -> cast(t as string)) | aggregate(a, named_struct('total', 0L), (t, x) -> named_struct('total', t.total + x))
zip_with(a, sa, (x, y) -> concat(x, y)) | zip_with(a, a, (x, y) -> (x, y)) | array_sort(a, (l, r) -> l - r) | array_sort(a, (l, r) -> case when l < r then -1 when l > r then 1 else 0 end) | map_filter(m, (k, v) -> v > 1) | map_zip_with(m, m, (k, v1, v2) -> v1 + v2) | transform_keys(m, (k, v) -> upper(k)) | transform_values(m, (k, v) -> v + 1.5) | transform_keys(m, (k, v) -> v)
from_json(s, 'a int, b string') | from_json(s, 'array<int>') | from_json(s, 'struct<a: int, `b c`: array<string>>') | from_json(s, 'map<string, int>', map('mode', 'FAILFAST')) | from_csv(s, 'a int, b double') | from_xml(s, 'a int') | from_json(s, 'a decimal(10,2), b timestamp, c struct<d:date>') | from_json(s, schema_of_json('{"a": 1}'))
to_json(st) | to_json(m) | to_json(st, map('a', 'b')) | to_csv(st) | to_xml(st) | get_json_object(s, '$.a') | json_array_length(s) | json_object_keys(s) | schema_of_json('{"a": 1}') | schema_of_csv('1,a') | schema_of_xml('<p><a>1</a></p>') | to_json(a) | to_json(v)
parse_json(s) | try_parse_json(s) | variant_get(v, '$.a') | variant_get(v, '$.a', 'int') | try_variant_get(v, '$.a', 'array<int>') | is_variant_null(v) | to_variant_object(st) | schema_of_variant(v) | v:a | v:a.b | v:a[0].b::int | v:a::string | v:`a b` | is_valid_variant(v) | cast(v as int)
xpath(s, 'a') | xpath_boolean(s, 'a') | xpath_double(s, 'a') | xpath_number(s, 'a') | xpath_float(s, 'a') | xpath_int(s, 'a') | xpath_long(s, 'a') | xpath_short(s, 'a') | xpath_string(s, 'a')
bitmap_bit_position(l) | bitmap_bucket_number(l) | bitmap_count(x) | hll_sketch_estimate(x) | hll_union(x, x) | hll_union(x, x, true)
struct(ts, s).ts | struct(*).i | named_struct('p', i).p | array(st).p | array(st)[0].q | map('a', st)['a'].p | m.a | sts[i].q | element_at(sts, 1).p | (st).p | t.st.p | models.t.i | t.i | st.P | T.I
"""

AGGREGATES = """
count(*) | count(1) | count(i) | count(distinct i) | count(distinct i, s) | count(i, s) | count_if(b) | approx_count_distinct(i) | approx_count_distinct(i, 0.1)
sum(i) | sum(l) | sum(d) | sum(f) | sum(n) | sum(distinct i) | sum(n * n) | sum(iv) | sum(cast(n as decimal(30,2))) | try_sum(i) | try_sum(n) | sum(s) | sum(h) | sum(ym) | sum(i + 0.5) | sum(1)
avg(i) | avg(n) | avg(d) | mean(f) | avg(iv) | try_avg(i) | try_avg(n) | avg(cast(n as decimal(38,10))) | avg(s) | avg(distinct n)
min(i) | max(s) | max(ts) | min(st) | first(i) | first(i, true) | last(s) | last(i, true) | first_value(i) | last_value(s) | any_value(i) | any_value(i, true) | mode(s) | mode(i, true) | first(i) ignore nulls | last_value(s) ignore nulls | min(a) | any_value(i) respect nulls
min_by(s, i) | max_by(s, ts) | max_by(s, ts, 2) | max_by(struct(i, s), ts) | min_by(i, i, 3) | median(i) | median(iv) | median(n) | percentile(i, 0.5) | percentile(i, array(0.1, 0.9)) | percentile(d, 0.5, 2) | percentile_approx(i, 0.5) | percentile_approx(d, array(0.5), 100) | approx_percentile(n, 0.5) | percentile(iv, 0.5) | median(s) | median(d)
percentile_cont(0.5) within group (order by i) | percentile_disc(0.5) within group (order by i) | percentile_cont(0.5) within group (order by d desc) | percentile_disc(0.25) within group (order by n) | percentile_cont(0.5) within group (order by iv) | percentile_disc(0.5) within group (order by iv)
std(i) | stddev(d) | stddev_samp(n) | stddev_pop(f) | variance(i) | var_samp(i) | var_pop(i) | skewness(d) | kurtosis(d) | corr(d, i) | covar_pop(d, d) | covar_samp(d, d)
regr_avgx(d, i) | regr_avgy(d, i) | regr_intercept(d, i) | regr_r2(d, i) | regr_slope(d, i) | regr_sxx(d, i) | regr_sxy(d, i) | regr_syy(d, i) | regr_count(d, i)
bool_and(b) | bool_or(b) | every(b) | some(b) | any(b) | bit_and(i) | bit_or(l) | bit_xor(h) | collect_list(i) | collect_set(s) | array_agg(st) | collect_list(distinct s) | listagg(s) | listagg(s, ',') | string_agg(s, ', ') | listagg(s, ',') within group (order by s) | listagg(distinct s) | listagg(x)
histogram_numeric(d, 5) | count_min_sketch(s, 0.1D, 0.9D, 1) | approx_top_k(s) | approx_top_k(s, 3) | hll_sketch_agg(s) | hll_sketch_agg(s, 12) | hll_union_agg(x) | bitmap_construct_agg(l) | bitmap_or_agg(x) | bitmap_and_agg(x) | vector_avg(array(f)) | vector_sum(array(f))
count(*) filter (where i > 1) | sum(n) filter (where b) | max(s) filter (where s is not null) | collect_list(i) filter (where i > 0) | avg(i) filter (where i > 0)
sum(i) / count(*) | sum(i) + 1 | coalesce(sum(i), 0) | round(avg(n), 2) | max(i) - min(i) | concat(max(s), 'x') | max(ts) - min(ts) | sum(if(b, 1, 0)) | sum(case when b then n else 0 end) | count(if(b, 1, null)) | max(struct(ts, s)).s | collect_list(struct(i, s))[0].i | sum(i) > 1 and count(*) > 2 | cast(sum(d) as decimal(12,2)) | size(collect_set(s)) | sort_array(collect_list(s)) | map_from_entries(collect_list(struct(s, i))) | transform(collect_list(i), x -> x + 1) | count(*) * 100.0 / 3
"""

WINDOWS = """
row_number() over (order by i) | rank() over (partition by s order by i) | dense_rank() over (order by i) | ntile(4) over (order by i) | cume_dist() over (order by i) | percent_rank() over (order by i) | ntile() over (order by i)
lag(i) over (order by i) | lag(i, 1, 0) over (order by i) | lead(s, 2) over (order by i) | lead(i, 1, i) over (order by i) | nth_value(s, 2) over (order by i) | lag(i) ignore nulls over (order by i) | lag(s, 1, 'x') over (order by i) | nth_value(s, 2) ignore nulls over (order by i)
sum(i) over (partition by s) | count(*) over () | avg(n) over (order by i rows between 1 preceding and current row) | max(s) over (partition by s order by ts range between interval 1 hour preceding and current row) | first_value(s) over (order by i) | sum(sum(i)) over () | count(*) filter (where b) over () | collect_list(s) over (partition by i) | i - lag(i) over (order by ts)
"""

GROUPED = """
grouping(i) | grouping_id() | grouping_id(i, l)
"""

GENERATORS = """
explode(a) | explode(m) | explode(sts) | explode_outer(a) | posexplode(a) | posexplode(m) | posexplode_outer(sa) | inline(sts) | inline_outer(sts) | stack(2, 1, 'a', 2, 'b') | json_tuple(s, 'a', 'b')
explode(array(1, 2)) | explode(map('a', 1)) | inline(array(struct(1 as p, 'x' as q))) | explode(split(s, ',')) | explode(sequence(dt, dt)) | explode(aa) | posexplode(array(i)) | posexplode_outer(array(i)) | explode_outer(map('a', 1)) | explode(from_json(s, 'array<struct<a:int>>'))
"""
