"""Whole queries that Spark accepts, and such that it refuses."""

from corpus.tables import WORDS

VALID = """
select * from models.orders
select o.* from models.orders o
select o.*, c.country from models.orders o join models.customers c on o.id = c.id
select * from models.orders join models.customers using (id)
select * from models.orders left join models.customers using (id, customer)
select * from models.orders right join models.customers using (id)
select * from models.orders full outer join models.customers using (id)
select * from models.orders natural join models.customers
select * from models.orders natural left join models.customers
select id, o.id as a, c.id as b from models.orders o join models.customers c using (id)
select id, o.id as a, c.id as b from models.orders o full join models.customers c using (id)
select * from models.orders o left semi join models.customers c on o.id = c.id
select * from models.orders o left anti join models.customers c using (id)
select * from models.orders o semi join models.customers c on o.customer = c.customer where amount > 1
select o.id, c.country, s.name from models.orders o left join models.customers c on o.customer = c.customer left join seeds.countries s using (country)
select * from models.orders o join models.customers c using (id) join seeds.countries s on s.country = c.country
select o.id from models.orders o cross join models.customers c
select o.id, c.age from models.orders o, models.customers c where o.id = c.id
select t.i, o.id from models.t left join models.orders o on t.i = o.id
select t.i, t.s, u.i as ui, u.s as us from models.t t left join models.t u on t.i = u.i
select t.i, u.i as ui from models.t t right join models.t u on t.i = u.i
select t.i, u.i as ui from models.t t full outer join models.t u on t.i = u.i
select i, s from models.t t join models.t u using (i, s)
select i from models.t t left join models.t u using (i)
select i from models.t t right join models.t u using (i)
select i from models.t t full join models.t u using (i)
select i, l from (select i from models.t) a full join (select i, l from models.t) b using (i)
select k.i, a.l from (select i from models.t) k left join (select i as j, l from models.t) a on k.i = a.j left join (select i from models.t) z on z.i = k.i
with orders as (select * from models.orders) select * from orders
with orders as (select * from models.orders), big as (select * from orders where amount > 10) select big.id, b.amount from big join big b on b.id = big.id
with a as (select 1 as x), b as (select x + 1 as y from a) select x, y from a, b
with a (p, q) as (select id, customer from models.orders) select p, q from a
with a as (with b as (select id from models.orders) select * from b) select * from a
with t as (select id from models.orders) select * from (with t as (select age from models.customers) select * from t) u
select * from (select id as k, amount as v from models.orders) t
select t.k from (select id as k from models.orders) as t where t.k > 1
select a, b from (values (1, 'x'), (2, null)) as t(a, b)
select * from values (1, 2.5), (2, 3) as t(a, b)
select * from values (1, 'a'), (2, 'b')
values (1, 'a'), (2L, null)
select id from models.orders union all select id from models.customers
select id, customer from models.orders union select id, country from models.customers
select i, n from models.t union all select l, 1 from models.t
select i from models.t union all select i_n from models.t
select i as a from models.t union all select null
select n from models.t union all select d from models.t
select id from models.orders intersect select id from models.customers
select i from models.t intersect select i_n from models.t
select id from models.orders except select id from models.customers
select i_n from models.t minus select i from models.t
select i from models.t except all select i_n from models.t
(select id from models.orders) union all (select id from models.customers) union all select 1
select * from (select id from models.orders union all select age from models.customers) u where u.id > 1
select id from models.orders union all select id from models.customers order by id limit 3
select distinct customer, amount from models.orders
select customer, count(*) as n, sum(amount) as total from models.orders group by customer
select customer, count(*) as n from models.orders group by customer having count(*) > 1
select customer, count(*) as n from models.orders group by customer having n > 1 and sum(amount) > 10
select customer, max(amount) as amount from models.orders group by customer having amount > 1
select upper(customer) as c, count(*) as n from models.orders group by c
select upper(customer) as c, count(*) as n from models.orders group by upper(customer)
select upper(o.customer) as c, count(*) as n from models.orders o group by UPPER(customer)
select customer, year(ts) as y, avg(amount) as a from models.orders group by 1, 2
select customer, year(ts) as y, avg(amount) as a from models.orders group by all
select customer c, sum(amount) s from models.orders group by customer order by s desc, customer
select count(*) as n, max(ts) as t from models.orders
select sum(amount) + 1 as x from models.orders having sum(amount) > 1
select id % 10 as bucket, id % 10 + 1 as next, count(*) as n from models.orders group by id % 10
select item.sku, count(*) as n from models.orders group by item.sku
select item, item.sku as s, count(*) as n from models.orders group by item
select o.customer, count(*) as n from models.orders o group by customer
select customer, count(*) as n from models.orders o group by o.customer
select case when amount > 10 then 'big' else 'small' end as size, count(*) as n from models.orders group by case when amount > 10 then 'big' else 'small' end
select 'x' as a, 1 as b, customer, count(*) as n from models.orders group by customer
select customer, country, count(*) as n from models.orders join models.customers using (customer) group by customer, country
select coalesce(customer, 'x') as c, concat(coalesce(customer, 'x'), '!') as d, sum(amount) as s from models.orders group by coalesce(customer, 'x')
select i, l, count(*) as n from models.t group by cube(i, l)
select i, l, count(*) as n from models.t group by rollup(i, l)
select i, l, count(*) as n from models.t group by grouping sets ((i, l), (i), ())
select i, count(*) as n from models.t group by i with rollup
select i, grouping_id() as g from models.t group by i with cube
select amount * 2 as double_amount, double_amount + 1 as more from models.orders
select id as a, a + 1 as b, b + 1 as c from models.orders
select customer, sum(amount) as total, total / count(*) as mean from models.orders group by customer
select window(ts, '5 minutes') as w, count(*) as n from models.orders group by window(ts, '5 minutes')
select window, count(*) as n from models.orders group by window(ts, '5 minutes')
select window.start, window.end, customer, sum(amount) as s from models.orders group by window(ts, '10 minutes', '5 minutes'), customer
select window(ts, '1 hour').start as s, count(*) as n from models.orders group by window(ts, '1 hour')
select session_window(ts, '5 minutes') as w, customer, count(*) as n from models.orders group by session_window(ts, '5 minutes'), customer
select session_window.start, count(*) as n from models.orders group by session_window(ts, '5 minutes'), customer
select window_time(window) as t, n from (select window, count(*) as n from models.orders group by window(ts, '5 minutes'))
select window.end as e, n from (select window, count(*) as n from models.orders group by window(ts, '5 minutes'))
select window(tn, '5 minutes') as w, count(*) as n from models.t group by 1
select w.start, n from (select window(ts, '5 minutes') as w, count(*) as n from models.orders group by 1) x
select i, tag from models.t lateral view explode(sa) e as tag
select i, e.tag from models.t lateral view explode(sa) e as tag
select i, k, v2 from models.t lateral view explode(m) e as k, v2
select i, pos, tag from models.t lateral view outer posexplode(sa) e as pos, tag
select i, p, q from models.t lateral view inline(sts) e as p, q
select i, c2, d2 from models.t lateral view explode(aa) x as c2 lateral view explode(c2) y as d2
select i, c0 from models.t lateral view json_tuple(s, 'a') j as c0
select i, explode(a) as e from models.t
select i, posexplode(a) as (p, e) from models.t
select i, explode(m) from models.t
select i, inline(sts) from models.t
select i, inline(sts) as (x1, x2) from models.t
select i, stack(2, 'a', 1, 'b', 2) as (k, val) from models.t
select e.col from models.t, lateral explode(a) e
select t.i, e.c from models.t, lateral explode(t.a) as e(c)
select t.i, x.id from models.t, lateral (select id from models.orders o where o.id = t.i) x
select t.i, x.n from models.t left join lateral (select count(*) as n from models.orders o where o.id = t.i) x
select * from explode(array(1, 2)) as t(v)
select id from range(10)
select id + 1 as x from range(1, 10, 2)
select * except (amount) from models.orders
select o.* except (amount, ts), 1 as one from models.orders o
select id, row_number() over (partition by customer order by ts desc) as r from models.orders
select * from (select *, row_number() over (partition by customer order by ts desc) as r from models.orders) where r = 1
select id, sum(amount) over w as s from models.orders window w as (partition by customer order by ts)
select customer, sum(amount) as s, rank() over (order by sum(amount) desc) as r from models.orders group by customer
select id, amount - lag(amount) over (partition by customer order by ts) as d from models.orders
select id, lag(amount, 1, 0) over (order by ts) as d, count(*) over () as n from models.orders
select id from models.orders qualify row_number() over (partition by customer order by ts) = 1
select id from models.orders where id in (select id from models.customers)
select id from models.orders o where exists (select 1 from models.customers c where c.id = o.id and c.age > o.amount)
select id from models.orders o where amount > (select avg(amount) from models.orders i where i.customer = o.customer)
select id, (select max(age) from models.customers c where c.customer = o.customer) as age from models.orders o
select id from models.orders where customer not in (select customer from models.customers where country = 'x')
select ID, Customer, o.AMOUNT from Models.Orders o
select `id`, `o`.`customer` as `the name` from `models`.`orders` as `o`
select `the name` from (select id as `the name` from models.orders) t
select Orders.id from models.orders
select models.orders.id, models.orders.item.sku from models.orders
select orders.item.count from models.orders
select item.sku as sku, item.`count` as c from models.orders
select * from models.orders where amount > 1 and (customer = 'a' or customer is null) and ts >= '2026-01-01'
select id from models.orders order by amount desc nulls last, ts limit 10 offset 2
select id as x from models.orders order by x
select id from models.orders sort by id
select id from models.orders distribute by customer
select id from models.orders cluster by id
select /*+ broadcast(c) */ o.id from models.orders o join models.customers c on o.id = c.id
select /*+ repartition(4, id) */ id from models.orders
select id -- the key
  , customer /* who */ from models.orders
select * from models.orders tablesample (10 percent)
select transform(filter(sa, x -> x is not null), x -> concat(x, s)) as q from models.t
select aggregate(a, cast(0 as bigint), (acc, x) -> acc + x) as total from models.t
select transform(a, x -> transform(a, y -> x + y)) as q from models.t
select filter(sts, e -> e.p > i) as q, exists(sts, e -> e.q = s) as r from models.t
select map_from_entries(transform(sts, e -> struct(e.q, e.p))) as q from models.t
select struct(i, s as name, upper(s)) as st2, named_struct('a', i) as ns from models.t
select to_json(struct(*)) as j from models.orders
select to_json(named_struct('id', id, 'item', item)) as j from models.orders
select from_json(customer, 'a int, b array<struct<c:string>>').b[0].c as c from models.orders
select x.a, x.b from (select from_json(s, 'a int, b string') as x from models.t)
select y.* from (select from_json(s, 'a int, b string') as y from models.t)
select st.* from models.t
select st.*, i from models.t where st.p > 1
select inline(arrays_zip(a, sa)) from models.t
select if(count(*) > 1, 'many', 'one') as q, collect_list(struct(id, amount)) as l from models.orders group by customer
select max_by(struct(id, amount), ts) as last, max_by(struct(id, amount), ts).id as i2 from models.orders group by customer
select first(amount) as f, any_value(customer) as c, count_if(amount > 1) as n, sum(amount) filter (where id > 1) as s from models.orders
select date_trunc('hour', ts) as h, count(distinct customer) as c from models.orders group by date_trunc('hour', ts)
select substring(customer, 1, 3) as p, count(*) as n from models.orders group by substring(customer, 1, 3)
select trim(customer) as c, count(*) as n from models.orders group by trim(customer)
select extract(hour from ts) as h, count(*) as n from models.orders group by extract(hour from ts)
select cast(ts as date) as d, count(*) as n from models.orders group by cast(ts as date)
select ts::date as d, count(*) as n from models.orders group by ts::date
select customer, n from (select customer, count(*) as n from models.orders group by customer) where n > 1
select n + 1 as m from (select count(*) as n from models.orders)
select a.n from (select id as n from models.orders) a join (select id as n from models.customers) b on a.n = b.n
select (select id) as x from models.orders
select 1 as a
select 1 as a where true
select current_timestamp() as now, current_date as today, pi() as p
table models.orders
from models.orders select id
select * from (models.orders)
select * from (models.orders o join models.customers c using (id))
select * from models.orders as o (a, b, c, d, e)
select a from models.orders as o (a, b, c, d, e) where o.b is null
select id from (select id, id as id2 from models.orders) where id2 > 1
select count(*) as n from (select 1 from models.orders)
select max(id) as m, 1 as one, 'x' || 'y' as xy from models.orders
select customer as c from models.orders group by customer, id
select hash(*) as h from models.orders
select array(i, l) as arr, (i, s) as pair from models.t
select count(1) as a, count(distinct customer, id) as b, count(all id) as c, sum(distinct amount) as d from models.orders
select percentile_approx(amount, 0.5) as p, percentile_cont(0.5) within group (order by amount) as q from models.orders
select try_divide(amount, 0) as t, nullif(amount, 0) as n, amount / nullif(id, 0) as r from models.orders
select coalesce(c.country, 'none') as country from models.orders o left join models.customers c on o.id = c.id
select * from models.orders o left join models.customers c on o.id = c.id and c.age between 1 and 9
select pos, key, value from models.t m, lateral variant_explode(m.v) e
select e.key from models.t m, lateral variant_explode_outer(v) e
select * from variant_explode(parse_json('[1]'))
select o.id from models.orders o inner join models.customers c on (o.id = c.id) where (o.amount > 1)
select count(*) from models.orders
select a.id, b.id as b_id from models.orders a join models.orders b on a.id = b.id + 1
select id, case customer when 'a' then 1 when 'b' then 2 end as k from models.orders
select date_add(ts, 1) as d, date_diff(ts, current_date()) as dd, dateadd(MONTH, 1, ts) as m from models.orders
select customer, first_value(amount) over (partition by customer order by ts rows between unbounded preceding and unbounded following) as f from models.orders
select max(amount) over (partition by customer) - amount as d from models.orders
select customer, collect_list(amount) filter (where amount > 1) as l from models.orders group by customer
select distinct on_time from (select amount > 1 as on_time from models.orders)
select * from models.orders where (id, customer) in (select id, customer from models.customers)
select array_contains(array('a', 'b'), customer) as c from models.orders
select explode(split(customer, ',')) as part from models.orders
select id, part from models.orders lateral view explode(split(customer, ',')) as part
select id, part from models.orders lateral view explode(split(customer, ',')) p as part where part <> ''
select concat_ws(',', collect_set(customer)) as s from models.orders
select unix_timestamp(ts) div 60 as m from models.orders
select id from models.orders where ts > current_timestamp() - interval 1 hour
select id from models.orders where ts > now() - interval '1' day and date(ts) = current_date
select cast(amount as decimal(10, 2)) as a, amount::double as b from models.orders
select sum(case when amount > 10 then amount end) as s from models.orders
select customer, sum(amount) as s from models.orders group by customer having sum(amount) > (select avg(amount) from models.orders)
select id, (select count(1) from models.customers c where c.customer = o.customer) as n from models.orders o where o.id > 0
select named_struct('a', 1, 'b', named_struct('c', 2)).b.c as x
select map('a', 1) as m, map_keys(map('a', 1)) as k
select from_unixtime(id / 1000) as t, timestamp_millis(id) as u from models.orders
select regexp_extract(customer, '(\\\\d+)', 1) as r from models.orders
select 'a\\'b' as q
select "double quoted" as q
select `customer` as `Customer Name` from models.orders
select item.`sku` as x, item['count'] as c from models.orders
select t.item.sku as s from models.orders t group by t.item.sku
select item.sku as s, max(item.count) as m from models.orders group by item.sku having max(item.count) > 1
select year(ts) as y, month(ts) as m, count(*) as n from models.orders group by year(ts), month(ts) order by y, m
select year(ts) y, count(*) n from models.orders group by y having y > 2020
select to_date(ts) as d, percentile(amount, array(0.5, 0.9)) as p from models.orders group by to_date(ts)
select customer, approx_count_distinct(id) as n, std(amount) as sd from models.orders group by customer
select o.*, c.* except (id, customer) from models.orders o join models.customers c on o.id = c.id
with a as (select * from models.orders), b as (select * from models.customers) select a.*, b.age from a left join b on a.id = b.id and b.age > 1
with a as (select id from models.orders), a2 as (select id from a union all select id from models.customers) select count(distinct id) as n from a2
with x as (select customer, count(*) c from models.orders group by customer) select avg(c) as m from x
select * from (select id, customer, rank() over (partition by customer order by ts) rk from models.orders) r where r.rk <= 3
select id, amount, sum(amount) over (order by ts rows between 2 preceding and 1 following) as s from models.orders
select nvl(customer, 'x') as c, nvl2(customer, 1, 0) as d, ifnull(amount, 0) as e from models.orders
select if(amount is null or amount = 0, null, id / amount) as r from models.orders
select window.start as ws, window.end as we, count(*) as n from models.orders group by window(ts, '1 hour'), window.start, window.end
select window(ts, '5 minutes').start as s, customer, count(*) as n from models.orders group by 1, 2
select date_format(window.start, 'HH:mm') as s, count(*) as n from models.orders group by window(ts, '5 minutes')
select w.end as e, sum(n) as n from (select window(ts, '5 minutes') w, count(*) n from models.orders group by window(ts, '5 minutes')) group by w.end
select customer, window.end, max_by(amount, ts) as last_amount from models.orders group by window(ts, '5 minutes'), customer
select cast(window.start as date) as d, count(*) as n from models.orders group by window(ts, '1 day')
select customer, count(*) as count, sum(amount) as sum, min(ts) as min, max(ts) as max, avg(amount) as avg from models.orders group by customer
select id, count, sum from (select id, 1 as count, 2 as sum from models.orders)
select t.date, t.timestamp from (select date(ts) as date, ts as timestamp from models.orders) t
select key, value from (select id as key, amount as value from models.orders) where key > 1 and value > 2
select type, status from (select 1 as type, 2 as status)
select left(customer, 2) as l, right(customer, 2) as r, position('a' in customer) as p from models.orders
select customer rlike '^a' as m, customer not like '%b' as n from models.orders
select -amount as neg, +amount as pos, not (amount > 1) as nn, ~id as inv from models.orders
select id from models.orders where not exists (select * from models.customers c where c.id = orders.id)
select (amount + 1) * 2 as a, ((id)) as b from models.orders
select array_sort(collect_list(struct(ts, id)), (l, r) -> case when l.ts < r.ts then -1 else 1 end) as s from models.orders
select transform(sequence(0, 3), i -> i * 2) as s from models.t
select aggregate(collect_list(amount), cast(0 as decimal(12,2)), (acc, x) -> cast(acc + x as decimal(12,2))) as s from models.orders
select size(filter(collect_list(amount), x -> x > 1)) as n from models.orders group by customer
select max(struct(ts, id)).id as last_id from models.orders group by customer
select map_from_arrays(collect_list(customer), collect_list(amount)) as m from models.orders
select element_at(map_from_entries(collect_list(struct(customer, amount))), 'a') as e from models.orders
select customer, id from models.orders group by all
select count(*) as n from models.orders where item.count > 1 and item.sku is not null
select coalesce(o.customer, c.customer) as customer from models.orders o full outer join models.customers c on o.customer = c.customer
select id, 'a' as kind from models.orders union all select id, 'b' from models.customers union all select null, 'c'
select * from (select 1 as id union all select 2) x join models.orders o using (id)
select s.id from (select o.id from models.orders o) s
select 1 + 1 as two, 'x' || 1 as x1, 1 = 1 as t, null as n, array() as e, map() as m
select greatest(amount, 0) as g, least(ts, current_timestamp()) as l from models.orders
select round(amount, 1) as r, format_number(amount, 2) as f, bround(amount) as b, ceil(amount) as c from models.orders
select sha2(customer, 256) as h, md5(customer) as m, hash(id, customer) as hh, uuid() as u from models.orders
select to_json(struct(id, customer as c)) as j, to_json(map('a', id)) as k from models.orders
select get_json_object(customer, '$.a') as a, from_json(customer, 'map<string,string>')['x'] as b from models.orders
select try_cast(customer as int) as a, try_to_timestamp(customer, 'yyyy') as b, try_divide(id, 0) as c from models.orders
select id from models.orders where customer = 'a' or customer in ('b', 'c') and not amount between 1 and 2
select sum(amount) as total from models.orders where customer like 'a%' having total > 10
select o.id, o.ts - lag(o.ts) over (partition by o.customer order by o.ts) as gap from models.orders o
select id, ntile(4) over (order by amount desc) as q, percent_rank() over (partition by customer order by amount) as p from models.orders
select last_value(amount, true) over (partition by customer order by ts) as l, nth_value(amount, 2) over (order by ts) as n from models.orders
select any_value(customer) filter (where amount > 1) as c, bool_or(amount > 5) as b, every(id > 0) as e from models.orders
select grouping(customer) as g, customer, count(*) as n from models.orders group by rollup(customer)
select stack(2, id, 'a', id + 1, 'b') as (n, s) from models.orders
select inline(array(struct(1 as a, 'x' as b)))
select c.*, o.id as oid from models.customers c left join models.orders o on o.customer = c.customer and o.ts > timestamp'2026-01-01 00:00:00'
select /* comment ' with quote */ id -- and "another
  from models.orders
"""
"""One a line; what is indented continues it."""

