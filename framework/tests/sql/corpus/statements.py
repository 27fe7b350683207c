"""Statements as Spark's analyzer judges them: windows, frames, conditions, groups, subqueries, joins, lists of names."""

STATEMENTS = """
select i, (select listagg(o.customer, ',') within group (order by t.s, o.id) from models.orders o) as x from models.t t
select count(*) as n from models.t a where a.i = 1 group by (a.i * a.l) % 10
select count(*) as n from models.t a where s = 'x' group by (a.i * a.l) % 10, (a.i > 1)
select i, count(*) as n from models.t group by i qualify row_number() over (order by count(*)) = 1
select i, sum(l) as n from models.t group by i qualify rank() over (order by n) = 1
select i, sum(l) as n from models.t group by i qualify rank() over (order by i) = max(l)
select 1 as x, stack(2, i, l, i, l) as (y, z) from models.t
with z(a) as (select i, l from models.t) select * from z
with z(a, b, c) as (select i, l from models.t) select * from z
with z(a, a) as (select i, l from models.t) select 1 as x from z
select * from (select i, l from models.t) as z(a)
select * from (select i, l from models.t) as z(a, b, c)
select * from models.orders as o(a)
select * from models.customers as o(a, b, c, d)
select * from values (1, 2) as v(a)
select * from values (1, 2) as v(a, b, c)
with z as (select i, l from models.t) select * from z as y(a)
select * from explode(array(1)) as e(a, b)
select x from models.t lateral view explode(a) e as x, y
select x from models.t lateral view explode(m) e as x
select * from models.t lateral view explode(m) e as x, y
select * from models.t, lateral (select i as q) as z(a, b)
with a(x) as (select i from models.t), b(y) as (select x from a) select y from b
with a(x) as (select i from models.t), b(y) as (select x from a), c(z) as (select y from b) select z from c
with a(x) as (select i from models.t) select x from a union all select x from a
with a(x) as (select i from models.t union all select l from models.t) select x from a
with a(x) as (values (1), (2)) select x from a
with a(x) as (with b(y) as (select i from models.t) select y from b) select x from a
with a(x) as (select i from models.t) select * from (with a(y) as (select x from a) select y from a) q
with a(x) as (select i from models.t) select * from (select x from a) as b(y)
with a(x, y) as (select * from (select i, l from models.t) as q(c, d)) select x, y from a
select lag(i) over (partition by l) as x from models.t
select lead(i) over (partition by l) as x from models.t
select lag(i) over () as x from models.t
select lag(i) over (order by l rows between 1 preceding and current row) as x from models.t
select lag(i) over (order by l rows between unbounded preceding and current row) as x from models.t
select lag(i) over (order by l range between unbounded preceding and current row) as x from models.t
select lead(i) over (order by l rows between 1 preceding and 1 following) as x from models.t
select lead(i) over (order by l rows between 1 following and 1 following) as x from models.t
select lag(i) over (order by l rows between 1 preceding and 1 preceding) as x from models.t
select lag(i, 2) over (order by l rows between 2 preceding and 2 preceding) as x from models.t
select row_number() over (partition by l) as x from models.t
select rank() over (partition by l) as x from models.t
select dense_rank() over () as x from models.t
select percent_rank() over (partition by l) as x from models.t
select cume_dist() over (partition by l) as x from models.t
select nth_value(i, 2) over (partition by l) as x from models.t
select nth_value(i, 2) over (order by l rows between 2 preceding and 1 following) as x from models.t
select row_number() over (order by l rows between 1 preceding and current row) as x from models.t
select rank() over (order by l rows between unbounded preceding and current row) as x from models.t
select rank() over (order by l range between unbounded preceding and current row) as x from models.t
select row_number() over (order by l rows between unbounded preceding and current row) as x from models.t
select cume_dist() over (order by l range between unbounded preceding and current row) as x from models.t
select first_value(i) over (partition by l) as x from models.t
select sum(i) over (partition by l) as x from models.t
select lag(i, -1) over (order by l) as x from models.t
select lag(i, 1, 'a') over (order by l) as x from models.t
select lag(i, 1, l) over (order by l) as x from models.t
select lag(i) as x from models.t
select row_number() as x from models.t
select rank() as x from models.t
select upper(s) over (order by l) as x from models.t
select lag(i) ignore nulls over (order by l) as x from models.t
select sum(i) ignore nulls over (order by l) as x from models.t
select first(i) ignore nulls over (order by l) as x from models.t
select max(i) ignore nulls as x from models.t
select lag(distinct i) over (order by l) as x from models.t
select count(distinct i) over (order by l) as x from models.t
select count(distinct i) over (partition by l) as x from models.t
select sum(i) filter (where b) over (order by l) as x from models.t
select row_number() filter (where b) over (order by l) as x from models.t
select lag(i) filter (where b) over (order by l) as x from models.t
select sum(i) over (order by l rows between 1 following and 1 preceding) as x from models.t
select sum(i) over (order by l rows between current row and 1 preceding) as x from models.t
select sum(i) over (order by l rows between 1 following and current row) as x from models.t
select sum(i) over (order by l rows between unbounded following and unbounded preceding) as x from models.t
select sum(i) over (order by l rows between unbounded following and current row) as x from models.t
select sum(i) over (order by l rows between current row and unbounded preceding) as x from models.t
select sum(i) over (order by l rows between 2 following and 1 following) as x from models.t
select sum(i) over (order by l rows between 1 preceding and 2 preceding) as x from models.t
select sum(i) over (order by l rows between 1 following and 2 following) as x from models.t
select sum(i) over (order by l rows between 0 preceding and 0 following) as x from models.t
select sum(i) over (order by l rows between 0 following and 0 preceding) as x from models.t
select sum(i) over (order by l range between 2 following and 1 following) as x from models.t
select sum(i) over (order by l range between 1 preceding and 2 preceding) as x from models.t
select sum(i) over (order by l rows -1 preceding) as x from models.t
select sum(i) over (order by l rows between -1 preceding and current row) as x from models.t
select sum(i) over (order by l rows between current row and -1 following) as x from models.t
select sum(i) over (order by l rows 1 following) as x from models.t
select sum(i) over (order by l rows unbounded following) as x from models.t
select sum(i) over (order by l rows unbounded preceding) as x from models.t
select sum(i) over (order by l rows current row) as x from models.t
select sum(i) over (order by l rows between i preceding and current row) as x from models.t
select sum(i) over (order by l rows between 1.5 preceding and current row) as x from models.t
select sum(i) over (order by l rows between 'a' preceding and current row) as x from models.t
select sum(i) over (order by l rows between 1L preceding and current row) as x from models.t
select sum(i) over (order by l rows between null preceding and current row) as x from models.t
select sum(i) over (order by l range between 1.5 preceding and current row) as x from models.t
select sum(i) over (order by d range between 1.5 preceding and current row) as x from models.t
select sum(i) over (order by dt range between interval 1 day preceding and current row) as x from models.t
select sum(i) over (order by ts range between interval 1 day preceding and current row) as x from models.t
select sum(i) over (order by ts range between 1 preceding and current row) as x from models.t
select sum(i) over (order by dt range between 1 preceding and current row) as x from models.t
select sum(i) over (order by s range between 1 preceding and current row) as x from models.t
select sum(i) over (order by s range between unbounded preceding and current row) as x from models.t
select sum(i) over (order by l range between interval 1 day preceding and current row) as x from models.t
select sum(i) over (order by l, i range between 1 preceding and current row) as x from models.t
select sum(i) over (order by l, i range between unbounded preceding and current row) as x from models.t
select sum(i) over (range between 1 preceding and current row) as x from models.t
select sum(i) over (rows between 1 preceding and current row) as x from models.t
select sum(i) over (range between unbounded preceding and unbounded following) as x from models.t
select sum(i) over (order by m) as x from models.t
select sum(i) over (partition by m) as x from models.t
select sum(i) over (order by v) as x from models.t
select sum(i) over (partition by a) as x from models.t
select sum(i) over (partition by st order by st) as x from models.t
select sum(i) over w as x from models.t
select sum(i) over w as x from models.t window w as (order by l)
select sum(i) over (w) as x from models.t window w as (order by l)
select sum(i) over (partition by sum(l)) as x from models.t
select sum(sum(i)) over (partition by l) as x from models.t group by l
select sum(sum(i) over (order by l)) over (partition by l) as x from models.t
select sum(sum(i)) as x from models.t
select sum(i) + row_number() over (order by l) as x from models.t group by l
select row_number() over (order by i) as x from models.t group by l
select row_number() over (order by sum(i)) as x from models.t group by l
select row_number() over (order by count(*)) as x, l from models.t group by l
select max(m) as x from models.t
select min(m) as x from models.t
select max_by(i, m) as x from models.t
select min_by(i, m) as x from models.t
select max_by(m, i) as x from models.t
select max(v) as x from models.t
select max(a) as x from models.t
select max(st) as x from models.t
select max(iv) as x from models.t
select max(array(m)) as x from models.t
select max(struct(m)) as x from models.t
select count(distinct m) as x from models.t
select count(distinct a) as x from models.t
select count(distinct v) as x from models.t
select i from models.t order by m limit 1
select i from models.t order by v limit 1
select i from models.t order by a limit 1
select i from models.t sort by m
select i from models.t distribute by m
select i from models.t cluster by m
select distinct m as x from models.t
select distinct v as x from models.t
select m as x from models.t union select m from models.t
select m as x from models.t union all select m from models.t
select m as x from models.t intersect select m from models.t
select m as x from models.t except select m from models.t
select m as x, count(*) as n from models.t group by m
select v as x, count(*) as n from models.t group by v
select array(m) as x, count(*) as n from models.t group by array(m)
select struct(v) as x, count(*) as n from models.t group by struct(v)
select mode(m) as x from models.t
select count(*) filter (where i) as x from models.t
select count(*) filter (where s) as x from models.t
select count(*) filter (where null) as x from models.t
select count(*) filter (where i > 1) as x from models.t
select count(*) filter (where sum(i) > 1) as x from models.t
select count(*) filter (where row_number() over (order by i) > 1) as x from models.t
select upper(s) filter (where b) as x from models.t
select count(*) filter (where i in (select id from models.orders)) as x from models.t
select t.i from models.t t join models.orders o on t.i
select t.i from models.t t join models.orders o on o.customer
select t.i from models.t t join models.orders o on t.i = o.id
select t.i from models.t t join models.orders o on null
select t.i from models.t t join models.orders o on true
select t.i from models.t t join models.orders o on sum(t.i) > 1
select t.i from models.t t join models.orders o on row_number() over (order by t.i) = 1
select t.i from models.t t join models.orders o on explode(t.a) = 1
select t.i from models.t t join models.orders o on t.i = o.id and t.a
select i from models.t where i
select i from models.t where s
select i from models.t where null
select i from models.t where sum(i) > 1
select i from models.t where row_number() over (order by i) = 1
select i from models.t where explode(a) = 1
select i, count(*) as n from models.t group by i having i
select i, count(*) as n from models.t group by i having n
select i, count(*) as n from models.t group by i having null
select i from models.t qualify row_number() over (order by i)
select i from models.t qualify i
select i from models.t qualify i > 1
select i from models.t qualify sum(i) > 1
select case when i then 1 else 2 end as x from models.t
select not i as x from models.t
select i and b as x from models.t
select b or s as x from models.t
select i from models.t limit 5L
select i from models.t limit 5
select i from models.t limit 1.5
select i from models.t limit '5'
select i from models.t limit -1
select i from models.t limit null
select i from models.t limit i
select i from models.t limit 1 + 1
select i from models.t limit all
select i from models.t limit cast(5 as bigint)
select i from models.t limit (select 1)
select i from models.t limit 5S
select i from models.t limit 5 offset 5L
select i from models.t limit 5 offset 5
select i from models.t limit 5 offset -1
select i from models.t offset 2
select i from models.t limit true
select i from models.t tablesample (10 rows)
select i from models.t tablesample (10 percent)
select i, (select sum(o.amount + t.i) from models.orders o where o.id = t.i) as x from models.t t
select i, (select sum(t.i) from models.orders o where o.id = t.i) as x from models.t t
select i, (select count(t.i) from models.orders o) as x from models.t t
select i, (select max(o.id) + t.i from models.orders o where o.id = t.i) as x from models.t t
select i from models.t t where exists (select 1 from models.orders o group by o.id having sum(o.amount) > t.i)
select i from models.t t where exists (select 1 from models.orders o group by o.id having sum(o.amount + t.i) > 1)
select i from models.t t where exists (select 1 from models.orders o group by o.id having count(*) > sum(t.i))
select i, sum(l) as x from models.t t group by i having exists (select 1 from models.orders o where o.id = sum(t.l))
select i, sum(l) as x from models.t t group by i having exists (select 1 from models.orders o where o.id = sum(t.l + o.id))
select i, (select max(o.id) from models.orders o where o.id = sum(t.l)) as x from models.t t group by i
select i from models.t t where i = (select sum(o.id * t.l) from models.orders o where o.id = t.l)
select i from models.t t where i in (select sum(o.id * t.l) from models.orders o)
select i, (select row_number() over (order by t.i) from models.orders o limit 1) as x from models.t t
select i, (select o.id from models.orders o where o.id = t.i) as x from models.t t
select i, (select o.id from models.orders o limit 1) as x from models.t t
select i, (select o.id, o.amount from models.orders o limit 1) as x from models.t t
select * from models.orders natural full join models.customers
select orders.id from models.orders natural full join models.customers
select o.id as x from models.orders o natural full join models.customers c
select c.id as x from models.orders o natural full join models.customers c
select o.id as x from models.orders o natural join models.customers c
select c.id as x from models.orders o natural join models.customers c
select o.id as x, c.id as y from models.orders o natural left join models.customers c
select o.id as x, c.id as y from models.orders o natural right join models.customers c
select o.id as x from models.orders o full join models.customers c using (id)
select c.id as x from models.orders o full join models.customers c using (id)
select o.* from models.orders o natural full join models.customers c
select c.* from models.orders o natural full join models.customers c
select c.* from models.orders o full join models.customers c using (id)
select c.* from models.orders o natural join models.customers c
select o.id from models.orders o left join models.customers c using (nope)
select i from models.t natural join models.orders
select o.id from models.orders o natural full join models.customers c where c.id > 1
select o.id, count(*) as n from models.orders o natural full join models.customers c group by o.id
select listagg(s, ',') as x from models.t
select listagg(s, s) as x from models.t
select listagg(s, concat(',', ' ')) as x from models.t
select string_agg(s, s) as x from models.t
select listagg(s, null) as x from models.t
select listagg(s, 1) as x from models.t
select listagg(i, ',') as x from models.t
select listagg(x, s) as x2 from models.t
select listagg(s, ',') within group (order by i) as x from models.t
select listagg(distinct s, ',') within group (order by i) as x from models.t
select listagg(distinct s, ',') within group (order by s) as x from models.t
select listagg(distinct s) as x from models.t
select listagg(s, ',') over (order by i) as x from models.t
select listagg(s, ',') over (partition by i) as x from models.t
select listagg(s, ',') within group (order by i) over (partition by i) as x from models.t
select mode() within group (order by i) as x from models.t
select mode() within group (order by i desc) as x from models.t
select mode() as x from models.t
select mode(i) within group (order by i) as x from models.t
select mode(i, true) as x from models.t
select mode() within group (order by i, l) as x from models.t
select percentile_cont(0.5) within group (order by i) as x from models.t
select percentile_disc(0.5) within group (order by i desc) as x from models.t
select percentile_cont(0.5) within group (order by s) as x from models.t
select percentile_cont(0.5) as x from models.t
select percentile_cont(array(0.1, 0.5)) within group (order by i) as x from models.t
select percentile_cont(0.5) within group (order by i) filter (where b) as x from models.t
select percentile_cont(0.5) within group (order by i) over (partition by l) as x from models.t
select percentile_cont(0.5) within group (order by i) over (order by l) as x from models.t
select median(i) over (order by l) as x from models.t
select median(i) over (partition by l) as x from models.t
select sum(i) within group (order by i) as x from models.t
select array_agg(i) within group (order by i) as x from models.t
select collect_list(i) within group (order by i) as x from models.t
select i + 1 as p, sum(l) over (partition by p) as x from models.t
select i + 1 as p, sum(l) over (order by p) as x from models.t
select i + 1 as p, sum(p) over (order by l) as x from models.t
select i + 1 as p, sum(p) as x from models.t group by i
select i + 1 as p, p + 1 as q from models.t
select i + 1 as p, p + 1 as q, q + sum(l) over (order by i) as x from models.t
select sum(l) over (order by i) as w, w + 1 as x from models.t
select row_number() over (order by i) as w, sum(w) over (order by i) as x from models.t
select i, sum(l) as p, p + 1 as q from models.t group by i
select i, sum(l) as p, row_number() over (order by p) as q from models.t group by i
select i, sum(l) as p, sum(p) over () as q from models.t group by i
select i + 1 as p from models.t where p > 1
select i + 1 as p from models.t group by p
select i + 1 as p, p + 1 as q from models.t group by p, q
select i + 1 as p, count(*) as n from models.t group by all having p > 1
select i + 1 as p from models.t order by p + 1 limit 1
select i + 1 as p from models.t qualify row_number() over (order by p) = 1
select i + 1 as p, (select max(o.id) from models.orders o where o.id = p) as x from models.t
select i + 1 as p, explode(array(p)) as x from models.t
select a as p, transform(p, e -> e + 1) as q from models.t
select split(s, ';') as x from models.t
select replace(s, ';', ',') as x from models.t where s <> ';'
select split(s, ';')[0] as x, count(*) as n from models.t group by split(s, ';')[0]
select ';' as x from models.t
select "a;b" as x from models.t
select (i * l) % 10 as x, count(*) as n from models.t a group by (a.i * a.l) % 10
select (i * l) % 10 as x, count(*) as n from models.t a group by (a.i * a.l) % 10 having (count(*) > 1)
select (i * l) % 10 as x from models.t a group by (a.i * a.l) % 10 having (count(*) > 1) and (max(i) < 3)
select (i * l) % 10 as x, count(*) as n from models.t a group by (a.i * a.l) % 10, (a.i > 1), i
select i from models.t a group by (a.i), (a.l)
select 1 as x from models.t group by (i, l)
select i, l from models.t group by ((i), (l))
select i from models.t group by (i + 1) * 2, i
select i, count(*) as n from models.t group by (i) order by (i) limit 2
select i from models.t where (i, l) in ((1, 2), (3, 4))
select i from models.t where (i, l) = (1, 2)
select i from models.t where (i, l) in (select id, id from models.orders)
select i from models.t order by (i * l) % 10, (l > 2) limit 1
select sum(i) over (partition by (i * l) % 10, (l > 2)) as x from models.t
select first(i) ignore nulls as x from models.t
select last_value(i) ignore nulls as x from models.t
select any_value(i) ignore nulls as x from models.t
select max_by(i, l) ignore nulls as x from models.t
select nth_value(i, 2) ignore nulls over (order by l) as x from models.t
select lead(i) ignore nulls over (order by l) as x from models.t
select collect_list(i) ignore nulls as x from models.t
select collect_set(i) ignore nulls as x from models.t
select array_agg(i) respect nulls as x from models.t
select count(i) ignore nulls as x from models.t
select listagg(s) ignore nulls as x from models.t
select row_number() ignore nulls over (order by l) as x from models.t
select mode(i) ignore nulls as x from models.t
select first(i) respect nulls as x from models.t
select sum(i) respect nulls as x from models.t
select upper(s) ignore nulls as x from models.t
select mode(i) over (order by l) as x from models.t
select mode(i) over (partition by l) as x from models.t
select percentile_disc(0.5) within group (order by i) over (partition by l) as x from models.t
select listagg(s) over (order by l) as x from models.t
select collect_list(i) over (order by l) as x from models.t
select max_by(i, l) over (order by l) as x from models.t
select string_agg(s) over (partition by l order by i) as x from models.t
select listagg(s) within group (order by i) over (partition by l order by i) as x from models.t
select median(i) over (partition by l rows between 1 preceding and current row) as x from models.t
select sum(distinct i) over () as x from models.t
select max(distinct i) over () as x from models.t
select first(distinct i) over (order by i) as x from models.t
select abs(i) over () as x from models.t
select i over () as x from models.t
select count(*) over (order by a) as x from models.t
select count(*) over (order by st) as x from models.t
select count(*) over (order by iv) as x from models.t
select count(*) over (order by null) as x from models.t
select count(*) over (order by 1) as x from models.t
select count(*) over (partition by 1) as x from models.t
select count(*) over (partition by v) as x from models.t
select count(*) over (partition by array(m)) as x from models.t
select sum(i) over (order by b range between 1 preceding and current row) as x from models.t
select sum(i) over (order by x range between 1 preceding and current row) as x2 from models.t
select sum(i) over (order by n range between 1 preceding and current row) as x from models.t
select sum(i) over (order by f range between 1 preceding and current row) as x from models.t
select sum(i) over (order by y range between 1 preceding and current row) as x from models.t
select sum(i) over (order by y range between 1000 preceding and current row) as x from models.t
select sum(i) over (order by i range between 1.5 preceding and current row) as x from models.t
select sum(i) over (order by i range between '1' preceding and current row) as x from models.t
select sum(i) over (order by i range between i preceding and current row) as x from models.t
select sum(i) over (order by i range between interval 1 day preceding and current row) as x from models.t
select sum(i) over (order by dt range between interval 1 month preceding and current row) as x from models.t
select sum(i) over (order by dt range between interval 1 hour preceding and current row) as x from models.t
select sum(i) over (order by tn range between interval 1 hour preceding and current row) as x from models.t
select sum(i) over (order by tn range between 1 preceding and current row) as x from models.t
select sum(i) over (order by iv range between interval 1 hour preceding and current row) as x from models.t
select sum(i) over (order by iv range between 1 preceding and current row) as x from models.t
select sum(i) over (order by a range between 1 preceding and current row) as x from models.t
select sum(i) over (order by s range between interval 1 day preceding and current row) as x from models.t
select sum(i) over (order by ts range between interval 1 day preceding and interval 1 hour following) as x from models.t
select sum(i) over (order by ts range between interval 1 day following and interval 1 hour following) as x from models.t
select sum(i) over (order by ts range between interval 1 hour preceding and interval 1 day preceding) as x from models.t
select sum(i) over (order by l rows between 1+1 preceding and current row) as x from models.t
select sum(i) over (order by l rows between cast(1 as int) preceding and current row) as x from models.t
select sum(i) over (order by l rows between interval 1 day preceding and current row) as x from models.t
select sum(i) over (w rows between 1 preceding and current row) as x from models.t window w as (order by l)
select sum(i) over w as x, sum(l) over z as y from models.t window w as (order by l), z as (partition by i)
select row_number() over w as x from models.t window w as (partition by i)
select row_number() over w as x from models.t window w as (partition by i order by l)
select lag(i) over w as x from models.t window w as (order by l rows between 1 preceding and current row)
select sum(i) over w as x from models.t window w as (order by nope)
select sum(i) over w as x from models.t window w as (order by l), w as (order by i)
select i + 1 as p, sum(l) over w as x from models.t window w as (order by p)
select i, row_number() over (order by count(*)) as r from models.t group by i qualify r = 1
select i + 1 as p, sum(l) over (order by p) as x from models.t qualify x > 1
select i + 1 as i, sum(l) over (order by i) as x from models.t
select i as p, sum(l) as q from models.t group by i order by row_number() over (order by p) limit 3
select a as p, explode(p) as x from models.t
select i as p, max(p) filter (where p > 1) as x from models.t group by i
select i as p, (p + 1) as q, max(l) as x from models.t group by i
select upper(s) as p, count(*) as n, concat(p, '-', n) as x from models.t group by upper(s)
select count(*) as n, n + 1 as m, sum(m) as z from models.t
select i as p, count(p) over () as x from models.t
select case when s then 1 else 2 end as x from models.t
select case when null then 1 else 2 end as x from models.t
select s and b as x from models.t
select null and b as x from models.t
select not s as x from models.t
select not null as x from models.t
select i from models.t where s and b
select i from models.t where not s
select i from models.t where b or null
select i from models.t where coalesce(s, 'true')
select i from models.t where (select b from models.t limit 1)
select i from models.t where v
select i, count(*) as n from models.t group by i having s
select i, count(*) as n from models.t group by i having 'true'
select i, count(*) as n from models.t group by i having max(s)
select i from models.t qualify s
select t.i from models.t t left semi join models.orders o on o.id
select t.i from models.t t left join models.orders o on o.customer and true
select i from models.t t join lateral (select o.id from models.orders o where o.id = t.i) z on z.id
select i from models.t limit 2147483647
select i from models.t limit 2147483648
select i from models.t limit 0
select i from models.t limit cast('5' as int)
select i from models.t limit length('abc')
select i from models.t limit 5 - 10
select i from models.t limit rand()
select i from models.t limit cast(rand() as int)
select i from models.t limit (5)
select i from models.t limit 5Y
select i from models.t limit 1e1
select i from models.t limit 5 offset null
select i from models.t limit 5 offset i
select * from (select i from models.t limit 5L) z
(select i from models.t) limit 5L
select i from models.t union all select l from models.t limit 5L
select sum(row_number() over (order by i)) as x from models.t
select i, count(*) as n from models.t group by i, row_number() over (order by i)
select row_number() over (order by i) as r, count(*) as n from models.t group by 1
select i, count(*) as n from models.t group by i having row_number() over (order by i) = 1
select row_number() over (order by row_number() over (order by i)) as x from models.t
select i from models.t order by row_number() over (order by i) limit 2
select i, row_number() over (order by i) as r from models.t qualify r = 1 and count(*) > 1
select i, row_number() over (order by i) as r from models.t qualify r
select i from models.t qualify sum(i) over () > 1
select i from models.t where (i, i) in ((1, 2), (3, 4))
select i from models.t where (i, l) in ((1, 2L), (3, 4L))
select i from models.t where (i, s) = (1, 'a')
select i from models.t where struct(i, l) = struct(1, 2)
select i from models.t where named_struct('a', i) = named_struct('a', l)
select i from models.t where named_struct('a', i) = named_struct('b', i)
select i from models.t where named_struct('a', i) = named_struct('b', l)
select i from models.t where (i, l) in (select i, i from models.t)
select i from models.t where (i, l) in (select i, l from models.t)
select i from models.t where i in (select s from models.t)
select i from models.t where i in (select i, l from models.t)
select i from models.t where (i, l) in (select i from models.t)
select i from models.t where i in (select m from models.t)
select i from models.t where m in (m)
select i from models.t where m = m
select i from models.t where m <=> m
select i from models.t t where exists (select 1 from models.orders o where o.id = t.i group by t.i)
select i from models.t t where exists (select 1 from models.orders o where o.id = t.i order by t.i)
select i from models.t t where i = (select max(o.id) from models.orders o where o.id > t.i)
select i from models.t t where i = (select max(o.id) from models.orders o where o.id = t.i group by o.customer)
select i from models.t t where i = (select o.id from models.orders o where o.id = t.i limit 1)
select i from models.t t where i = (select o.id + t.i from models.orders o where o.id = t.i)
select (select t.i) as x from models.t t
select (select t.i + 1) as x from models.t t
select (select max(x) from (select t.i as x)) as x2 from models.t t
select i from models.t t where exists (select 1 from models.orders o join models.customers c on c.id = t.i)
select i from models.t t where exists (select 1 from models.orders o left join models.customers c on c.id = t.i)
select i from models.t t where exists (select 1 from (select id from models.orders where id = t.i) z)
select i from models.t t where exists (select 1 from models.orders o where exists (select 1 from models.customers c where c.id = t.i))
select i from models.t t where exists (select 1 from models.orders o where exists (select 1 from models.customers c where c.id = o.id and c.age = t.i))
select i from models.t t where exists (select o.id from models.orders o where o.id = t.i union select c.id from models.customers c where c.id = t.i)
select i from models.t t where exists (select t.i from models.orders o)
select i from models.t t where i in (select t.l from models.orders o)
select i, (select count(*) from models.orders o where o.id = t.i having count(*) > t.l) as x from models.t t
select i, (select collect_list(o.id) from models.orders o where o.id = t.i) as x from models.t t
select i, (select first(o.id) from models.orders o where o.id = t.i) as x from models.t t
select i, (select distinct o.id from models.orders o where o.id = t.i) as x from models.t t
select z.* from models.t t, lateral (select sum(o.amount + t.i) as q from models.orders o) z
select z.* from models.t t, lateral (select max(o.id) + t.i as q from models.orders o) z
select z.* from models.t t, lateral (select o.id + t.i as q from models.orders o) z
select z.* from models.t t, lateral (select max(o.id) as q from models.orders o where o.id = t.i) z
select z.q from models.t t, lateral (select o.id + t.i from models.orders o) as z(q)
select z.q from models.t t join lateral (select o.id + t.i from models.orders o) as z(q)
select z.q from models.t t left join lateral (select o.id + t.i as q from models.orders o) z on true
select count(*) filter (where t.i > 1) as x, (select count(*) filter (where o.id = t.i) from models.orders o) as y from models.t t group by t.i
select i, (select o.id from models.orders o qualify row_number() over (order by o.id) = 1) as x from models.t t
select i, (select o.id from models.orders o where o.id = t.i qualify row_number() over (order by o.id) = t.i) as x from models.t t
select * from (select i, s, l from models.t) pivot (sum(l) for i in (1, 2))
select * from (select i, s, l from models.t) pivot (l for i in (1, 2))
select * from (select i, s, l from models.t) unpivot (v for n in (i, l))
select grouping(i) as g, count(*) as n from models.t group by i
select grouping(l) as g, count(*) as n from models.t group by rollup(i)
select grouping(i) as g, count(*) as n from models.t group by rollup(i)
select grouping_id(i) as g, count(*) as n from models.t group by rollup(i, l)
select grouping_id(i, l) as g, count(*) as n from models.t group by rollup(i, l)
select i, count(*) as n from models.t group by grouping sets ((i), (l))
select i, l, count(*) as n from models.t group by grouping sets ((i), ())
select i, l, count(*) as n from models.t group by rollup(i), cube(l)
select i, count(*) as n from models.t group by i with rollup
select i from models.t group by i having count(*) > 1 order by max(l) limit 3
select i from models.t group by i having count(*) > 1 order by max(l)
select i, sum(l) as x from models.t group by i having count(*) > 0 order by sum(l)
select i, sum(l) as x from models.t group by i having sum(l) > 0 order by max(l) limit 2
select i, sum(l) as x from models.t group by i having x > 0 order by max(l)
select i as y, sum(l) as z from models.t group by i having z > 0 order by max(l)
select i, sum(l) as z from models.t group by i having z > 0 and max(l) > 0 order by max(l)
select i + 1 as z from models.t group by i + 1 having z > 0 order by max(l)
select i, row_number() over (order by i) as r from models.t group by i order by r
select i, sum(l) as z, row_number() over (order by sum(l)) as r from models.t group by i order by r
select i from models.t group by rollup(i) order by grouping(i)
select i, count(*) as c from models.t group by rollup(i) having c > 0 order by max(l)
select i, count(*) as c from models.t group by cube(i) order by grouping_id()
select i, sum(l) as l from models.t group by i order by sum(l)
select i, sum(l) as l from models.t t group by i order by sum(t.l)
select i as l, sum(l) as x from models.t group by i order by sum(l)
select i, sum(l) as x from models.t group by i order by sum(x)
select i, sum(l) as x from models.t group by i order by 2, sum(x)
select i from models.t order by sum(l)
select sum(l) as x from models.t order by sum(l)
select i, sum(l) as x, row_number() over (order by sum(l)) as r from models.t group by i order by sum(l)
select i, sum(l) as x from models.t group by i order by sum(l) + 1
select i, sum(l) as x from models.t group by i order by count(distinct l), sum(l) filter (where l > 1)
select distinct i from models.t order by l limit 3
select distinct i as p from models.t order by p limit 3
select i from models.t union select l from models.t order by i limit 2
select i from models.t union select l from models.t order by l limit 2
select i from models.t order by nope limit 2
select i from models.t order by 3 limit 2
select i from models.t order by i + 1, 1 limit 2
select count(*) as n from models.t order by i limit 2
select i, i from models.t
select * except (i) from models.t
select * except (nope) from models.t
select i as a, l as a from models.t
select a from (select i as a, l as a from models.t) z
select t.i from models.t t, models.t t
select t.i from models.t t join models.t u on i = u.i
select i from models.t t join models.t u using (nope)
select i from models.t t join models.t u
select t.i from models.t t left join models.t u
select t.i from models.t t left outer join models.t u
select t.i from models.t t full join models.t u
select t.i from models.t t left semi join models.t u
select values from models.k
select sum(i) from models.t group by count(*)
select i from models.t group by 2
select i, sum(l) as s from models.t group by 2
select i, sum(l) as s from models.t group by s
select i from models.t having i > 1
select sum(i) as s from models.t having s > 1
select 1 as x from models.t having true
select i from models.t tablesample (-1 rows)
select i from models.t tablesample (bucket 1 out of 2)
select explode(a), explode(sa) from models.t
select explode(a) + 1 as x from models.t
select explode(a) as x, sum(i) from models.t
select sum(explode(a)) as x from models.t
select i from models.t lateral view explode(a) z as q where q = 1
select i from models.t lateral view explode(i) z as q
select i from models.t lateral view upper(s) z as q
select z.q from models.t lateral view outer explode(a) z as q
select x from values (1), (2, 3) as v(x)
select * from values (1, 'a'), ('b', 2)
select * from range(10)
select id from range(1, 10, 2)
select * from nope
select models.t.i from models.t
select t.* from models.t as u
select u.i.z from models.t as u
select st.nope from models.t
select st.p.q from models.t
select a[0] as x from models.t
select m['x'] as x from models.t
select m[1] as x from models.t
select i[0] as x from models.t
select sts.p as x from models.t
select current_date as x from models.t
select i as `a b` from models.t
select s is not distinct from i as x from models.t
select i between 'a' and l as x from models.t
select i in ('a', 2) as x from models.t
select i in (select s from models.t) as x from models.t
select exists(select 1) as x from models.t
select s like i as x from models.t
select s like any ('a', 'b') as x from models.t
select s like 'a' escape '!' as x from models.t
select cast(i as nope) as x from models.t
select i::string as x from models.t
select interval 1 day + dt as x from models.t
select dt + i as x from models.t
select dt - dt as x from models.t
select ts - dt as x from models.t
select ts + 1 as x from models.t
select a || a as x from models.t
select a || s as x from models.t
select ~i as x from models.t
select -s as x from models.t
select case i when 1 then 'a' when 'x' then 'b' end as x from models.t
select case when b then 1 when i > 1 then 'x' end as x from models.t
select case when b then a when i > 1 then s end as x from models.t
select * from values (1, date'2026-01-01'), (2, '2026-01-01')
select * from values (1, null), (2, 'a')
select distinct t.i from models.t t order by t.i limit 2
select distinct st from models.t order by st.p limit 2
select distinct upper(s) as u from models.t order by upper(s) limit 2
select distinct upper(s) as u from models.t order by u limit 2
select grouping(i) as g, l, count(*) as n from models.t group by cube(i, l)
select grouping_id(l, i) as g, count(*) as n from models.t group by rollup(i, l)
select grouping_id() as g, count(*) as n from models.t group by rollup(i, l)
select grouping(t.i) as g, count(*) as n from models.t group by rollup(i, l)
select named_struct('a', i) as x from models.t union all select named_struct('b', l) from models.t
select named_struct('a', i) as x from models.t union all select named_struct('A', l) from models.t
select named_struct('a', i) as x from models.t union all select named_struct('b', i) from models.t
select coalesce(named_struct('a', i), named_struct('b', l)) as x from models.t
select case when b then named_struct('a', i) else named_struct('b', l) end as x from models.t
select i from models.t t where exists (select 1 from models.orders o where exists (select 1 from models.customers c where c.id = o.id))
select i from models.t t where exists (select 1 from (select * from models.orders o where o.id in (select c.id from models.customers c)) z where z.id = t.i)
select i from models.t t where i in (select max(o.id) from models.orders o where o.id < t.i and o.id in (select c.id from models.customers c where c.age = o.id))
"""

DIFFERENT = {
    "select lead(i) over (order by l rows between 1 following and 1 following) as x from models.t": (
        "the only frame that lead() has; nobody writes it"
    ),
    "select i, count(*) as n from models.t group by i having i": "Spark only finds it when the query runs",
    "select i, count(*) as n from models.t group by i having n": "Spark only finds it when the query runs",
    "select i, sum(l) as x from models.t t group by i having exists "
    "(select 1 from models.orders o where o.id = sum(t.l))": "an aggregate of the outer query in a subquery",
    "select i from models.t limit 5 - 10": "Millstream does not compute expressions",
    "select i, sum(l) as x from models.t group by i having x > 0 order by max(l)": (
        "Spark loses `x` in HAVING, since a column of the table has that name, too"
    ),
    "select i from models.t group by rollup(i) order by grouping(i)": "name grouping(i) in the SELECT list",
}
"""Where Millstream and Spark differ, and why."""
