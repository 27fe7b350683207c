"""Expressions beside plain calls: literals, operators, CASE, casts, names that Spark gives."""

LITERALS = """
1 | 2147483647 | 2147483648 | 9223372036854775807 | 9223372036854775808 | 1L | 1S | 1Y | 1.0 | 0.5 | .5 | 1. | 100.25 | 1e3 | 1.5e-3 | 2.5D | 2.5F | 2.5BD | 1e3BD | 007 | 0.001
-1 | -2.5 | - 3L | +1 | 'x' | "x" | 'it''s' | 'a' 'b' | r'\\d' | '' | X'1F' | true | false | null | TRUE | NULL
date'2026-01-01' | timestamp'2026-01-01 00:00:00' | timestamp_ntz'2026-01-01' | timestamp_ltz'2026-01-01' | interval 1 day | interval '1' hour | interval '1-2' year to month | interval 3 days 4 hours | interval -1 month | interval '10' minutes | interval 5 seconds
date'2026-01-01' + interval 1 day | date'2026-01-01' + interval 1 hour | date'2026-01-01' - interval 1 month | dt + interval 1 week | dt + interval '1' year | ts + interval 1 day | ts - interval 10 minutes | dt + 1 | 1 + dt | dt - 1 | dt - dt | ts - ts | dt - (dt - dt) | dt + (ts - ts)
interval 1 day * 2 | 2 * interval 1 hour | interval 1 day / 2 | interval 1 day + interval 1 hour | -interval 1 day | dt + interval 1 day * 2 | tn + interval 1 second | dt + make_dt_interval(1)
"""

OPERATORS = """
i + 1 | i - l | i * 2.5 | n + 1 | n * 2 | n / 3 | n % 7 | n + n | n * n | n / n | i / 2 | i % 2 | i div 2 | l div i | d + 1 | f * 2 | f + i | d / n | s + 1 | y + h | y * y | h % y | n - 100L | n * 1.5 | 1.5 * n * n | i + 0.1 | l * 0.01 | - n | -i | + i | ~i | i & 1 | i|1L | y ^ h
cast(n as decimal(38,10)) * cast(n as decimal(38,10)) | cast(n as decimal(38,18)) + n | cast(n as decimal(20,0)) / cast(n as decimal(20,19)) | (n + 1) / (n - 1) | n * n * n * n | round(n * 0.15, 2) + n
s || 'x' | s || i | s || s_n | a || a | a || array(1L) | x || x | i || '' | s || null
i = 1 | i == l | i <> 2 | i != 2 | i < d | i >= n | s = 'x' | s > s_n | dt = '2026-01-01' | dt < ts | ts >= date'2026-01-01' | i <=> null | i is null | s is not null | b is true | b_n is not false | b is unknown | i is distinct from 1 | i_n is not distinct from l | st = st | a = a | n = 1 | n > i | n_n >= 2.5 | x = x | b = true | iv > interval 1 hour
b and true | b or b_n | not b | ! b | b and i > 1 and s = 'x' | (b or b) and not b_n | b and null | i > 1 or i_n < 2
i between 1 and 5 | n between 0 and 1 | s not between 'a' and 'b' | ts between ts - interval 1 day and ts | dt between '2026-01-01' and '2026-02-01' | i_n between 1 and 2
i in (1, 2) | i not in (1, 2) | s in ('a', 'b') | i in (1, null) | n in (1, 2.5) | i in (1, 2.5, 3L) | s_n in ('a') | dt in ('2026-01-01') | (i, s) in ((1, 'a')) | i in (l, h)
s like 'a%' | s not like 'a%' | s like 'a!%' escape '!' | s ilike 'A%' | s rlike 'a+' | s not rlike 'a' | s regexp 'a' | s like any ('a%', 'b%') | s like all ('a%', '%b') | s not like any ('a', 'b') | s ilike any ('a', 'b') | s_n like 'x' | s like s
case when b then 1 end | case when b then 1 else 2 end | case when b then i else l end | case i when 1 then 'a' when 2 then 'b' else 'c' end | case when b then n else 0 end | case when b then null else i end | case when b then dt else ts end | case when b then 1 when b_n then 2.5 else i end | case s when 'a' then 1 end | case when b then 'x' else s_n end | case when b then array(1) else array(2L) end | case when b then struct(1 as p) else struct(2 as p) end | case when b then i else s end | case when i > 1 then case when b then 1 else 2 end else 3 end
(i) | ((i + 1)) | (i + 1) * 2 | i + (i * 2) | t.i + t.l | T.I | `i` | t.`i` | I + L | models.t.i + 1 | st.p + 1 | st.q || 'x' | (select 1) | (select max(i) from models.t) | (select count(*) from models.orders) > 0 | exists (select 1 from models.orders) | i in (select id from models.orders) | not exists (select * from models.orders o where o.id = t.i) | (select max(amount) from models.orders o where o.id = t.i) | i not in (select id from models.orders where id is not null)
a[0] + 1 | m['a'] + 1 | sts[0].q | st.p is null | v:a.b::int + 1 | array(1, 2, 3)[1] | map('a', 1, 'b', 2)['b'] | a[i - 1] | sa[size(sa) - 1] | m[concat('a', s)] | v:items[0].name::string | v:`a b`.c | v:a is null | v:a[0]
i << 1 | shiftright(l, 2) | shiftrightunsigned(i, 1) | y << 2
"""

CASTS = """
cast(i as string) | cast(s as int) | cast(s as double) | cast(d as int) | cast(i as decimal(12,2)) | cast(n as decimal(8,0)) | cast(n as decimal(9,1)) | cast(n as decimal(10,1)) | cast(n as decimal(11,3)) | cast(n as int) | cast(ts as date) | cast(dt as timestamp) | cast(s as timestamp) | cast(s as date) | cast(ts as bigint) | cast(l as timestamp) | cast(b as int) | cast(i as boolean) | cast(null as int) | cast('1' as int) | cast(1 as double) | cast(s as binary) | cast(x as string)
i::string | s::int | '2026-01-01'::date | s::timestamp | i::decimal(5,1) | (i + 1)::bigint | a::array<string> | 1::string | '1.5'::double | ts::date::string
cast(a as array<string>) | cast(m as map<string,double>) | cast(st as struct<p:bigint,q:string>) | cast(sts as array<struct<a:string,b:string>>) | cast(st as string) | cast(ts as timestamp_ntz) | cast(tn as timestamp) | cast(s as varchar(10)) | cast(s as char(3)) | cast(i as float) | cast(i as real) | cast(i as integer) | cast(i as long) | cast(i as short) | cast(i as byte) | cast(i as dec(5)) | cast(i as numeric(5,1)) | cast(s as interval day to second) | cast(iv as string) | cast(i as tinyint) | cast(i as smallint) | cast(v as array<int>)
try_cast(s as int) | try_cast(s as timestamp) | try_cast(i as string) | try_cast(d as decimal(5,2))
"""

NAMED = """
i | t.i | T.I | `i` | st.p | t.st.q | cast(i as string) | cast(t.i as int) | s::int | (i) | i as `a b` | i as I2 | m.a | sts.p | i x | i as Upper | current_date | (cast(i as string)) | cast(st.p as string) | sts[0].p | st.q as q2 | `t`.`i` | t.* except (i) | * | b, i
"""
"""Without a name of their own: the names must be Spark's, or none."""