STREAMING = """
select * from stream models.orders
select * from stream(models.orders)
select id from stream models.orders as o where o.id > 1
select * from models.orders watermark ts delay of interval 10 seconds
select o.id from models.orders watermark ts delay of interval 10 seconds as o
select o.id from stream models.orders watermark ts delay of interval '1' minute as o join models.customers c on o.id = c.id
select count(*) as n from stream models.orders watermark ts delay of interval 1 hour group by window(ts, '5 minutes')
"""
"""Spark's parser reads them; its analyser wants real streams."""

INVALID = {
    "select nosuch from models.orders": ("MS402", "nosuch"),
    "select o.nosuch from models.orders o": ("MS402", "nosuch"),
    "select x.id from models.orders o": ("MS402", "x"),
    "select orders.id from models.orders o": ("MS402", "orders"),
    "select id from models.orders where custmer = 'a'": ("MS402", "custmer"),
    "select id from models.orders o join models.customers c on o.id = c.idd": ("MS402", "idd"),
    "select id from models.orders o join models.customers c on o.id = c.id": ("MS403", "id"),
    "select * from models.orders join models.customers using (nosuch)": ("MS402", "nosuch"),
    "select customer from models.orders group by nosuch": ("MS402", "nosuch"),
    "select id from models.orders order by nosuch": ("MS402", "nosuch"),
    "select customer from models.orders group by customer having nosuch > 1": ("MS402", "nosuch"),
    "select nosuch(id) as x from models.orders": ("MS405", "nosuch"),
    "select uper(customer) as x from models.orders": ("MS405", "uper"),
    "select upper() as x from models.orders": ("MS406", "upper"),
    "select upper(customer, 1) as x from models.orders": ("MS406", "upper"),
    "select coalesce() as x from models.orders": ("MS406", "coalesce"),
    "select substring(customer) as x from models.orders": ("MS406", "substring"),
    "select date_trunc(ts) as x from models.orders": ("MS406", "date_trunc"),
    "select sum(id, 1) as x from models.orders": ("MS406", "sum"),
    "select customer, id, count(*) as n from models.orders group by customer": ("MS411", "id"),
    "select id, count(*) as n from models.orders": ("MS411", "id"),
    "select customer, upper(customer) as u, amount + 1 as a from models.orders group by customer": (
        "MS411",
        "amount",
    ),
    "select * from models.orders group by customer": ("MS411", "*"),
    "select customer from models.orders group by customer having amount > 1": ("MS411", "amount"),
    "select customer from models.orders group by customer order by amount": ("MS411", "amount"),
    "select id from models.orders where count(*) > 1": ("MS415", "count"),
    "select count(*) as n from models.orders group by sum(id)": ("MS415", "sum"),
    "select sum(count(*)) as n from models.orders": ("MS415", "count"),
    "select o.id from models.orders o join models.customers c on sum(o.id) = c.id": ("MS415", "sum"),
    "select row_number() as r from models.orders": ("MS415", "row_number"),
    "select id + explode(array(1)) as e from models.orders": ("MS415", "explode"),
    "select id from models.orders union all select id, customer from models.customers": ("MS412", None),
    "select id, ts from models.orders union all select customer, age from models.customers": ("MS407", None),
    "select (select id, customer from models.orders) as x": ("MS412", None),
    "select item.nosuch from models.orders": ("MS402", "nosuch"),
    "select item.sku.deep from models.orders": ("MS407", "deep"),
    "select amount.x from models.orders": ("MS407", "x"),
    "select o.id from models.orders o, models.customers o": ("MS413", "o"),
    "select * except (nosuch) from models.orders": ("MS402", "nosuch"),
    "select q.* from models.orders o": ("MS402", "q"),
    "select id from nosuch": ("MS404", "nosuch"),
    "with a as (select 1 as x) select y from a": ("MS402", "y"),
    "select b, b + 1 as c from (select id as b from models.orders) where id > 1": ("MS402", "id"),
    "select id from models.orders o where exists (select 1 from models.customers c where c.id = o.idd)": (
        "MS402",
        "idd",
    ),
    "select (select age from models.customers where nosuch = 1) as a from models.orders": ("MS402", "nosuch"),
    "select transform(array(1), x -> y) as t from models.orders": ("MS402", "y"),
    "select i, tag from models.t lateral view explode(nosuch) e as tag": ("MS402", "nosuch"),
    "select i, tag from models.t lateral view explode(i) e as tag": ("MS407", None),
    "select customer + item as x from models.orders": ("MS407", None),
    "select case when id then 1 end as x from models.orders": ("MS407", "id"),
    "select id from models.orders where amount": ("MS407", "amount"),
    "select cast(item as int) as x from models.orders": ("MS407", None),
    "select item > 1 as x from models.orders": ("MS407", None),
    "select coalesce(id, item) as x from models.orders": ("MS407", "coalesce"),
    "select sum(item) as x from models.orders": ("MS407", "item"),
    "select customer, count(*) from models.orders group by 7": ("MS402", "7"),
    "select id from models.orders order by 7": ("MS402", "7"),
    "select id frm models.orders": ("MS401", None),
    "select from models.orders": ("MS401", None),
    "select (id from models.orders": ("MS401", None),
    "select id, from models.orders where": ("MS401", None),
    "select case when id = 1 then 2 from models.orders": ("MS401", None),
    "select 'x from models.orders": ("MS401", None),
    "select id from models.orders group by": ("MS401", None),
    "select id from models.orders where id = = 1": ("MS401", None),
}
"""What is wrong, and the name that the problem stands at (None: some expression)."""

KEYWORDS = tuple(
    query.replace("@", word)
    for word in WORDS
    for query in (
        "select `@` from models.k",
        "select k.@ from models.k",
        "select @ from models.k",
        "select a.@ + 1 as x from models.k a where a.@ > 1",
        "select 1 as @",
        "select @ + 1 as x, sum(@) as y from (select 1 as @) group by @",
    )
    if (word, query[:10]) != ("interval", "select @ +")  # `interval + 1` may as well begin an interval
)
